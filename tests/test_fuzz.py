"""The fuzzer, for a few seconds; ``make fuzz`` sends 10,000,000 bytes."""

import pytest
from fuzz_engine import Fuzzer, fuzz
from wire import PROFILES

from resonate_lab.protocol.requests import REQUESTS


@pytest.mark.parametrize("profile", PROFILES)
def test_nothing_raises_hangs_or_breaks_a_law(profile):
    tally = fuzz(profile, 150_000)
    assert tally.bytes >= 150_000
    assert tally.checks >= 50
    # It would prove little if all were refused at the door.
    assert sum(n for status, n in tally.statuses.items() if status < 400) >= tally.requests / 5
    assert {200, 400, 404, 409} <= tally.statuses.keys()


def test_it_follows_from_its_seed():
    one, again, other = (Fuzzer("standard", seed) for seed in (1, 1, 2))
    texts = [[fuzzer.message() for _ in range(50)] for fuzzer in (one, again, other)]
    assert texts[0] == texts[1] != texts[2]


def test_it_knows_every_member_of_every_kind():
    fuzzer = Fuzzer("standard", 0)
    for kind in sorted(REQUESTS) * 50:
        # Of a member that it does not know it says so.
        assert isinstance(fuzzer.data(kind, "o"), dict)
