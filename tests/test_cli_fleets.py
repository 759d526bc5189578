"""Commands about fleets print what the library answers, from whatever a fleet is read."""

import gzip
import io
import json
import sys

import pandas as pd
import pytest
from live_server import engine_answers, page, record, refusal

import resonate_lab as rl
from resonate_lab.whatif.sources import FORMATS

DOWN = "2026-12-01..2026-12-01T12:00"
WINDOW = ("2026-12-01", "2026-12-01 12:00")
FLEET = (
    "id,cron\n"
    "hourly,0 * * * *\n"
    "weekdays,0 9 * * 1-5\n"
    "tens,*/10 * * * *\n"
    "broken,0 9 * * 8\n"
    "also,0 * * * *\n"
)


@pytest.fixture
def fleet(tmp_path):
    path = tmp_path / "fleet.csv"
    path.write_text(FLEET)
    return str(path)


def answer(run, *arguments):
    code, out, _ = run(*arguments, "--json")
    assert code == 0
    return json.loads(out)


class TestSources:
    def test_stdin(self, run, monkeypatch):
        stdin = io.TextIOWrapper(io.BytesIO(FLEET.encode()))
        monkeypatch.setattr(sys, "stdin", stdin)
        assert len(answer(run, "audit", "-", "--after", "2026-12-01")) == 5

    def test_a_crontab_by_its_format(self, run, tmp_path):
        (tmp_path / "jobs").write_text("0 9 * * 1-5 make report\n")
        found = answer(run, "audit", "jobs", "--format", "crontab", "--after", "2026-12-01")
        assert [row["proposed"] for row in found] == ["0 9 * * MON-FRI"]

    def test_every_format_that_the_library_reads(self, run):
        _, out, _ = run("audit", "--help")
        assert f"[{'|'.join(FORMATS)}]" in "".join(out.split())

    def test_a_live_server_with_a_token_of_the_environment(self, run, serve, monkeypatch):
        engine = rl.Engine(now="2024-01-01")
        engine.schedules.create("a", cron="0 * * * *", target="poll://any@g")
        server = serve(engine_answers(engine))
        monkeypatch.setenv("RESONATE_TOKEN", "s3cret")
        found = answer(run, "whatif", server.url, "--down", DOWN)
        assert found["counters"]["missed"] == 12
        assert server.asked[0][0]["head"]["auth"] == "s3cret"
        assert server.kinds == ["schedule.search"]
        code, out, _ = run("audit", server.url, "--token", "other", "--source", "resonate")
        assert code == 0
        assert "the live server" in out
        assert server.asked[-1][0]["head"]["auth"] == "other"

    def test_an_address_with_a_secret_is_refused_and_not_printed(self, run):
        code, out, err = run("audit", "http://user:s3cret@localhost:1")
        assert (code, out) == (1, "")
        assert "s3cret" not in err
        assert "RESONATE_TOKEN" in err

    def test_a_server_that_is_down_ends_with_1_and_a_sentence(self, run, serve):
        server = serve(lambda e: (503, b""))
        code, out, err = run("load", server.url)
        assert (code, out, err.count("\n")) == (1, "", 1)
        assert "503" in err


TOKEN = "s3cr3t"
READERS = {
    "audit": (),
    "whatif": ("--down", DOWN),
    "longest-outage": ("--down", "2026-12-01"),
    "policies": ("--down", DOWN),
    "load": ("--start", "2026-12-01"),
    "collisions": ("--run-time", "5min"),
    "spread": ("--bound", "2"),
}
BOMB = gzip.compress(bytes(2**22), mtime=0)
LAME = record()
del LAME["id"]
BAD = {
    "401": (lambda e: refusal(e, 401, f"not {TOKEN}"), "401"),
    "500": (lambda e: refusal(e, 500, f"it broke on {TOKEN}"), "500"),
    "HTML": (lambda e: (200, f"<html>{TOKEN}".encode()), "no JSON"),
    "a redirect": (lambda e: (307, b"", ("Location", f"/?{TOKEN}")), "307"),
    "invalid UTF-8": (lambda e: (200, b"\xff"), "not UTF-8"),
    "a missing field": (lambda e: page(e, schedules=[LAME]), "record 1 of page 1"),
    "an endless circle": (lambda e: page(e, schedules=[record()], cursor="a"), "circle"),
    "a bomb": (
        lambda e: (200, BOMB, ("Content-Encoding", "gzip")),
        "not UTF-8",
    ),
    "nothing": (lambda e: lambda handler: handler.rfile.read(), "within 50 ms"),
}


