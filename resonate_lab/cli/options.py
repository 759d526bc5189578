"""Parameters that several commands have: what they are called, how they are read, completed."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from zoneinfo import available_timezones

import click
from click.shell_completion import CompletionItem

import resonate_lab as rl

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "BOUND",
    "DIALECT",
    "FILE_VARIABLE",
    "FLEET",
    "JSON_OBJECT",
    "PERIOD",
    "PROFILE",
    "WIRE_DURATION",
    "ZONE",
    "Given",
    "as_json",
    "completed",
    "dialect",
    "examples",
    "instant",
    "is_address",
    "takes_file",
    "takes_fleet",
    "takes_server",
    "takes_window",
]

F = TypeVar("F", bound=Callable[..., Any])

FILE_VARIABLE = "RESONATE_LAB_FILE"
"""Environment variable that names the engine file."""

#: The dialects of `CronExpression`; spelled here, since asking it would load numpy for --help.
DIALECT = click.Choice(["resonate", "resonate-0.9.8", "quartz"])

#: The profiles of `Engine`.
PROFILE = click.Choice(["standard", "server", "reference", "spec"])

_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


class _Zone(click.ParamType):  # type: ignore[type-arg]
    """A time zone by its name; completed by what the zone database has."""

    name = "zone"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        found = (name for name in available_timezones() if name.startswith(incomplete))
        return [CompletionItem(name) for name in sorted(found)]


class _Fleet(click.ParamType):  # type: ignore[type-arg]
    """What `read_fleet` takes; completed as a file."""

    name = "fleet"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]


def completed(names: Callable[[], Iterable[str]]) -> Callable[..., list[str]]:
    """Return how a shell completes a text by names; which there are is the library's to say."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return complete


class _Period(click.ParamType):  # type: ignore[type-arg]
    """An outage, START..UP; the instants are read by the library."""

    name = "START..UP"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        start, dots, up = value.partition("..")
        if not (dots and start.strip() and up.strip()):
            self.fail(
                f"{value!r} is no outage: write START..UP, such as 2026-12-01..2026-12-01T12:00Z",
                param,
                ctx,
            )
        return start.strip(), up.strip()


class _Bound(click.ParamType):  # type: ignore[type-arg]
    """The most there may be of something; None where there may be any number."""

    name = "N|any"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | None:
        if value == "any":
            return None
        if not (value.isascii() and value.isdecimal()):
            self.fail(f"{value!r} is no number: write a whole one, 0 or more, or any", param, ctx)
        return int(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem("any")] if "any".startswith(incomplete) else []


