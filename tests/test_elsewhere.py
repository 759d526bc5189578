"""elsewhere: the grammars of EventBridge, Kubernetes and Airflow, where they leave the crontab."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resonate_lab.cron import CronExpression
from resonate_lab.cron.elsewhere import (
    SYSTEMS,
    ElsewhereError,
    Interval,
    interval_texts,
    system_reading,
)

DAY = 86_400_000


def read(text, system):
    return system_reading(text, system, CronExpression)


@pytest.mark.parametrize(
    ("text", "system", "either"),
    [
        ("0 0 */2 * 1", "kubernetes", True),
        ("0 0 */1 * 1", "kubernetes", False),
        ("0 0 ? * 1", "kubernetes", False),
        ("0 0 1,*/2 * 1", "kubernetes", True),
        ("0 0 1,* * 1", "kubernetes", False),
        ("0 0 */2 * 1", "airflow", True),
        ("0 0 * * 1", "airflow", False),
        ("0 0 1,*/3 * SUN-SAT", "airflow", False),
    ],
)
def test_which_stars_join_the_day_fields(text, system, either):
    assert read(text, system).either is either


@pytest.mark.parametrize(
    ("years", "first", "last", "count"),
    [
        ("2026-2199", 2026, 2099, 74),
        ("2026-2199/2", 2026, 2098, 37),
        ("2026,2150", 2026, 2026, 1),
        ("2150-2160,2027,2030-2100", 2027, 2099, 71),
    ],
)
def test_years_of_eventbridge_are_taken_up_to_2099(years, first, last, count):
    found = read(f"cron(0 9 ? * MON-FRI {years})", "aws").years
    assert (found[0], found[-1], len(found)) == (first, last, count)


def test_numbers_of_kubernetes_may_have_a_plus():
    assert read("+5 */+6 * * *", "kubernetes").times == ((0, 6, 12, 18), (5,), (0,))


@pytest.mark.parametrize(
    ("text", "system", "seconds"),
    [
        ("rate(1 minute)", "aws", 60),
        ("rate(12 hours)", "aws", 43_200),
        ("@every 1h30m", "kubernetes", 5_400),
        ("@every 1.5h", "kubernetes", 5_400),
        ("@every 500ms", "kubernetes", 1),
        ("1 day, 0:00:00", "airflow", 86_400),
        ("datetime.timedelta(hours=2, minutes=5)", "airflow", 7_500),
    ],
)
def test_intervals(text, system, seconds):
    found = read(text, system)
    assert isinstance(found, Interval)
    assert found.seconds == seconds


@pytest.mark.parametrize(
    ("text", "system", "says"),
    [
        ("at(2027-01-01T00:00:00)", "aws", "fires once"),
        ("rate(0 minutes)", "aws", "no rate"),
        ("rate(5 weeks)", "aws", "no rate"),
        ("cron(0 9 * * ?)", "aws", "six"),
        ("cron(0 9 * * * *)", "aws", "'[?]'"),
        ("cron(0 9 ? * MON-FRI *", "aws", "lacks a bracket"),
        ("0 9 ? * MON-FRI *)", "aws", "lacks a bracket"),
        ("cron(0 9 ? * MON-FRI 2150-2199)", "aws", "no year before 2100"),
        ("cron(0 9 ? * MON-FRI 2150/2,2199)", "aws", "no year before 2100"),
        ("cron(0 9 ? * MON-FRI 2200)", "aws", "outside 1970-2099"),
        ("", "aws", "waits for events"),
        ("0 0 * * 7", "kubernetes", "0 to 6"),
        ("0 22-2 * * *", "kubernetes", "ascend"),
        ("*/0 * * * *", "kubernetes", "steps"),
        (", * * * *", "kubernetes", "empty"),
        ("0 0 9 * * *", "kubernetes", "six|6 fields"),
        ("@Daily", "kubernetes", "1 fields"),
        ("@every soon", "kubernetes", "length of time"),
        ("@every " + "1h" * 5_000, "kubernetes", "length of time"),
        ("None", "airflow", "no schedule"),
        ("@continuous", "airflow", "has ended"),
        ("0:00:00", "airflow", "positive"),
        ("H 3 * * *", "airflow", "at random"),
    ],
)
def test_what_names_no_times_is_refused_in_one_sentence(text, system, says):
    with pytest.raises(ElsewhereError, match=says) as caught:
        read(text, system)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


@given(st.text(max_size=40), st.sampled_from(sorted(SYSTEMS)))
def test_any_text_is_read_or_refused(text, system):
    said = ""
    try:
        read(text, system)
    except ElsewhereError as error:
        said = str(error)
    assert not said or said.isprintable()


@pytest.mark.parametrize("seconds", [n for n in range(1, 86_401) if 86_400 % n == 0])
def test_an_interval_keeps_its_distance_past_midnight(seconds):
    texts = interval_texts(seconds)
    ticks = np.sort(
        np.concatenate([CronExpression(t).between_ms(DAY, 3 * DAY) for t in texts] or [[]])
    )
    assert not texts or set(np.diff(ticks)) == {seconds * 1000}


def test_what_divides_no_day_has_no_text():
    assert all(interval_texts(n) == () for n in (0, -5, 7, 420, 86_401, 2 * 86_400, 10**9))
