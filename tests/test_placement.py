"""The greedy search: who moves hangs on the id, and the ground is the load at every moment."""

import numpy as np
import pandas as pd

from resonate_lab.whatif.bins import Bins
from resonate_lab.whatif.placement import Ground
from resonate_lab.whatif.tally import ask, tallied

NOW = 1_704_067_200_000  # 2024-01-01T00:00:00Z, a Monday
BINS = Bins(NOW, NOW + 86_400_000, 60_000)


class TestGround:
    def settled(self, may_move):
        frame = pd.DataFrame({"id": ["s0", "s1", "s2", "s3"], "cron": ["0 9 * * MON-FRI"] * 4})
        asked = ask(frame, "resonate")
        ground = Ground(BINS, tallied(asked.weights(), BINS), bound=2, within=10)
        moves, complete = ground.settle(asked, np.array(may_move), iter)
        assert complete
        crons = [moves[row][1] if row in moves else asked.expressions[row] for row in range(4)]
        after = tallied(asked._replace(expressions=crons).weights(), BINS)
        assert ground.counts.tolist() == after.tolist()
        return {row: move.minutes for row, move in moves.items()}

    def test_moves_by_the_hash_of_the_id_on_every_machine(self):
        assert self.settled([True] * 4) == {1: 3, 2: 9}

    def test_leaves_alone_what_may_not_move(self):
        assert self.settled([True, False, True, False]).keys() == {0, 2}
