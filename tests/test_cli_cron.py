"""Commands about one expression print what the library answers."""

import json

import pytest

import resonate_lab as rl

AFTER = "2026-12-01"


class TestExplain:
    def test_it_says_what_the_expression_means_and_what_surprises(self, run):
        code, out, err = run("explain", "0 9 * * 1-5", "--after", AFTER)
        assert (code, err) == (0, "")
        assert "Sunday to Thursday" in out
        assert "0 9 * * MON-FRI" in out
        assert "2026-12-01 09:00" in out
        assert "2026-12-07 09:00" in out

    @pytest.mark.parametrize("text", ["0 9 * * 1-5", "@daily", "0 0 29 2 *", "0 0 9 * * * 2031"])
    def test_its_json_is_what_the_library_says(self, run, text):
        expression = rl.CronExpression(text)
        found = json.loads(run("explain", text, "--after", AFTER, "--json")[1])
        assert found["cron"] == text
        assert found["dialect"] == "resonate"
        assert found["explanation"] == expression.explain()
        lint = expression.lint(AFTER)
        assert [f["code"] for f in found["findings"]] == [f.code for f in lint]
        assert [f["replacement"] for f in found["findings"]] == [f.replacement for f in lint]
        ticks = [at.isoformat().replace("+00:00", "Z") for at in expression.fires(5, AFTER)]
        assert [row["UTC"] for row in found["next"]] == ticks

    def test_another_dialect(self, run):
        assert run("explain", "0 9 ? * 2#1")[0] == 1
        assert "Monday" in run("explain", "0 0 9 ? * 2#1", "--dialect", "quartz")[1]

    def test_one_without_a_further_tick(self, run):
        code, out, _ = run("explain", "0 0 0 1 1 ? 2001", "--after", AFTER)
        assert code == 0
        assert "no tick is left" in out

    @pytest.mark.parametrize(
        ("text", "token"), [("0 9 * * 8", "'8'"), ("", "field"), ("a b", "field"), ("@x", "@x")]
    )
    def test_one_that_is_refused_ends_with_1_and_the_place(self, run, text, token):
        code, out, err = run("explain", text)
        assert (code, out) == (1, "")
        assert token in err
        assert err.count("\n") == 1


class TestNext:
    def test_in_a_pipe_one_instant_a_line(self, run):
        code, out, err = run("next", "@daily", "--after", AFTER, "-n", "2")
        assert (code, out, err) == (0, "2026-12-02T00:00:00Z\n2026-12-03T00:00:00Z\n", "")

    def test_in_a_zone(self, run):
        _, out, _ = run("next", "@daily", "--after", AFTER, "-n", "1", "--zone", "Asia/Kolkata")
        assert out == "2026-12-02T05:30:00+05:30\n"

    def test_in_utc_as_a_zone(self, run):
        assert run("next", "@daily", "--after", AFTER, "-n", "1", "--zone", "UTC")[1] == (
            "2026-12-02T00:00:00Z\n"
        )

    def test_as_json_with_both(self, run):
        arguments = ("next", "@daily", "--after", AFTER, "-n", "1", "--zone", "America/New_York")
        assert json.loads(run(*arguments, "--json")[1]) == [
            {
                "UTC": "2026-12-02T00:00:00Z",
                "day": "Wed",
                "America/New_York": "2026-12-01T19:00:00-05:00",
                "local day": "Tue EST",
            }
        ]

    def test_none_left_is_nothing_and_no_error(self, run):
        assert run("next", "0 0 0 1 1 ? 2001", "--after", AFTER) == (0, "", "")

    def test_without_an_instant_they_lie_ahead_of_now(self, run):
        _, out, _ = run("next", "* * * * *", "-n", "1")
        assert out.startswith("20")

    @pytest.mark.parametrize(
        ("options", "code", "token"),
        [
            (("--after", "soon"), 1, "'soon'"),
            (("--after", "3000-01-01"), 1, "1970 to 2100"),
            (("--zone", "Mars/Base"), 1, "Mars/Base"),
            (("-n", "-1"), 1, "-1"),
            (("-n", "many"), 2, "many"),
            (("--dialect", "posix"), 2, "posix"),
        ],
    )
    def test_an_option_that_makes_no_sense(self, run, options, code, token):
        found, out, err = run("next", "@daily", *options)
        assert (found, out) == (code, "")
        assert token in err


class TestWallClocks:
    def test_to_utc_is_what_the_library_plans(self, run):
        arguments = ("to-utc", "30 2 * * *", "Europe/Berlin", "2026")
        plan = rl.to_utc("30 2 * * *", "Europe/Berlin", 2026)
        found = json.loads(run(*arguments, "--json")[1])
        assert [row["cron"] for row in found] == plan["cron"].tolist()
        assert [row["ticks"] for row in found] == plan["ticks"].tolist()
        code, out, _ = run(*arguments)
        assert code == 0
        assert "moved" in out
        assert "doubled" not in out  # there is none, so the column says nothing
        assert "does not exist" in out

    def test_another_rule(self, run):
        found = json.loads(
            run("to-utc", "30 2 * * *", "Europe/Berlin", "2026", "--rule", "naive", "--json")[1]
        )
        assert sum(row["lost"] for row in found) == 1

    def test_local_view_is_what_the_library_sees(self, run):
        arguments = ("local-view", "0 9 * * MON-FRI", "Europe/Berlin", "2026")
        found = json.loads(run(*arguments, "--json")[1])
        assert [row["times"] for row in found] == ["10:00", "11:00", "10:00"]
        assert found[1]["first"] == "2026-03-30T11:00:00+02:00"
        assert "UTC+02:00 (CEST)" in run(*arguments)[1]

    @pytest.mark.parametrize("command", ["to-utc", "local-view"])
    @pytest.mark.parametrize(
        ("zone", "year", "code"),
        [("America/New_Yrk", "2026", 1), ("UTC", "1600", 1), ("UTC", "next", 2)],
    )
    def test_a_zone_or_a_year_that_is_none(self, run, command, zone, year, code):
        found, out, err = run(command, "@daily", zone, year)
        assert (found, out) == (code, "")
        assert err.splitlines()[-1].startswith("Error: ")
