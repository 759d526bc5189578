"""The ticks of a fleet in bins, and which schedules they are of."""

import pandas as pd

from resonate_lab.instants import instant_ms
from resonate_lab.whatif.bins import Bins
from resonate_lab.whatif.tally import ask, tallied

DAY = 86_400_000


def fleet(*crons):
    return pd.DataFrame({"id": [f"s{n}" for n in range(len(crons))], "cron": crons})


class TestTally:
    def test_the_progress_bar_sees_each_distinct_expression_once(self):
        seen = []
        weights = ask(fleet("@daily", "@hourly", "@daily"), "resonate").weights()
        found = tallied(weights, Bins(0, 0, DAY), lambda numbers: seen.extend(numbers) or numbers)
        assert seen == [0, 1]
        assert found.tolist() == [3]

    def test_makers_are_those_of_the_released_servers_chain_from_the_windows_start(self):
        asked = ask(fleet("0 0 0 * * * 2025", "0 0 12 * * *"), "resonate-0.9.8")
        bins = Bins(instant_ms("2024-06-15"), instant_ms("2025-12-31"), DAY)
        begins = [instant_ms(day) for day in ("2025-06-14", "2025-06-15")]
        before, since = asked.makers(bins, begins)
        assert before.ids.tolist() == ["s1"]
        assert since.ids.tolist() == ["s0", "s1"]
        assert tallied(asked.weights(), bins).argmax() == (begins[1] - bins.origin) // DAY