class TestLiveServers:
    @pytest.mark.parametrize("command", READERS)
    def test_a_command_asks_by_searches_alone(self, run, serve, command):
        engine = rl.Engine(now="2024-01-01")
        for id in ("a", "b"):
            engine.schedules.create(id, cron="0 * * * *", target="poll://any@g")
        server = serve(engine_answers(engine))
        assert run(command, server.url, *READERS[command], "--token", TOKEN)[0] == 0
        assert {envelope["head"]["auth"] for envelope, _ in server.asked} == {TOKEN}
        assert set(server.kinds) == {"schedule.search"}
        assert run("engine", "mirror", server.url, "e.json", "--promises", "--force")[0] == 0
        assert {kind.partition(".")[2] for kind in server.kinds} == {"search"}

    @pytest.mark.parametrize(("answer", "token"), BAD.values(), ids=BAD)
    @pytest.mark.parametrize("command", [("audit",), ("engine", "mirror", "e.json")], ids=" ".join)
    def test_one_that_is_none_ends_with_1_and_a_sentence(
        self, run, serve, tmp_path, command, answer, token
    ):
        server = serve(answer)
        patience = ("--timeout", "50ms") if "50 ms" in token else ()
        words = (*command, "--token", TOKEN, *patience, "--json")
        at = len(command) - (command[0] == "engine")
        code, out, err = run(*words[:at], server.url, *words[at:])
        assert code == 1
        assert token in err
        assert (err.count("\n"), err[:7]) == (1, "Error: ")
        assert json.loads(out)["error"] == err[7:-1]
        assert TOKEN not in out + err
        assert not (tmp_path / "e.json").exists()

    def test_a_timeout_that_is_none(self, run):
        code, _, err = run("audit", "http://localhost:1", "--timeout", "soon")
        assert code == 1
        assert "timeout" in err


class TestAudit:
    def test_as_json_it_is_the_frame(self, run, fleet):
        found = answer(run, "audit", fleet, "--after", "2026-12-01")
        audited = rl.audit(fleet, after="2026-12-01")
        assert [row["verdict"] for row in found] == audited["verdict"].tolist()
        assert [row["proposed"] for row in found] == audited["proposed"].tolist()
        assert found[0]["differs_at"] is None
        assert found[1]["differs_at"].endswith("Z")

    def test_as_tables_it_counts_and_tells_the_changes(self, run, fleet):
        code, out, err = run("audit", fleet, "--after", "2026-12-01")
        assert (code, err) == (0, "")
        assert "fleet.csv: do 5 expressions mean here" in out
        assert "0 9 * * MON-FRI" in out

    def test_a_reading_that_there_is_not(self, run, fleet):
        code, out, err = run("audit", fleet, "--source", "sundial")
        assert (code, out) == (1, "")
        assert "sundial" in err


class TestWhatif:
    def test_as_json_it_is_the_counters_the_summary_and_the_refused(self, run, fleet):
        found = answer(run, "whatif", fleet, "--down", DOWN, "--promise-timeout", "3h")
        expected = rl.what_if(fleet, WINDOW, promise_timeout="3h")
        assert found["counters"] == expected.counters
        assert [row["missed"] for row in found["summary"]] == expected.summary["missed"].tolist()
        assert found["summary"][0]["max_lag"] == 11 * 3_600_000
        assert found["summary"][0]["first"] == "2026-12-01T01:00:00Z"
        assert [row["schedule_id"] for row in found["refused"]] == ["broken"]

    def test_as_text_it_is_the_headline_and_the_refused_with_their_reason(self, run, fleet):
        code, out, _ = run("whatif", fleet, "--down", DOWN)
        assert code == 0
        assert rl.what_if(fleet, WINDOW).headline() in " ".join(out.split())
        assert "Refused by Resonate: 1" in out
        assert "broken (line 5): 0 9 * * 8" in out

    def test_page_and_ticks_are_written(self, run, fleet, tmp_path):
        _, out, _ = run("whatif", fleet, "--down", DOWN, "--html", "a.html", "--ticks", "t.csv")
        assert out.count("written: ") == 2
        assert (tmp_path / "a.html").read_text(encoding="utf-8").startswith("<!")
        ticks = pd.read_csv(tmp_path / "t.csv")
        assert len(ticks) == rl.what_if(fleet, WINDOW).counters["missed"]

    def test_another_profile(self, run, fleet):
        found = answer(run, "whatif", fleet, "--down", DOWN, "--profile", "spec")
        assert found["counters"] == rl.what_if(fleet, WINDOW, profile="spec").counters

    @pytest.mark.parametrize(
        ("down", "code", "token"),
        [
            ("2026-12-01", 2, "START..UP"),
            ("..2026-12-01", 2, "START..UP"),
            ("soon..later", 1, "'soon'"),
            ("2026-12-02..2026-12-01", 1, "must not end before"),
            ("2026-12-02..3026-12-01", 1, "1970 to 2100"),
        ],
    )
    def test_an_outage_that_is_none(self, run, fleet, down, code, token):
        found, out, err = run("whatif", fleet, "--down", down)
        assert (found, out) == (code, "")
        assert token in err

    def test_an_outage_is_needed(self, run, fleet):
        code, _, err = run("whatif", fleet)
        assert code == 2
        assert "--down" in err


