"""crontab_file: the files of machines, with users, settings, zones and percent signs."""

import io

import pandas as pd
import pytest

from resonate_lab.errors import FleetError
from resonate_lab.whatif import audit, read_fleet
from resonate_lab.whatif.crontab_file import is_crontab, is_system


def crontab(text, format="crontab"):
    return read_fleet(io.StringIO(text), format=format)


@pytest.mark.parametrize(
    "text",
    [
        "*/5 * * * * /usr/bin/poll\n",
        "# m h dom mon dow command\n\nMAILTO=ops@example.com\n0 9 * * 1-5 report --a,b\n",
        "@daily sweep\n0 9 * * * report\n",
        "-0 9 * * MON-FRI report\n",
    ],
)
@pytest.mark.parametrize("wrap", [io.StringIO, lambda text: io.BytesIO(text.encode())])
def test_one_without_a_name_is_known_by_its_first_entry(text, wrap):
    pd.testing.assert_frame_equal(read_fleet(wrap(text)), crontab(text))


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("/etc/crontab", "", True),
        ("x/cron.d/jobs", "", True),
        ("crontab", "", False),
        ("spool/cron/crontab", "0 1 * * * root x", False),
        ("", "# m h dom mon dow user\tcommand\n", True),
        ("", "# *  *  *  *  * user-name  command to be executed\n", True),
        ("", "#minute\thour\tmday\tmonth\twday\twho\tcommand\n", True),
        ("", "# m h dom mon dow command\n", False),
    ],
)
def test_a_system_crontab_is_recognised_only_when_certain(path, text, expected):
    assert is_system(path, text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# m h  dom mon dow   command\n\nMAILTO=root\n*/5 8-18 * jan,MAR mon-fri poll\n", True),
        ("@daily backup\r\n", True),
        ("-0\t1 * * *\tquiet\n", True),
        ("# exported today\nid,cron\na,0 1 * * *\n", False),
        ("0 1 * * *\n", False),
        ("*/5 * * * *,my poll\n", False),
        ("NAME  SCHEDULE  TIMEZONE  SUSPEND  ACTIVE  LAST SCHEDULE\n", False),
        ("MAILTO=root\n", False),
        ("0 9 * * *,cron\na,b\n", False),
        ("@id, b\n", False),
        ("", False),
    ],
)
def test_a_crontab_is_recognised_by_its_first_entry(text, expected):
    assert is_crontab(text) is expected


def test_a_crontab_is_read_as_one_whatever_its_file_is_called(tmp_path):
    spool = tmp_path / "alice"
    spool.write_text("# m h dom mon dow command\nCRON_TZ=Asia/Tokyo\n0 9 * * 1-5 x\n")
    told = ["0 9 * * 1-5", "x", "Asia/Tokyo", "crontab"]
    assert (
        read_fleet(spool)[["cron", "command", "zone", "dialect_guess"]].values[0].tolist() == told
    )
    assert len(read_fleet(io.BytesIO(spool.read_bytes()))) == 1
    with pytest.raises(FleetError, match="no cron column"):
        read_fleet(spool, format="csv")


def test_the_user_is_no_part_of_the_command(root):
    fleet = read_fleet(root / "tests" / "data" / "fleets" / "etc" / "crontab")
    assert fleet["user"].value_counts()["backup"] == 2
    told = crontab("0 1 * * *\troot\tx y\n@daily www z\n", "system-crontab")
    assert told[["user", "command"]].values.tolist() == [["root", "x y"], ["www", "z"]]


def test_a_percent_sign_ends_the_command_and_an_escaped_one_is_itself():
    fleet = crontab("0 1 * * * mail x%Dear,%50 \\% off\n0 2 * * * date +\\%F\n")
    assert fleet["command"].tolist() == ["mail x", "date +%F"]
    assert fleet["stdin"].tolist() == ["Dear,\n50 % off", ""]


def test_settings_in_all_their_spellings_start_nothing():
    text = "A=b\n\"C\" = 'd e'\n'F'=\nMAILTO = x@y\n-0 1 * * * quiet\n"
    fleet = crontab(text)
    assert fleet[["cron", "command", "line"]].values.tolist() == [["0 1 * * *", "quiet", 5]]


def test_an_unknown_zone_refuses_its_rows_alone():
    found = audit(crontab("CRON_TZ=Europe/Berln\n0 1 * * * x\nCRON_TZ=UTC\n0 1 * * * y\n"))
    assert found["verdict"].tolist() == ["refused", "same"]
    assert "'Europe/Berlin'" in found["reason"][0]


def test_what_names_no_time_says_so():
    found = audit(crontab("@reboot x\n0~59 3 * * * y\n"))
    assert found["verdict"].tolist() == ["refused", "refused"]
    assert "start of the machine" in found["reason"][0]
    assert "at random" in found["reason"][1]


def test_a_cut_off_line_names_what_is_missing():
    with pytest.raises(FleetError, match=r"line 2 of .* and then a user and a command"):
        crontab("0 1 * * * root x\n0 2 * * * root\n", "system-crontab")
