"""Zones and their stretches of constant offset, held against the zone database."""

from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from places import PLACES

from resonate_lab.cron.offsets import ZoneError, stretches, zone_named


class TestStretches:
    @pytest.mark.parametrize(("zone", "year"), PLACES)
    def test_they_cover_the_year_and_offsets_are_the_databases(self, zone, year):
        parts = stretches(zone, year)
        assert [p.end_ms for p in parts[:-1]] == [p.start_ms for p in parts[1:]]
        assert all(a.offset != b.offset for a, b in pairwise(parts))
        for part in parts:
            for at in (part.start_ms, part.end_ms - 1000):
                moment = datetime.fromtimestamp(at // 1000, ZoneInfo(zone))
                assert moment.utcoffset().total_seconds() == part.offset

    def test_ramadan_gives_casablanca_more_than_two_changes_or_as_many(self):
        assert len(stretches("Africa/Casablanca", 2026)) == 3
        assert len(stretches("Africa/Casablanca", 2030)) >= 3


class TestRejects:
    @pytest.mark.parametrize(
        ("name", "close"),
        [
            ("Europe/Berln", "Europe/Berlin"),
            ("Berlin", "Europe/Berlin"),
            ("new york", "America/New_York"),
            ("america/new_york", "America/New_York"),
            ("Asia/Calcuta", "Asia/Calcutta"),
            ("utc", "UTC"),
            ("GMT+2", "'Etc/GMT-2' if it is UTC+02:00"),
            ("-05:00", "'Etc/GMT+5' if it is UTC-05:00"),
            ("UTC+5:30", "an offset is no name"),
            ("GMT+15", "an offset is no name"),
            ("../etc/passwd", "'Europe/Berlin' or 'UTC'"),
            ("", "'Europe/Berlin' or 'UTC'"),
            ("x" * 10_000, "'Europe/Berlin' or 'UTC'"),
        ],
    )
    def test_an_unknown_zone_names_a_close_one(self, name, close):
        with pytest.raises(ZoneError) as caught:
            zone_named(name)
        assert close in str(caught.value)
        assert len(str(caught.value)) < 250

    @pytest.mark.parametrize("name", [None, 1, UTC, b"UTC"])
    def test_a_zone_is_a_text(self, name):
        with pytest.raises(TypeError, match="Europe/Berlin"):
            zone_named(name)

    @pytest.mark.parametrize("year", [1970, 2100, -1, 10**30])
    def test_a_year_outside_the_calendar_is_refused(self, year):
        with pytest.raises(ZoneError, match="1971-2099"):
            stretches("UTC", year)

    @pytest.mark.parametrize("year", [True, 2026.0, "2026", None])
    def test_a_year_is_an_int(self, year):
        with pytest.raises(TypeError, match="as 2026"):
            stretches("UTC", year)
