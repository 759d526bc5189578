"""The checks of the course's exercises: right or not yet, with a hint, never the solution.

In a notebook the pupil writes an answer in place of the dots, and runs the cell::

    answer = ...
    check("outage-messages", answer)

The exercises stand in exercises.toml. What is right is stored there as a fingerprint, so that
no page shows it; a teacher who changes an exercise asks `fingerprint` for the new one.
"""

import hashlib
import re
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from importlib.resources import files
from operator import index
from typing import Any, Final, cast

from resonate_lab._html import escape
from resonate_lab.cron import CronError, CronExpression
from resonate_lab.errors import ResonateLabError
from resonate_lab.instants import duration_ms, instant_ms

__all__ = ["Verdict", "check", "exercises", "fingerprint"]

_COLOURS: Final = {True: "#2a9d5c", False: "#d9822b", None: "#888888"}
#: Two expressions are taken as one if this many ticks from here on are the same.
_START_MS: Final = 1_704_067_200_000
_TICKS: Final = 500


@dataclass(frozen=True)
class Verdict:
    """How an answer stands.

    Attributes
    ----------
    right : bool or None
        None as long as there is no answer
    words : str
        one or two sentences for the pupil
    """

    right: bool | None
    words: str

    def __repr__(self) -> str:
        """Return the words."""
        return self.words

    def _repr_html_(self) -> str:
        style = f"border-left:4px solid {_COLOURS[self.right]};padding:0.3em 0.8em;margin:0.3em 0"
        words = re.sub("`([^`]+)`", r"<code>\1</code>", escape(self.words, None))
        return f'<div role="note" style="{style}">{words}</div>'


@cache
def exercises() -> dict[str, dict[str, Any]]:
    """Return the exercises by name: what each asks for, its fingerprints, its hints."""
    text = files("resonate_lab").joinpath("exercises.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def check(name: str, answer: object) -> Verdict:
    """Say whether an answer is right.

    Parameters
    ----------
    name : str
        of the exercise, as the notebook gives it
    answer : object
        what the exercise asks for; ``...``, None and an empty text are no answer yet

    Returns
    -------
    Verdict
        an answer that cannot be read is not right, and told why

    Raises
    ------
    ValueError
        there is no such exercise

    Examples
    --------
    >>> check("weekday-weekend", ...)
    No answer yet: write yours in place of the dots, and run the cell.
    >>> check("weekday-weekend", "15 7 * * SAT,SUN").right
    True
    >>> check("weekday-weekend", "15 7 * * 1,7").right  # the same days in numbers
    True
    >>> check("weekday-weekend", "15 7 * * MON").right
    False
    """
    exercise = _exercise(name)
    if answer is ... or answer is None or (isinstance(answer, str) and not answer.strip()):
        return Verdict(None, "No answer yet: write yours in place of the dots, and run the cell.")
    try:
        found = fingerprint(name, answer)
    except TypeError as error:
        return Verdict(False, f"Not yet. The answer is {error}.")
    except (ResonateLabError, ValueError) as error:
        return Verdict(False, f"Not yet. This cannot be read: {error}.")
    if found == exercise["right"]:
        return Verdict(True, f"Right. {exercise['why']}".rstrip())
    return Verdict(False, f"Not yet. {exercise.get('mistakes', {}).get(found, exercise['hint'])}")


def fingerprint(name: str, answer: object) -> str:
    """Return what is stored of an answer to an exercise.

    Answers that say the same have the same fingerprint, however they are written.

    Raises
    ------
    ValueError
        there is no such exercise, or the text is no cron expression, duration or instant
    TypeError
        the answer is of another type than the exercise asks for
    """
    normal = _NORMAL[_exercise(name)["asks"]](answer)
    return hashlib.sha256(f"{name}: {normal}".encode()).hexdigest()[:12]


def _exercise(name: str) -> dict[str, Any]:
    known = exercises()
    if name not in known:
        raise ValueError(f"no exercise is called {name!r}; write one of {', '.join(known)}")
    return known[name]


# Each returns what all answers that say the same have in common. A TypeError completes the
# sentence "The answer is ...".


def _number(answer: object) -> str:
    if isinstance(answer, float) and answer.is_integer():
        answer = int(answer)  # a count that went through a division or a table
    try:
        number = index(cast(int, answer))
    except TypeError:
        number = None
    if number is None or isinstance(answer, bool):
        raise TypeError("a whole number, without quotes")
    # Python writes no decimal digits of a number that is too long.
    return str(number) if abs(number) < 2**63 else hex(number)


def _text(answer: object) -> str:
    if not isinstance(answer, str):
        raise TypeError("a text, in quotes")
    return answer.strip()


def _word(answer: object) -> str:
    return _text(answer).lower()


def _cron(answer: object) -> str:
    ticks = CronExpression(_text(answer)).fires_ms(_START_MS, _TICKS)
    return ",".join(map(str, ticks.tolist()))


def _weekday(answer: object) -> str:
    try:
        name = _text(answer)
        if name.isalpha():  # a number is what the pupil is to read
            return _cron(f"0 0 * * {name}")
    except (TypeError, CronError):
        pass
    raise TypeError("the English name of a weekday, in quotes")


def _duration(answer: object) -> str:
    if not isinstance(answer, str | timedelta):
        raise TypeError('a duration with its unit, in quotes, such as "3h"')
    return str(duration_ms(answer, "the answer"))


def _instant(answer: object) -> str:
    try:
        return str(instant_ms(cast(str, answer), "the answer"))
    except TypeError:
        raise TypeError('an instant, in quotes, such as "2024-01-01 12:00"') from None


def _names(answer: object) -> str:
    if isinstance(answer, str) or not isinstance(answer, Iterable):
        raise TypeError("a list of texts, in square brackets")
    return "\n".join(sorted({_word(name) for name in answer}))


_NORMAL: Final[dict[str, Callable[[object], str]]] = {
    "cron": _cron,
    "duration": _duration,
    "instant": _instant,
    "names": _names,
    "number": _number,
    "text": _text,
    "weekday": _weekday,
    "word": _word,
}