class TestLongestOutage:
    START = "2026-12-04T18:00"

    def test_as_json_it_is_the_answer_the_schedules_and_the_refused(self, run, fleet):
        found = answer(run, "longest-outage", fleet, "--down", self.START)
        longest = rl.longest_outage(fleet, self.START)
        # */10 breaks first: the tick of 18:10 has timed out an hour later.
        assert found["duration"] == 70 * 60_000 - 1
        assert found["start"] == "2026-12-04T18:00:00Z"
        assert found["up"] == "2026-12-04T19:09:59.999000Z"
        assert (found["stopped_by"], found["schedule_id"]) == ("expired", "tens")
        assert found["tick"] == "2026-12-04T18:10:00Z"
        ids = longest.schedules["schedule_id"].tolist()
        assert [row["schedule_id"] for row in found["schedules"]] == ids
        assert [row["schedule_id"] for row in found["refused"]] == ["broken"]

    def test_as_text_it_is_the_headline_and_who_breaks_it(self, run, fleet):
        code, out, err = run("longest-outage", fleet, "--down", self.START)
        assert (code, err) == (0, "")
        assert rl.longest_outage(fleet, self.START).headline() in " ".join(out.split())
        assert out.index("tens  ") < out.index("hourly  ") < out.index("weekdays  ")
        assert "broken (line 5): 0 9 * * 8" in out

    @pytest.mark.parametrize(
        ("options", "arguments"),
        [
            (("--expired", "3"), {"expired": 3}),
            (("--promise-timeout", "3h"), {"promise_timeout": "3h"}),
            (("--limit", "10min"), {"limit": "10min"}),
            (("--expired", "any", "--messages", "0"), {"expired": None, "messages": 0}),
        ],
    )
    def test_an_option_is_the_argument_of_that_name(self, run, tmp_path, options, arguments):
        path = tmp_path / "f.csv"
        tags = '"{""resonate:target"": ""poll://any@g""}"'
        path.write_text(f"id,cron,promise_tags\na,*/10 * * * *,{tags}\nb,@hourly,{tags}\n")
        found = answer(run, "longest-outage", str(path), "--down", self.START, *options)
        longest = rl.longest_outage(path, self.START, **arguments)
        assert found["duration"] == longest.duration // pd.Timedelta(1, "ms")
        assert found["stopped_by"] == longest.stopped_by
        assert (found["tick"] is None) == (longest.stopped_by == "limit")

    def test_what_is_not_seen_to_break_is_blank_and_that_is_said(self, run, fleet):
        _, out, _ = run("longest-outage", fleet, "--down", self.START, "--limit", "2h")
        assert "Blank: not alone, as far as was looked (2h)." in out

    def test_the_page_is_written(self, run, fleet, tmp_path):
        _, out, _ = run("longest-outage", fleet, "--html", "a.html")
        assert "written: a.html" in out
        assert (tmp_path / "a.html").read_text(encoding="utf-8").startswith("<!")

    @pytest.mark.parametrize(
        ("options", "code", "token"),
        [
            (("--expired", "any"), 2, "--messages N"),
            (("--expired", "-1"), 2, "'-1'"),
            (("--messages", "many"), 2, "'many'"),
            (("--messages", "1.5"), 2, "'1.5'"),
            (("--down", "soon"), 1, "'soon'"),
            (("--limit", "far"), 1, "'far'"),
            (("--limit", "200000d"), 1, "1970 to 2100"),
            (("--promise-timeout", "-1h"), 1, "-3600000 ms"),
        ],
    )
    def test_an_option_that_makes_no_sense(self, run, fleet, options, code, token):
        found, out, err = run("longest-outage", fleet, *options)
        assert (found, out) == (code, "")
        assert token in err.splitlines()[-1]


class TestPolicies:
    def test_of_an_expression(self, run):
        found = answer(run, "policies", "*/10 * * * *", "--down", DOWN, "--run-time", "15min")
        compared = rl.policies.compare("*/10 * * * *", WINDOW, run_time="15min")
        assert [row["policy"] for row in found] == compared["policy"].tolist()
        assert found[0]["starts"] == 72
        assert found[-1]["starts"] is None

    def test_of_a_fleet_and_some_policies(self, run, fleet):
        names = ("--policy", "Temporal schedule", "--policy", "Resonate")
        code, out, _ = run("policies", fleet, "--down", DOWN, *names)
        assert code == 0
        rows = [line for line in out.splitlines() if line.startswith(("Temporal", "Resonate"))]
        assert [row.split("  ")[0] for row in rows] == ["Temporal schedule", "Resonate"]
        assert "refused: broken (line 5)" in out

    def test_of_stdin_and_of_a_live_server(self, run, monkeypatch, serve):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"cron\n@hourly\n")))
        assert answer(run, "policies", "-", "--down", DOWN)[0]["missed"] == 12
        engine = rl.Engine(now="2024-01-01")
        engine.schedules.create("a", cron="0 * * * *", target="poll://any@g")
        server = serve(engine_answers(engine))
        assert answer(run, "policies", server.url, "--down", DOWN)[0]["missed"] == 12

    def test_an_unknown_policy_is_refused_with_a_close_one(self, run):
        code, _, err = run("policies", "@daily", "--down", DOWN, "--policy", "Kubernets")
        assert code == 1
        assert "Kubernetes CronJob" in err


