"""Crontabs as they lie on machines: a user's, and those of the system with a user column.

Lines are read as cronie reads them. Settings (``MAILTO=root``) start nothing; ``CRON_TZ`` is
the zone of the lines after it. A ``%`` of a command ends it, and what follows is its input;
``\\%`` is a percent sign.
"""

from __future__ import annotations

import re
from pathlib import PurePath

from resonate_lab.errors import FleetError

__all__ = ["entries", "is_system"]

_SETTING = re.compile(r"""(["']?)(\w+)\1\s*=\s*(.*)""")
# The comment over the columns that Debian's and Red Hat's /etc/crontab begin with.
_USER_COLUMN = re.compile(r"^#.*\buser(?:-?name)?\s+command\b", re.MULTILINE)

_ENTRY = re.compile(r"-?(?:@[a-zA-Z]+|[*\d][\w*/,~-]*(?:\s+[*\w][\w*/,~#?-]*){4})\s+\S")


def is_one(text: str) -> bool:
    """Return whether the first line that is neither comment nor setting starts a command."""
    for raw in text.split("\n"):
        entry = raw.strip()
        if entry and not entry.startswith("#") and not _SETTING.fullmatch(entry):
            return _ENTRY.match(entry) is not None
    return False


def is_system(path: str, text: str) -> bool:
    """Return whether a crontab surely has a user before each command."""
    file = PurePath(path)
    by_place = file.parent.name == "cron.d" or file.parts[-2:] == ("etc", "crontab")
    return by_place or _USER_COLUMN.search(text) is not None


def entries(name: str, text: str, *, system: bool) -> tuple[list[int], dict[str, list[object]]]:
    """Return the lines that start commands, and their cells by column.

    Parameters
    ----------
    name : str
        of the source, for messages
    text : str
        of the whole file
    system : bool
        True if a user stands before each command

    Returns
    -------
    list of int
        the number of each line, from 1
    dict of str to list
        ``id``, ``cron``, ``user`` (of a system's), ``command``, ``stdin`` (if any line has
        some), ``zone`` (if any line has one), ``dialect_guess``

    Raises
    ------
    FleetError
        a line has too few words, or none starts a command
    """
    lines: list[int] = []
    heads = ("id", "cron", "user", "command", "stdin", "zone", "dialect_guess")
    columns: dict[str, list[object]] = {head: [] for head in heads}
    zone = ""
    for line, raw in enumerate(text.split("\n"), 1):
        entry = raw.strip()
        if not entry or entry.startswith("#"):
            continue
        setting = _SETTING.fullmatch(entry)
        if setting:
            if setting[2] == "CRON_TZ":
                zone = setting[3].strip().strip("\"'")
            continue
        # A hyphen in front keeps SUSE's daemon from logging the start.
        entry = entry.removeprefix("-").lstrip()
        fields = 1 if entry.startswith("@") else 5
        words = entry.split(None, fields + system)
        if len(words) <= fields + system:
            user = "a user and " if system else ""
            raise FleetError(
                f"line {line} of {name} ({raw.strip()[:60]!r}) holds {len(words)} words, but a "
                f"crontab line is five fields or a word such as @daily, and then {user}a command"
            )
        command, _, stdin = _split_at_percent(words[-1])
        lines.append(line)
        columns["id"].append(f"line-{line}")
        columns["cron"].append(" ".join(words[:fields]))
        columns["user"].append(words[fields])
        columns["command"].append(command)
        columns["stdin"].append(stdin)
        columns["zone"].append(zone)
        columns["dialect_guess"].append("crontab")
    if not lines:
        raise FleetError(f"{name} holds no crontab line that starts a command")
    if not system:
        del columns["user"]
    for head in ("stdin", "zone"):
        if not any(columns[head]):
            del columns[head]
    return lines, columns


def _split_at_percent(command: str) -> tuple[str, str, str]:
    first, *rest = re.split(r"(?<!\\)%", command)
    texts = [part.replace("\\%", "%") for part in (first, "\n".join(rest))]
    return texts[0].rstrip(), "%" if rest else "", texts[1]
