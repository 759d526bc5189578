"""Each finding has its code, and what it offers instead compiles and does as it says."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resonate_lab.cron import CronError, CronExpression
from resonate_lab.cron import lint as lint_module
from resonate_lab.cron import mend as mend_module
from resonate_lab.cron.lint import lint, lint_refused
from resonate_lab.cron.lint.finding import Finding
from resonate_lab.cron.mend import FIELD_NAMES

NOW = 1_796_040_000_000  # 2026-11-30T12:00:00Z
RELEASED = "resonate-0.9.8"


def chain(cron, after, n=60):
    ticks = []
    while len(ticks) < n and (tick := cron.next_ms(after)) is not None:
        ticks.append(tick)
        after = tick
    return ticks


def found(text, code, dialect="resonate", now=NOW, **kwargs):
    findings = lint(CronExpression(text, dialect), now, **kwargs)
    hits = [finding for finding in findings if finding.code == code]
    assert len(hits) == 1, f"{code} in {[finding.code for finding in findings]}"
    return hits[0]


def codes(text, dialect="resonate", now=NOW, **kwargs):
    return [finding.code for finding in lint(CronExpression(text, dialect), now, **kwargs)]


def refusal(text, dialect="resonate"):
    with pytest.raises(CronError) as caught:
        CronExpression(text, dialect)
    return caught.value


def refused(text, dialect="resonate"):
    return lint_refused(refusal(text, dialect), CronExpression, dialect)


# code, dialect, text, replacement, whether it has the same ticks
OFFERS = [
    ("numeric-weekday", "resonate", "0 9 * * 1-5", "0 9 * * MON-FRI", False),
    ("numeric-weekday", "resonate", "0 0 * * 7", "0 0 * * SUN", False),
    ("numeric-weekday", "resonate", "0 14 * * 1,4", "0 14 * * MON,THU", False),
    ("numeric-weekday", "resonate", "0 0 0 ? * 2-6", "0 0 0 ? * MON-FRI", True),
    ("numeric-weekday", "quartz", "0 0 0 ? * 2-6", "0 0 0 ? * MON-FRI", True),
    ("numeric-weekday", "quartz", "0 0 0 ? * 6L", "0 0 0 ? * FRIL", True),
    ("numeric-weekday", "quartz", "0 0 0 ? * 2#4", "0 0 0 ? * MON#4", True),
    ("both-day-fields", "resonate", "30 3 13 * FRI", None, None),
    ("both-day-fields", "resonate", "0 0 */2 * MON", None, None),
    ("never-fires", "resonate", "0 0 30 2 *", "0 0 28 2 *", False),
    ("never-fires", "resonate", "0 0 31 4,6 *", "0 0 30 4,6 *", False),
    ("never-fires", "resonate", "0 0 0 29 2 * 2027", None, None),
    ("never-fires", "quartz", "0 0 0 30 2 ?", "0 0 0 28 2 ?", False),
    ("never-fires", "quartz", "0 0 0 L-30 2 ?", None, None),
    ("runs-out", "resonate", "0 0 9 * * MON-FRI 2027", "0 0 9 * * MON-FRI", False),
    ("runs-out", "resonate", "0 0 9 * * * 2020", "0 0 9 * * *", False),
    ("runs-out", "quartz", "0 0 0 ? * WED 2050", "0 0 0 ? * WED", False),
    ("future-year-defect", RELEASED, "0 0 9 * * * 2027", "0 0 9 * * *", False),
    ("sixty-second-rule", RELEASED, "0 0 30 2 *", None, None),
    ("uneven-step", "resonate", "*/7 * * * *", "*/6 * * * *", False),
    ("uneven-step", "resonate", "*/40 * * * *", "*/30 * * * *", False),
    ("uneven-step", "resonate", "2/17 * * * *", "2/15 * * * *", False),
    ("uneven-step", "resonate", "0 */9 * * *", "0 */8 * * *", False),
    ("uneven-step", "resonate", "0 0 1 */5 *", "0 0 1 */4 *", False),
    ("uneven-step", "resonate", "*/7 * * * * *", "*/6 * * * * *", False),
    ("uneven-step", "resonate", "0 7 * * */3", "0 7 * * WED,SAT,SUN", True),
    ("uneven-step", "resonate", "0 7 */3 * *", None, None),
    ("step-above-range", "resonate", "*/90 * * * *", "0 * * * *", True),
    ("step-above-range", "resonate", "*/120 * * * *", "0 * * * *", True),
    ("step-above-range", "resonate", "0 1/120 * * * *", "0 1 * * * *", True),
    ("step-above-range", "resonate", "15 1-23/24 * * *", "15 1 * * *", True),
    ("step-above-range", "resonate", "5,1-3/9 * * * *", "5,1 * * * *", True),
    ("step-above-range", "resonate", "0 0 * * */8", "0 0 * * SUN", True),
    ("missing-blank", "resonate", "******", "* * * * * *", True),
    ("missing-blank", "resonate", "0 0 0 * * MON2030", "0 0 0 * * MON 2030", True),
    ("missing-blank", "resonate", "0 9 * *MON 2030", "0 0 9 * * MON 2030", True),
    ("inner-blank", "resonate", "0 0 9 * * MON - FRI", "0 0 9 * * MON-FRI", True),
    ("skips-months", "resonate", "0 0 31 * *", "0 0 28 * *", False),
    ("skips-months", "resonate", "0 0 29 * *", "0 0 28 * *", False),
    ("skips-months", "quartz", "0 0 0 31 * ?", "0 0 0 L * ?", False),
    ("skips-months", "quartz", "0 0 0 31W * ?", "0 0 0 L * ?", False),
    ("skips-months", "quartz", "0 0 0 L-29 * ?", "0 0 0 L * ?", False),
    ("leap-day-only", "resonate", "0 0 29 2 *", "0 0 28 2 *", False),
    ("leap-day-only", "resonate", "0 0 29-31 2 *", "0 0 28 2 *", False),
    ("faster-than-poll", "resonate", "* * * * * *", "0 * * * * *", False),
    ("faster-than-poll", "resonate", "* * 9 * * *", "0 * 9 * * *", False),
    ("seconds-last-elsewhere", "resonate", "0 0 9 * * MON-FRI", "0 9 * * MON-FRI", True),
    ("seconds-last-elsewhere", "resonate", "30 0 9 * * MON-FRI", None, None),
    ("seconds-last-elsewhere", "resonate", "0 0 9 * * * 2027", None, None),
]


class TestFindings:
    @pytest.mark.parametrize(("code", "dialect", "text", "replacement", "same"), OFFERS)
    def test_offers(self, code, dialect, text, replacement, same):
        finding = found(text, code, dialect)
        assert (finding.replacement, finding.same_ticks) == (replacement, same)
        assert replacement is None or f"{replacement!r}" in finding.suggestion

    @pytest.mark.parametrize(("code", "dialect", "text", "replacement", "same"), OFFERS)
    def test_the_claim_about_ticks_is_true(self, code, dialect, text, replacement, same):
        if replacement is not None:
            here, there = (CronExpression(each, dialect) for each in (text, replacement))
            assert (chain(here, -1, 400) == chain(there, -1, 400)) == same

    def test_every_code_of_the_table_is_offered_or_found_here(self):
        listed = set(
            re.findall(r"^([a-z][a-z-]+[a-z]) +(?:error|warning)", lint_module.__doc__, re.M)
        )
        listed.add("seconds-last-elsewhere")
        assert {code for code, *_ in OFFERS} == listed

    def test_errors_come_first_then_warnings_then_infos(self):
        findings = lint(CronExpression("0 0 0 30 2 5 2027", RELEASED), NOW)
        order = [("error", "warning", "info").index(finding.severity) for finding in findings]
        assert order == sorted(order)
        assert len(set(order)) == 3

    @pytest.mark.parametrize(
        "text",
        [
            *("0 9 * * *", "*/5 * * * *", "0 9 * * MON-FRI", "@daily", "@weekly", "0 0 1 * *"),
            *("*/30 * * * *", "2-59/5 * * * *", "0 1-23/4 * * *", "0 9-17/8 * * *", "0 9 * * 1-7"),
            *("0 0 1,31 * *", "0 0 31 1,3,5 *", "*/40 9 * * *", "0 0 28 2 *", "0 */1 * * *"),
        ],
    )
    def test_what_surprises_nobody_has_no_finding(self, text):
        assert codes(text) == []


class TestMessages:
    def test_numeric_weekday_says_both_readings_and_both_ways_out(self):
        finding = found("0 9 * * 1-5", "numeric-weekday")
        assert "'1-5' is Sunday to Thursday; in a crontab it is Monday to Friday" in finding.message
        assert "'0 9 * * SUN-THU'" in finding.suggestion

    def test_both_day_fields_gives_the_two_schedules_for_either(self):
        finding = found("30 3 13 * FRI", "both-day-fields")
        assert "day 13 AND Friday" in finding.message
        texts = re.findall(r"'([^']+)'", finding.suggestion)
        assert texts == ["30 3 13 * *", "30 3 1-12,14-31 * FRI"]
        assert not set(chain(CronExpression(texts[0]), NOW)) & set(
            chain(CronExpression(texts[1]), NOW)
        )

    def test_both_day_fields_tells_that_a_star_makes_a_crontab_agree(self):
        finding = found("0 0 */2 * MON", "both-day-fields")
        assert finding.severity == "info"
        assert "letter of POSIX" in finding.message

    @pytest.mark.parametrize(
        ("text", "gaps"),
        [
            ("*/40 * * * *", "40 and 20 minutes"),
            ("*/7 * * * *", "7 and 4 minutes"),
            ("*/59 * * * *", "59 and 1 minutes"),
            ("0 */5 * * *", "5 and 4 hours"),
            ("*/25 * * * * *", "25 and 10 seconds"),
            ("0 0 1 */7 *", "7 and 5 months"),
            ("0 0 * * */3", "3 and 1 days"),
        ],
    )
    def test_uneven_step_gives_the_gaps(self, text, gaps):
        assert f"with gaps of {gaps}" in found(text, "uneven-step").message

    @pytest.mark.parametrize(
        ("text", "instead"),
        [
            ("*/90 * * * *", ["0 */3 * * *", "30 1/3 * * *"]),
            ("*/120 * * * *", ["0 */2 * * *"]),
            ("*/300 * * * * *", ["0 */5 * * * *"]),
        ],
    )
    def test_step_above_range_gives_the_rhythm_that_was_meant(self, text, instead):
        finding = found(text, "step-above-range")
        assert re.findall(r"'([^']+)'", finding.suggestion)[1:] == instead
        step = int(re.findall(r"/(\d+)", text)[0]) * (1000 if text.count(" ") == 5 else 60_000)
        ticks = sorted(tick for each in instead for tick in chain(CronExpression(each), -1, 30))
        assert ticks[:20] == [step * k for k in range(20)]

    def test_runs_out_names_the_last_tick_and_what_is_left(self):
        text = "0 0 9 * * MON-FRI 2027"
        message = found(text, "runs-out").message
        assert "the last tick is 2027-12-31 09:00:00Z, 261 ticks from now" in message
        assert found(text, "runs-out", now=None).message.endswith("2027-12-31 09:00:00Z")

    def test_runs_out_is_an_error_once_it_is_over(self):
        finding = found("0 0 9 * * * 2020", "runs-out")
        assert finding.severity == "error"
        assert "which is over" in finding.message

    @pytest.mark.parametrize("years", ["2012-2099", "*", "2099", "1970-2100"])
    def test_years_to_the_end_of_the_calendar_do_not_run_out(self, years):
        assert "runs-out" not in codes(f"0 0 9 * * * {years}")

    def test_never_fires_says_why_and_what_the_server_does(self):
        message = found("0 0 30 2 *", "never-fires").message
        assert "no day 30 in February" in message
        assert "every minute" in message

    def test_sixty_second_rule_follows_the_last_tick(self):
        finding = found("0 0 9 31 12 * 2026", "sixty-second-rule", RELEASED)
        assert finding.severity == "warning"
        assert "2026-12-31 09:00:00Z" in finding.message
        assert found("0 0 9 2 1 * 2020", "sixty-second-rule", RELEASED).severity == "error"
        assert "sixty-second-rule" not in codes("0 0 9 * * *", RELEASED)

    def test_future_year_defect_says_what_the_server_will_do_instead(self):
        finding = found("0 0 9 * * MON-FRI 2027", "future-year-defect", RELEASED)
        assert finding.severity == "error"
        for fact in ("2027-12-01 09:00:00Z", "2027-01-01 09:00:00Z", "238 ticks late"):
            assert fact in finding.message
        lost = found("0 0 0 1 1 * 2030", "future-year-defect", RELEASED)
        assert "finds no tick at all" in lost.message

    def test_future_year_defect_depends_on_the_instant_of_creation(self):
        text = "0 0 9 * * MON-FRI 2027"
        assert found(text, "future-year-defect", RELEASED, now=None).severity == "warning"
        in_the_year = 1_800_000_000_000  # 2027-01-15
        assert "future-year-defect" not in codes(text, RELEASED, now=in_the_year)
        assert "future-year-defect" not in codes(text)

    def test_skips_months_names_them(self):
        assert "February, April, June, September and November" in (
            found("0 0 31 * *", "skips-months").message
        )
        assert "February outside leap years" in found("0 0 29 * *", "skips-months").message

    def test_leap_day_only_names_the_next(self):
        assert "2028-02-29 00:00:00Z" in found("0 0 29 2 *", "leap-day-only").message

    def test_faster_than_poll_tells_for_ever_from_for_a_while(self):
        assert "for ever" in found("* * * * * *", "faster-than-poll").message
        assert "pauses" in found("* * 9 * * *", "faster-than-poll").message

    @pytest.mark.parametrize(
        ("text", "poll", "lags"),
        [
            ("*/2 * * * * *", 1000, False),
            ("*/2 * * * * *", 2000, True),
            ("* * * * *", 1000, False),
            ("* * * * *", 60_000, True),
            ("* * * * *", 59_999, False),
            ("0 9 * * *", 86_400_000, False),
            ("0 9,12 * * *", 43_200_000, True),
        ],
    )
    def test_faster_than_poll_goes_by_the_poll(self, text, poll, lags):
        assert ("faster-than-poll" in codes(text, poll_ms=poll)) == lags

    def test_missing_blanks_are_counted(self):
        assert "and so do 4 more pairs" in found("******", "missing-blank").message

    def test_all_messages_are_one_printable_bounded_line(self):
        for _, dialect, text, *_ in OFFERS:
            for finding in lint(CronExpression(text, dialect), NOW):
                for said in (finding.message, finding.suggestion):
                    assert said.isprintable()
                    assert 0 < len(said) < 400
                    assert "{}" not in said
                    assert not said.endswith(".")


REFUSED = [
    ("empty", "resonate", "", None),
    ("empty", "quartz", " \t ", None),
    ("unsupported-shorthand", "resonate", "@midnight", "@daily"),
    ("unsupported-shorthand", "resonate", "@annually", "@yearly"),
    ("unsupported-shorthand", "resonate", " @Daily", "@daily"),
    ("unsupported-shorthand", "resonate", "@reboot", None),
    ("unsupported-shorthand", "resonate", "@every 5m", None),
    ("unsupported-shorthand", "quartz", "@weekly", "0 0 0 ? * SUN"),
    ("field-count", "resonate", "0 9 * *", None),
    ("field-count", "resonate", "0 0 0 1 1 * 2027 x", None),
    ("field-count", "quartz", "0 9 * * 1-5", "0 0 9 ? * MON-FRI"),
    ("inner-blank", "resonate", "0 9 * * MON - FRI", "0 9 * * MON-FRI"),
    ("inner-blank", "resonate", "0 9 1, 2 * *", "0 9 1,2 * *"),
    ("weekday-zero", "resonate", "0 0 * * 0", "0 0 * * SUN"),
    ("weekday-zero", "resonate", "0 8 * * 6,0", "0 8 * * SAT,SUN"),
    ("weekday-zero", "resonate", "06 22 * * 0-4", "06 22 * * SUN-THU"),
    ("weekday-zero", "quartz", "0 0 9 ? * 0", "0 0 9 ? * SUN"),
    ("descending-range", "resonate", "0 22-2 * * *", "0 22-23,0-2 * * *"),
    ("descending-range", "resonate", "0 23-0 * * *", "0 23,0 * * *"),
    ("descending-range", "resonate", "0 0 * * SAT-MON", "0 0 * * SAT,SUN,MON"),
    ("descending-range", "resonate", "0 0 * * 6-2", "0 0 * * FRI,SAT,SUN,MON"),
    ("descending-range", "resonate", "0 0 1 NOV-FEB *", "0 0 1 11-12,1-2 *"),
    ("descending-range", "resonate", "0 22-2/2 * * *", "0 0,2,22 * * *"),
    ("descending-range", "resonate", "0 0 0 1 1 * 2030-2027", "0 0 0 1 1 * 2027-2030"),
    ("quartz-only", "resonate", "0 0 0 ? * 2#4", "0 0 0 22-28 * MON"),
    ("quartz-only", "resonate", "0 0 * * 5#3", "0 0 15-21 * FRI"),
    ("quartz-only", "resonate", "0 0 12 ? * L", "0 0 12 ? * SAT"),
    ("quartz-only", "resonate", "0 0 12 L * ?", None),
    ("quartz-only", "resonate", "0 0 12 LW * ?", None),
    ("quartz-only", "resonate", "0 0 12 15W * ?", None),
    ("quartz-only", "resonate", "0 0 12 ? * FRIL", None),
    ("question-mark-place", "resonate", "0 ? * * * *", "0 * * * * *"),
    ("question-mark-place", "quartz", "0 0 9 * * MON-FRI", "0 0 9 ? * MON-FRI"),
    ("question-mark-place", "quartz", "0 0 9 * * *", "0 0 9 * * ?"),
    ("question-mark-place", "quartz", "0 0 9 ? * ?", "0 0 9 * * ?"),
    ("question-mark-place", "quartz", "0 0 8 1-7 * SAT", None),
    ("bad-step", "resonate", "*/0 * * * *", "* * * * *"),
    ("bad-step", "resonate", "/5 * * ? * *", "*/5 * * ? * *"),
    ("bad-step", "quartz", "0 0/120 8-18 ? * 2-6", "0 0 8-18 ? * 2-6"),
    ("name-step", "resonate", "0 0 * * MON/2", "0 0 * * MON,WED,FRI"),
    ("name-step", "resonate", "0 0 1 JAN/3 *", "0 0 1 */3 *"),
    ("name-step", "quartz", "0 0 9 ? * MON-FRI/2", "0 0 9 ? * MON,WED,FRI"),
    ("mixed-range", "resonate", "0 0 * * MON-5", "0 0 * * MON-THU"),
    ("mixed-range", "resonate", "0 0 1 JAN-3 *", "0 0 1 1-3 *"),
    ("unknown-name", "resonate", "0 0 1 sept *", "0 0 1 SEP *"),
    ("unknown-name", "resonate", "0 0 * * thur", "0 0 * * THU"),
    ("unknown-name", "quartz", "0 0 9 ? * monday", "0 0 9 ? * MON"),
    ("hashed", "resonate", "H H * * *", None),
    ("hashed", "resonate", "H(0-29)/10 * * * *", None),
    ("out-of-range", "resonate", "0 0 54 * *", None),
    ("out-of-range", "resonate", "60 * * * *", None),
    ("out-of-range", "resonate", "0 0 * * -1", None),
    ("out-of-range", "resonate", "0 0 0 1 1 ? 2200", None),
    ("unreadable", "resonate", "0 9 * * MON-FRI;rm", None),
    ("unreadable", "resonate", "0 0 * x *", None),
    ("unreadable", "quartz", "0 0 9 ? * MON#2,MON#3", None),
]


class TestRefused:
    @pytest.mark.parametrize(("code", "dialect", "text", "replacement"), REFUSED)
    def test_offers(self, code, dialect, text, replacement):
        findings = refused(text, dialect)
        assert findings[0].code == code
        assert findings[0].severity == "error"
        assert findings[0].replacement == replacement
        assert findings[0].same_ticks is None
        if replacement is not None:
            assert f"{replacement!r}" in findings[0].suggestion
            assert CronExpression(replacement, dialect).dialect == dialect

    @pytest.mark.parametrize(("code", "dialect", "text", "replacement"), REFUSED)
    def test_the_first_message_is_that_of_the_refusal(self, code, dialect, text, replacement):
        assert refused(text, dialect)[0].message == str(refusal(text, dialect))

    def test_every_code_of_the_table_is_found_here(self):
        table = mend_module.__doc__
        assert {code for code, *_ in REFUSED} == set(mend_module._ADVICE)
        assert all(code.split("-")[0] in table for code in mend_module._ADVICE)

    def test_several_habits_in_one_text_are_mended_together(self):
        findings = refused("0 22-2 1 sept 0")
        assert [finding.code for finding in findings] == [
            *("descending-range", "unknown-name", "weekday-zero")
        ]
        assert {finding.replacement for finding in findings} == {"0 22-23,0-2 1 SEP SUN"}

    def test_the_released_server_is_mended_like_the_documented_format(self):
        assert refused("0 0 * * 0", RELEASED)[0].replacement == "0 0 * * SUN"

    def test_nothing_is_offered_that_was_not_compiled(self):
        findings = lint_refused(refusal("0 0 * * 0"))
        assert findings[0].code == "weekday-zero"
        assert findings[0].replacement is None

    @pytest.mark.parametrize(
        "token", ["22-2", "SAT-MON", "FRI-TUE", "5-1", "NOV-FEB", "28-3", "22-2/3", "59-0"]
    )
    def test_a_descending_range_is_written_with_the_values_of_quartz(self, token):
        place = 5 if token[0] in "SF" else 4 if token[0] == "N" else 3 if token[:2] == "28" else 1
        wanted = ["0", "0", "0", "?", "*", "*"]
        wanted[place] = token
        if place == 3:
            wanted[5] = "?"
        quartz = CronExpression(" ".join(wanted), "quartz")
        ours = CronExpression(refused(" ".join(wanted))[0].replacement)
        assert chain(ours, NOW) == chain(quartz, NOW)


ALPHABET = st.text("0123456789*?,-/LW#@ \tMONFRIsatjanH", max_size=30)
PIECE = st.sampled_from(
    [
        *("*", "?", "0", "1", "5", "7", "22-2", "1-5", "*/7", "*/90", "/5", "MON", "SAT-MON"),
        *("MON/2", "sept", "L", "LW", "15W", "6L", "2#4", "0-4", "H", "*/0", "JAN-3", "29", "31"),
        *("2027", "-1"),
    ]
)
TEXTS = ALPHABET | st.lists(PIECE, min_size=4, max_size=8).map(" ".join)
DIALECTS = st.sampled_from(["resonate", RELEASED, "quartz"])


class TestLaws:
    @given(TEXTS, DIALECTS, st.none() | st.integers(0, 4_000_000_000_000))
    @settings(max_examples=300)
    def test_every_text_is_judged_and_every_offer_holds(self, text, dialect, now):
        try:
            cron = CronExpression(text, dialect)
        except CronError as error:
            findings = lint_refused(error, CronExpression, dialect)
            assert findings
            for finding in findings:
                assert finding.code in mend_module._ADVICE
                assert finding.replacement is None or CronExpression(finding.replacement, dialect)
            return
        for finding in lint(cron, now):
            assert finding.message.isprintable()
            assert finding.suggestion.isprintable()
            if finding.replacement is None:
                assert finding.same_ticks is None
                continue
            instead = CronExpression(finding.replacement, dialect)
            same = chain(cron, -1, 50) == chain(instead, -1, 50)
            # A difference may come after fifty ticks, sameness holds for all.
            assert same or not finding.same_ticks

    @given(TEXTS, DIALECTS)
    def test_no_code_comes_twice(self, text, dialect):
        try:
            findings = lint(CronExpression(text, dialect), NOW)
        except CronError as error:
            findings = lint_refused(error, CronExpression, dialect)
        # A field may have its own finding, of steps.
        once = [f.code for f in findings if "step" not in f.code]
        assert len(once) == len(set(once))


class TestHostile:
    @pytest.mark.parametrize(
        "text",
        [
            "*/90," * 2_000 + "1 * * * *",
            "0 0 * * " + "1," * 5_000 + "5",
            "0 0 31," + "31," * 3_000 + "31 * FRI",
            "0,1," * 2_500 + "*/7 * * * *",
            "*" * 6,
            "*/" + "0" * 5_000 + "7 * * * *",
            "0 0 * * " + "0" * 5_000 + "5",
        ],
    )
    def test_a_long_list_has_few_short_findings(self, text):
        findings = lint(CronExpression(text), NOW)
        assert len(findings) < 10
        assert all(len(f.message) < 500 and len(f.suggestion) < 500 for f in findings)

    @pytest.mark.parametrize(
        "text",
        [
            "<script>alert(1)</script>",
            "\u202e0 9 * * 1-5",
            "\x1b[2J 9 * * 0",
            "0 0 * * " + "0," * 5_000 + "0",
            "0 22-2," + "22-2," * 2_000 + "1 * * *",
            "x" * 10_000,
            "- " * 5_000,
            "\ud800 * * * *",
            "0 0 * * 99999999999999999999-1",
            "0 0 * * MON-" + "9" * 5_000,
            "*/" + "9" * 5_000 + " 22-2 * * 0",
        ],
    )
    def test_refused_texts_are_judged_and_quoted_safely(self, text):
        for finding in refused(text):
            assert finding.message.isprintable()
            assert finding.suggestion.isprintable()
            assert len(finding.message) < 600
            assert len(finding.suggestion) < 400


def test_a_finding_is_a_value():
    one = Finding("code", "info", "message", "suggestion")
    assert one == Finding("code", "info", "message", "suggestion")
    assert one.replacement is None
    with pytest.raises(AttributeError):
        one.code = "other"


def test_the_field_names_are_those_of_the_refusals():
    assert refusal("0 0 0 1 1 * 2200").field == FIELD_NAMES[6]
    assert refusal("0 0 54 * *").field == FIELD_NAMES[3]