class TestLoad:
    def test_as_json_it_is_the_series(self, run, fleet):
        window = ("--start", "2026-12-01", "--end", "2026-12-01 03:00", "--freq", "1h")
        found = answer(run, "load", fleet, *window)
        assert [row["ticks"] for row in found] == [8, 8, 8, 3]
        assert found[1]["start"] == "2026-12-01T01:00:00Z"

    def test_as_text_it_names_the_peaks(self, run, fleet):
        code, out, _ = run("load", fleet, "--start", "2026-12-01", "--peaks", "2")
        assert code == 0
        counted = rl.load(fleet, "2026-12-01", "2026-12-07 23:59:59")
        assert counted.headline() in " ".join(out.split())
        assert "2026-12-01 09:00" in out
        assert "Refused by Resonate: 1" in out

    def test_the_window_begins_today_and_has_seven_days(self, run, fleet):
        assert len(answer(run, "load", fleet, "--freq", "1D")) == 7

    def test_no_tick_at_all(self, run, tmp_path):
        (tmp_path / "f.csv").write_text("cron\n0 0 0 1 1 ? 2001\n")
        code, out, _ = run("load", "f.csv")
        assert code == 0
        assert "no tick in this window" in out

    @pytest.mark.parametrize(
        "options", [("--freq", "1ms"), ("--start", "x"), ("--end", "1999-01-01"), ("--peaks", "-1")]
    )
    def test_an_option_that_makes_no_sense(self, run, fleet, options):
        code, out, err = run("load", fleet, *options)
        assert (code, out) == (1, "")
        assert err.splitlines()[-1].startswith("Error: ")


class TestCollisions:
    def test_as_json_and_as_a_table(self, run, fleet):
        window = ("--start", "2026-12-01", "--end", "2026-12-02", "--run-time", "5min")
        found = answer(run, "collisions", fleet, *window)
        met = rl.collisions(fleet, "2026-12-01", "2026-12-02", "5min")
        assert [row["collisions"] for row in found["pairs"]] == met.pairs["collisions"].tolist()
        assert found["pairs"][0]["longest"] == 300_000
        assert [row["schedule_id"] for row in found["refused"]] == ["broken"]
        code, out, _ = run("collisions", fleet, *window)
        assert code == 0
        assert met.headline() in " ".join(out.split())

    def test_a_run_time_is_needed_from_somewhere(self, run, fleet):
        code, _, err = run("collisions", fleet)
        assert code == 1
        assert "run_time" in err


class TestSpread:
    WINDOW = ("--start", "2026-12-01", "--end", "2026-12-02", "--bound", "2")

    def test_as_json_and_as_a_table(self, run, fleet):
        found = answer(run, "spread", fleet, *self.WINDOW)
        less = rl.spread(fleet, "2026-12-01", "2026-12-02", 2)
        assert found["reached"] is True
        assert (found["peak_before"], found["peak_after"]) == (4, 2)
        assert [row["proposed"] for row in found["moves"]] == less.moves["proposed"].tolist()
        code, out, _ = run("spread", fleet, *self.WINDOW)
        assert code == 0
        assert less.headline() in " ".join(out.split())

    def test_what_is_kept_is_not_moved_and_the_fleet_is_written(self, run, fleet, tmp_path):
        keep = ("--keep", "hourly", "--keep", "tens")
        found = answer(run, "spread", fleet, *self.WINDOW, *keep, "--csv", "moved.csv")
        assert {row["schedule_id"] for row in found["moves"]} <= {"weekdays", "also"}
        moved = rl.read_fleet(tmp_path / "moved.csv")
        assert rl.load(moved, "2026-12-01", "2026-12-02").max() <= 2

    @pytest.mark.parametrize(
        ("options", "code"), [(("--bound", "0"), 1), (("--keep", "nobody"), 1), (("--bound",), 2)]
    )
    def test_an_option_that_makes_no_sense(self, run, fleet, options, code):
        found, out, _ = run("spread", fleet, *self.WINDOW, *options)
        assert (found, out) == (code, "")
