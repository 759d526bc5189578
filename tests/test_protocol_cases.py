"""The rows P01 to P10 of public reports, as in tests/data/cases.jsonl: the wire, by profile."""

import json

import pandas as pd
import pytest
from wire import DAY, MINUTE, PROFILES, SECOND, TARGETED, Client, T

from resonate_lab.protocol.profile import PROFILES as RULES

RELEASED = ("server", "reference")  # what bears the released server's cron


def ms(text):
    return pd.Timestamp(text, tz="UTC").value // 1_000_000


def logical_times(client):
    """Return the ticks that fired, by the promises that they created, ascending."""
    return sorted(int(name.rpartition("-")[2]) for name in client.ids())


@pytest.mark.parametrize("profile", PROFILES)
def test_p01_a_second_create_is_answered_with_the_first_schedule_unchanged(profile):
    client = Client(profile)
    first = client.schedule(cron="0 9 * * *")
    client.now += MINUTE
    status, again = client.create(cron="*/5 * * * *", promiseTimeout=1, promiseTags=TARGETED)
    assert (status, again) == (200, {"schedule": first})
    assert client.stored_schedule() == first
    assert first["nextRunAt"] == ms("2024-01-01 09:00")


class TestP03:
    """An outage of twelve ticks of every ten minutes, promises of half an hour."""

    UP = ms("2024-03-01 02:07:30")
    DUE = [ms("2024-03-01 00:10") + n * 10 * MINUTE for n in range(12)]

    def caught_up(self, profile):
        client = Client(profile, ms("2024-03-01 00:05"))
        client.schedule(promiseTimeout=30 * MINUTE)
        client.tick(self.UP)
        while RULES[profile].catch_up != "every tick" and len(client.ids()) < len(self.DUE):
            client.tick(client.now + SECOND)
        return client

    @pytest.mark.parametrize("profile", ["standard", "server"])
    def test_p03_nine_are_born_timed_out_and_silent_and_three_are_pending(self, profile):
        client = self.caught_up(profile)
        stored = client.stored()
        born_settled = {
            f"s-{tick}": ("rejected_timedout", tick + 30 * MINUTE) for tick in self.DUE[:9]
        }
        pending = {f"s-{tick}": ("pending", None) for tick in self.DUE[9:]}
        found = {name: (p["state"], p.get("settledAt")) for name, p in stored.items()}
        assert found == born_settled | pending
        assert set(client.messages()) == set(pending)

    def test_p03_the_reference_model_compares_the_tick_so_that_all_twelve_are_pending(self):
        client = self.caught_up("reference")
        assert [p["state"] for p in client.promises()] == ["pending"] * 12
        assert len(client.messages()) == 12


@pytest.mark.parametrize("profile", RELEASED)
def test_p05_a_cron_without_a_date_is_accepted_and_fires_every_minute(profile):
    client = Client(profile)
    assert client.schedule(cron="0 0 30 2 *")["nextRunAt"] == T + MINUTE
    for n in (1, 2, 3):
        client.tick(T + n * MINUTE)
        assert logical_times(client) == [T + k * MINUTE for k in range(1, n + 1)]
        assert client.stored_schedule()["nextRunAt"] == T + (n + 1) * MINUTE


@pytest.mark.parametrize("profile", ["standard", "spec"])
def test_p05_the_documents_profiles_refuse_it_and_say_why(profile):
    status, text = Client(profile).create(cron="0 0 30 2 *")
    assert status == 400
    assert "never fires" in text


