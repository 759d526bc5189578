"""Crontabs as they lie on machines: a user's, and those of the system with a user column.

Lines are read as cronie reads them. Settings (``MAILTO=root``) start nothing; ``CRON_TZ`` is
the zone of the lines after it. A ``%`` of a command ends it, and what follows is its input;
``\\%`` is a percent sign.
"""

from __future__ import annotations

import re
from pathlib import PurePath

from resonate_lab.errors import FleetError

__all__ = ["entries", "is_crontab", "is_system"]

_SETTING = re.compile(r"""(["']?)(\w+)\1\s*=\s*(.*)""")
# The comment over the columns that Debian's, Red Hat's and FreeBSD's /etc/crontab begin with.
_USER_COLUMN = re.compile(r"^#.*\b(?:user(?:-?name)?|who)\s+command\b", re.MULTILINE)
# Numbers and names of three letters, which neither a header nor the cells of a CSV are.
_FIELD = re.compile(r"(?:[\d*,/~-]|\b[a-z]{3}\b)+", re.IGNORECASE | re.ASCII)


def is_crontab(text: str) -> bool:
    """Return whether the first line that is neither a comment nor a setting is a crontab's."""
    lines = (line.strip() for line in text.split("\n"))
    written = (line for line in lines if line and not line.startswith("#"))
    words = next((line for line in written if not _SETTING.fullmatch(line)), "").split(None, 5)
    if words and words[0].startswith("@"):
        return len(words) > 1 and words[0][1:].isalpha()
    return len(words) == 6 and all(map(_FIELD.fullmatch, words[:5]))


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
