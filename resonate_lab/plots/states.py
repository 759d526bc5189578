"""How the states of a tick's promise look, in every picture."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

__all__ = ["STATE_STYLE", "StateStyle", "state_codes"]


class StateStyle(NamedTuple):
    """How one state looks: its colour, its marker and its words, never colour alone."""

    color: str
    marker: str
    size: float  # points squared
    label: str


# The palette of Okabe and Ito, which stays apart in the three common colour-vision
# deficiencies; in greyscale the markers tell: filled disc, cross, hollow square.
STATE_STYLE: Mapping[str, StateStyle] = MappingProxyType(
    {
        "pending": StateStyle("#0072B2", "o", 22, "created pending, in time"),
        "rejected_timedout": StateStyle("#D55E00", "x", 14, "born expired (rejected_timedout)"),
        "resolved": StateStyle("#009E73", "s", 16, "born resolved (timer)"),
        "existing": StateStyle("#767676", "|", 22, "id existed: nothing created"),
        "lost": StateStyle("#CC79A7", "1", 26, "lost: the policy starts none"),
    }
)
"""Look of each state at creation; ``existing`` and ``lost`` stand for a missing one."""


def state_codes(ticks: pd.DataFrame) -> npt.NDArray[np.intp]:
    """Return where in `STATE_STYLE` the state of each tick stands."""
    known = pd.Index(np.array(list(STATE_STYLE), dtype=object))
    states = ticks["state"]
    codes: npt.NDArray[np.intp]
    if isinstance(states.dtype, pd.CategoricalDtype):
        place = known.get_indexer(states.cat.categories.astype(object))
        # A missing state has the code -1, which takes the last.
        codes = np.append(place, known.get_loc("existing"))[states.cat.codes.to_numpy()]
    else:
        codes = np.asarray(known.get_indexer(pd.Index(states.astype(object).fillna("existing"))))
    if "lost" in ticks:
        codes = np.where(ticks["lost"].to_numpy(dtype=bool), known.get_loc("lost"), codes)
    return codes