class _WireDuration(click.ParamType):  # type: ignore[type-arg]
    """A duration as the real command line reads it: whole numbers with ms, s, m, h or d; in ms."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        rest, total = value, 0
        while rest:
            number, rest = _leading(rest, str.isdecimal)
            unit, rest = _leading(rest, str.isalpha)
            if not number.isascii() or not number or unit not in _UNITS or len(number) > 18:
                total = 0
                break
            total += int(number) * _UNITS[unit]
        if value and not 0 < total < 2**63:
            self.fail(
                f"{value!r} is no duration above zero: write whole numbers with units ms, s, m, h "
                "or d, such as 1h30m",
                param,
                ctx,
            )
        return total


def _leading(text: str, kind: Callable[[str], bool]) -> tuple[str, str]:
    end = next((at for at, letter in enumerate(text) if not kind(letter)), len(text))
    return text[:end], text[end:]


class _Json(click.ParamType):  # type: ignore[type-arg]
    """A JSON value on the command line."""

    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            read = json.loads(value)
            # Python reads NaN, Infinity and 1e400; JSON has no such numbers, nor has a worker.
            json.dumps(read, allow_nan=False)
        except (ValueError, RecursionError) as error:
            self.fail(
                f"{value[:80]!r} is no JSON ({error}): quote it for the shell, such as "
                """'{"resonate:target": "poll://any@default"}'""",
                param,
                ctx,
            )
        return read


FLEET, ZONE, PERIOD, BOUND = _Fleet(), _Zone(), _Period(), _Bound()
WIRE_DURATION, JSON_OBJECT = _WireDuration(), _Json()


def examples(*lines: str) -> str:
    """Return an epilog of command lines, kept line by line."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def as_json(function: F) -> F:
    """Add ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")(
        function
    )


def dialect(function: F) -> F:
    """Add ``--dialect``."""
    return click.option(
        "--dialect", default="resonate", show_default=True, type=DIALECT,
        help="How expressions are read.",
    )(function)  # fmt: skip


class Given(NamedTuple):
    """A fleet, and what to call it."""

    name: str
    frame: pd.DataFrame


def takes_server(function: F) -> F:
    """Add ``--token`` and ``--timeout``, for a live server."""
    token = click.option(
        "--token", envvar="RESONATE_TOKEN", show_envvar=True,
        help="For a live server; safer in the environment than on the command line.",
    )  # fmt: skip
    timeout = click.option(
        "--timeout", default="10s", show_default=True,
        help="Longest that a page of a live server may take.",
    )  # fmt: skip
    return token(timeout(function))


def takes_fleet(function: F) -> F:
    """Add the argument FLEET and how to read it; the command gets a `Given` as `fleet`."""

    @click.argument("fleet", metavar="FLEET", type=FLEET)
    @click.option(
        "--format",
        type=click.Choice(["csv", "crontab", "json", "parquet", "system-crontab", "yaml"]),
        help="Of FLEET; default: by its name, or how it begins.",
    )  # fmt: skip
    @takes_server
    @functools.wraps(function)
    def command(
        fleet: str, format: str | None, token: str | None, timeout: str, **rest: Any
    ) -> Any:
        return function(fleet=_given(fleet, format, token, timeout), **rest)

    return command  # type: ignore[return-value]


def is_address(fleet: str) -> bool:
    """Return whether a fleet is named by the address of a live server."""
    return fleet.lower().startswith(("http://", "https://"))


def _given(fleet: str, format: str | None, token: str | None, timeout: str) -> Given:
    if fleet == "-":
        return Given("stdin", rl.read_fleet(sys.stdin.buffer, format=format))
    # An address may hold what is not to be printed; reading refuses it then.
    name = "the live server" if is_address(fleet) else click.format_filename(fleet, shorten=True)
    return Given(name, rl.read_fleet(fleet, format=format, token=token, timeout=timeout))


def instant(text: str | None, name: str) -> pd.Timestamp:
    """Return an instant of the command line, the present moment where none is given."""
    import pandas as pd

    from resonate_lab.instants import instant_ms, timestamp

    return timestamp(instant_ms(pd.Timestamp.now("UTC") if text is None else text, name))


def takes_window(days: int) -> Callable[[F], F]:
    """Add ``--start`` and ``--end``; the command gets `start` and `end`, some days by default."""

    def decorated(function: F) -> F:
        @click.option("--start", metavar="INSTANT", help="Default: today, 00:00 UTC.")
        @click.option("--end", metavar="INSTANT", help=f"Default: {days} d after --start.")
        @functools.wraps(function)
        def command(start: str | None, end: str | None, **rest: Any) -> Any:
            import pandas as pd

            begin = instant(start, "start")
            if start is None:
                begin = begin.floor("D")
            last = begin + pd.Timedelta(days=days, seconds=-1) if end is None else end
            return function(start=begin, end=last, **rest)

        return command  # type: ignore[return-value]

    return decorated


def takes_file(function: F) -> F:
    """Add ``--file``, the engine file of a command."""
    return click.option(
        "--file", "file", envvar=FILE_VARIABLE, show_envvar=True, metavar="FILE",
        type=click.Path(dir_okay=False), callback=_required,
        help="The engine file; 'resonate-lab engine new FILE' makes one.",
    )(function)  # fmt: skip


def _required(ctx: click.Context, param: click.Parameter, value: str | None) -> str:
    if value is None:
        raise click.UsageError(
            f"no engine file is named: write --file FILE or set {FILE_VARIABLE}; "
            "'resonate-lab engine new FILE' makes one",
            ctx,
        )
    return value
