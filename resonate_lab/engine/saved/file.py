"""An engine in a file: written whole or not at all, read whole or refused.

The file is text, two lines of JSON: a head with format, version, length and checksum, and
the content (`content.py` says what that is). Nothing in it is executed when it is read.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn

from resonate_lab._html import plain
from resonate_lab.engine.internal import collector_paused
from resonate_lab.engine.runs import Runs
from resonate_lab.engine.saved.columns import DamageError
from resonate_lab.engine.saved.content import content_of, restored
from resonate_lab.engine.state import State
from resonate_lab.errors import SavedStateError

__all__ = ["VERSION", "load", "save"]

_FORMAT: Final = "resonate_lab engine"
#: Version of the content; another one is refused.
VERSION: Final = 1
#: Bytes of a head, by far.
_HEAD_LIMIT: Final = 400
_WRITABLE: Final = 0o222


def save(state: State, runs: Runs, path: str | os.PathLike[str]) -> None:
    """Write a state and its runs to a file, in place of the one that is there.

    The file is written beside its place, flushed to the disk, and then moved there: at
    every moment one finds the old file or the new one. A process that is killed on the
    way leaves a file ``.resonate-*.part`` behind, which may be deleted.

    Raises
    ------
    OSError
        the file cannot be written; one that is read-only is not replaced
    """
    with collector_paused():
        body = json.dumps(content_of(state, runs), separators=(",", ":")).encode()
    # The file that a link leads to, or the link would be replaced.
    target = Path(os.path.realpath(path))
    # Moving another file into its place needs no leave of the file itself.
    if target.exists() and not target.stat().st_mode & _WRITABLE:
        raise PermissionError(errno.EACCES, "it is read-only", os.fspath(path))
    part = target.with_name(f".resonate-{secrets.token_hex(8)}.part")
    try:
        with open(part, "xb") as file:
            file.write(_head(body))
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            shutil.copymode(target, part)
        os.replace(part, target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Flush the folder's entries, where the system has such a thing."""
    if os.name == "posix":
        entry = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(entry)
        finally:
            os.close(entry)


def load(path: str | os.PathLike[str]) -> tuple[State, Runs]:
    """Return the state and its runs that a file holds.

    Raises
    ------
    SavedStateError
        the file is foreign, of another version, cut short or damaged
    OSError
        the file cannot be read
    """
    with open(path, "rb") as file:
        head = file.readline(_HEAD_LIMIT)
        body = file.read()
    name = plain(os.fspath(path), 200)
    _check_head(name, head, body)
    try:
        with collector_paused():
            return restored(json.loads(body, parse_constant=_refuse_constant))
    except DamageError as err:
        reason = str(err)
    except (ValueError, RecursionError) as err:
        reason = f"its content is not JSON ({err})"
    raise SavedStateError(f"{name!r} holds no state that an engine can have: {reason}")


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


def _head(body: bytes) -> bytes:
    digest = hashlib.sha256(body).hexdigest()
    head = {"format": _FORMAT, "version": VERSION, "bytes": len(body), "sha256": digest}
    return json.dumps(head).encode() + b"\n"


def _check_head(name: str, head: bytes, body: bytes) -> None:
    """Refuse a file whose head does not belong to its body."""
    try:
        told = json.loads(head)
    except (ValueError, RecursionError):
        told = None
    if type(told) is not dict or told.get("format") != _FORMAT:
        raise SavedStateError(
            f"{name!r} is no saved engine, for it begins with {head[:40]!r}; give a file that "
            "Engine.save wrote"
        )
    if told.get("version") != VERSION:
        raise SavedStateError(
            f"{name!r} is a saved engine of version {plain(told.get('version'))}, and this release "
            f"reads version {VERSION}; load it with the release that saved it"
        )
    if told.get("bytes") != len(body):
        raise SavedStateError(
            f"{name!r} is cut short or was added to: {len(body):,} bytes follow its head, which "
            f"tells of {plain(told.get('bytes'))}; take an older copy"
        )
    if head != _head(body):
        raise SavedStateError(
            f"{name!r} is damaged: its checksum is not that of its content; take an older copy"
        )