@pytest.mark.parametrize("profile", RELEASED)
def test_p06_a_year_that_is_to_come_fires_every_minute_before_and_after_its_one_tick(profile):
    created, once = ms("2024-12-31 20:27:53"), ms("2025-01-02 09:00")
    client = Client(profile, created)
    client.schedule(cron="0 0 9 2 1 * 2025")
    client.engine.run_until(once + 3 * MINUTE + SECOND)
    spurious = [created + n * MINUTE for n in range(1, 214)]
    assert spurious[-1] == ms("2025-01-01 00:00:53")
    after = [once + n * MINUTE for n in range(1, 4)]
    assert logical_times(client) == [*spurious, once, *after]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    ("now", "following"),
    [
        ("2024-01-02 08:59:59.999", "2024-01-02 09:00"),
        ("2024-01-02 09:00:00.000", "2024-01-03 09:00"),
        ("2024-01-02 09:00:00.500", "2024-01-03 09:00"),
    ],
)
def test_p07_the_next_run_is_strictly_after_the_second_of_now(profile, now, following):
    assert Client(profile, ms(now)).schedule(cron="0 9 * * *")["nextRunAt"] == ms(following)


@pytest.mark.parametrize("profile", RELEASED)
def test_p07_the_minute_of_a_cron_without_a_date_keeps_the_milliseconds(profile):
    assert Client(profile, T + 7).schedule(cron="0 0 30 2 *")["nextRunAt"] == T + 7 + MINUTE


class TestP08:
    # The specification lacks the first two rules, as docs/profiles.md says.
    OF_THE_SERVER = [
        ({"id": "a.b"}, "Schedule ID must not contain '.'"),
        ({"promiseTags": {}}, "promiseTags must include a resonate:target tag"),
    ]
    OF_ALL = [
        ({"promiseTimeout": -1}, "Promise timeout must be a non-negative integer"),
        ({"cron": ""}, "Cron expression is required"),
        ({"cron": "0 9 * * 0"}, "Invalid cron expression"),
    ]

    @pytest.mark.parametrize("profile", ["standard", "server", "reference"])
    @pytest.mark.parametrize(("data", "text"), OF_THE_SERVER + OF_ALL)
    def test_p08_a_schedule_at_fault_is_refused_with_its_text(self, profile, data, text):
        client = Client(profile)
        assert client.create(**data) == (400, text)
        assert len(client.engine.schedules) == 0

    @pytest.mark.parametrize(("data", "text"), OF_ALL)
    def test_p08_the_specification_refuses_what_it_has_a_rule_for(self, data, text):
        assert Client("spec").create(**data) == (400, text)

    @pytest.mark.parametrize("data", [data for data, _ in OF_THE_SERVER])
    def test_p08_the_specification_accepts_the_rest(self, data):
        assert Client("spec").create(**data)[0] == 200


@pytest.mark.parametrize("profile", PROFILES)
def test_p09_a_template_takes_the_id_and_the_tick_and_nothing_else(profile):
    tick = ms("2026-07-13 21:34:06")
    client = Client(profile, tick - DAY)
    template = "report.{{.id}}.{{.timestamp}}"
    client.schedule("nightly", "6 34 21 13 7 *", promiseId=template)
    client.schedule("other", "6 34 21 13 7 *", promiseId="{{ .id }}.{{.cron}}.{{.timestamp}}")
    client.tick(tick)
    assert tick == 1_783_978_446_000
    assert set(client.ids()) == {
        "report.nightly.1783978446000",
        "{{ .id }}.{{.cron}}.1783978446000",
    }


@pytest.mark.parametrize("profile", RELEASED)
def test_p10_a_clock_past_2100_is_mapped_to_a_like_year(profile):
    client = Client(profile, ms("2150-06-15"))
    assert client.schedule(cron="0 0 1 * *")["nextRunAt"] == ms("2150-07-01")


def test_every_row_about_the_wire_or_an_outage_is_claimed_by_a_test(root):
    lines = (root / "tests" / "data" / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["dialect"] in ("protocol", "whatif")]
    sources = [path.read_text(encoding="utf-8") for path in (root / "tests").glob("test_*.py")]
    unclaimed = [
        row["id"]
        for row in rows
        if not any(f"def test_{row['id'].lower()}_" in source for source in sources)
    ]
    assert len(rows) == 22
    assert unclaimed == []
