"""What a live server stores, read page by page over HTTP; nothing is ever written to it.

The one request that is built here is a search, so there is no way to change a server by
this module. What comes back is a stranger's: its size, its time, its pages and its text are
bounded, and a token appears in no message, no repr and no address.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import urlsplit

from resonate_lab._html import plain
from resonate_lab.errors import ServerError
from resonate_lab.instants import duration_ms, format_duration
from resonate_lab.protocol.records import PROTOCOL_VERSION

if TYPE_CHECKING:
    from ssl import SSLContext

    from resonate_lab.instants import Duration

__all__ = [
    "MAX_PAGES",
    "MAX_PAGE_BYTES",
    "MAX_TOTAL_BYTES",
    "TOKEN_VARIABLE",
    "LiveServer",
    "is_url",
]

MAX_PAGES = 10_000
"""Most pages that one search may have; ten million records."""

MAX_PAGE_BYTES = 64 * 1024 * 1024
"""Largest answer that is read; a page of 1,000 records is a fraction of it."""

MAX_TOTAL_BYTES = 1024**3
"""Largest sum of the answers to one search."""

TOKEN_VARIABLE = "RESONATE_TOKEN"
"""Environment variable that holds the token, as for the official clients."""

_PAGE = 1000  # the most that a server gives at once
_PAUSES = (0.2, 1.0)  # seconds before the second and the third attempt
_BUSY = (429, 502, 503, 504)  # statuses that pass by themselves

Word = Literal["schedule", "promise", "task"]


def is_url(source: object) -> bool:
    """Return whether a source is the address of a live server."""
    return isinstance(source, str) and re.match(r"https?://", source, re.IGNORECASE) is not None


class _Answer(NamedTuple):
    status: int  # of HTTP
    body: bytes


class LiveServer:
    """The searches of a live server.

    Parameters
    ----------
    url : str
        such as ``"http://localhost:8001"``
    token : str, optional
        default: the environment variable `TOKEN_VARIABLE`, if it is set
    timeout : duration
        longest that one page may take; three attempts are made

    Raises
    ------
    ServerError
        the address is none, or holds a name, a password or a query; the token is none
    DurationError
        the timeout is no duration, or not positive
    """

    def __init__(self, url: str, token: str | None = None, timeout: Duration = "10s") -> None:
        self._url, self.name = _address(url)
        self._token = _checked_token(os.environ.get(TOKEN_VARIABLE) if token is None else token)
        self._seconds = duration_ms(timeout, "timeout") / 1000
        if self._seconds <= 0:
            raise ServerError(f"timeout is {timeout!r}, but must be positive: write '10s'")
        self._asked = 0
        self._bytes = 0

    def __repr__(self) -> str:
        """Return the address, without the token."""
        return f"LiveServer({self.name!r})"

    def records(self, word: Word) -> Iterator[dict[str, Any]]:
        """Yield all records of a kind, in byte order of their ids, as the wire has them.

        Parameters
        ----------
        word : {"schedule", "promise", "task"}

        Raises
        ------
        ServerError
            the server cannot be reached, refuses, is too slow, or answers something else than
            the protocol has; the pages go round in a circle or have no end
        """
        try:
            import httpx
        except ImportError:
            raise ServerError(
                "reading a live server needs httpx: pip install 'resonate-lab[http]'"
            ) from None
        self._bytes = 0
        seen: set[str] = set()
        data: dict[str, object] = {"limit": _PAGE}
        context = httpx.create_ssl_context()
        for number in range(1, MAX_PAGES + 1):
            page = self._page(context, word, data)
            where = f"page {number} of {word}s of {self.name}"
            for record in self._checked(page.get(f"{word}s"), word, where):
                if record["id"] in seen:
                    raise ServerError(
                        f"{where} holds {plain(record['id'], 80)!r} again, so its pages go "
                        "round in a circle, or changed while they were read: ask once more"
                    )
                seen.add(record["id"])
                yield record
            cursor = page.get("cursor")
            if cursor is None:
                return
            if not isinstance(cursor, str) or not page[f"{word}s"]:
                raise ServerError(
                    f"{where} names the cursor {plain(repr(cursor), 80)}, but a page with "
                    "records and a text is wanted, so the rest cannot be asked for"
                )
            data = {"limit": _PAGE, "cursor": cursor}
        raise ServerError(
            f"{self.name} has more than {MAX_PAGES:,} pages of {word}s, which is more than is read "
            "at once: is that a Resonate server?"
        )

    # --- one page ------------------------------------------------------------------------

    def _page(self, context: SSLContext, word: Word, data: dict[str, object]) -> dict[str, Any]:
        self._asked += 1
        kind, corr_id = f"{word}.search", f"lab-{self._asked}"
        head = {"corrId": corr_id, "version": PROTOCOL_VERSION}
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if self._token:
            head["auth"] = self._token
            headers["Authorization"] = f"Bearer {self._token}"
        request = json.dumps({"kind": kind, "head": head, "data": data})
        answer = self._answered(context, request, headers)
        envelope = self._envelope(answer)
        found = envelope["head"]
        if found["status"] != 200:
            raise ServerError(self._refusal(kind, found["status"], envelope["data"]))
        if (envelope.get("kind"), found.get("corrId")) != (kind, corr_id):
            raise ServerError(
                f"{self.name} answered another request than {kind}: is that a Resonate server?"
            )
        if not isinstance(envelope["data"], dict):
            raise ServerError(
                f"{self.name} answered {kind} with {type(envelope['data']).__name__} in place of "
                "an object of records"
            )
        return envelope["data"]

    def _answered(self, context: SSLContext, request: str, headers: dict[str, str]) -> _Answer:
        """Return what the server says, after a pause once more if it does not or is busy."""
        import httpx
        from anyio.from_thread import start_blocking_portal

        for pause in (*_PAUSES, None):
            answer, trouble = None, ""
            try:
                # A loop in a thread of its own, since a notebook runs one in this thread; it ends
                # with the attempt, since a thread would keep a program alive.
                with start_blocking_portal() as portal:
                    answer = portal.call(self._posted, context, request, headers)
            except TimeoutError:
                trouble = (
                    f"{self.name} did not answer in full within {_shown(self._seconds)}: "
                    "give it longer with timeout="
                )
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                # The exception holds the request, and that the token: only its words are kept.
                words = self._safe(str(error) or type(error).__name__)
                trouble = f"{self.name} cannot be asked ({words}): is the server up there?"
            if answer is not None and (answer.status not in _BUSY or pause is None):
                return answer
            if pause is None:
                raise ServerError(trouble)
            time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    async def _posted(self, context: SSLContext, request: str, headers: dict[str, str]) -> _Answer:
        """Return the answer to a request; TimeoutError if it is not whole in time."""
        import httpx
        from anyio import fail_after

        # The limits of httpx are on each step, and a server that drips never exceeds one; so one
        # deadline is on everything. The path goes as the target, since httpx logs the address, and
        # what hides a server behind a path takes that for a secret.
        url = httpx.URL(self._url)
        target = {"target": url.raw_path}
        with fail_after(self._seconds):
            async with (
                httpx.AsyncClient(timeout=None, verify=context) as client,
                client.stream(
                    "POST",
                    url.copy_with(raw_path=b"/"),
                    content=request,
                    headers=headers,
                    extensions=target,
                ) as response,
            ):
                body = bytearray()
                # Raw, so that a few compressed bytes cannot become gigabytes.
                async for chunk in response.aiter_raw():
                    body += chunk
                    self._bytes += len(chunk)
                    if len(body) > MAX_PAGE_BYTES or self._bytes > MAX_TOTAL_BYTES:
                        raise ServerError(
                            f"{self.name} answers with more than {MAX_PAGE_BYTES // 2**20} MiB a "
                            f"page or {MAX_TOTAL_BYTES // 2**20} MiB in all, which is more than is "
                            "read at once: is that a Resonate server?"
                        )
                return _Answer(response.status_code, bytes(body))

    def _envelope(self, answer: _Answer) -> dict[str, Any]:
        """Return the response envelope, or raise for what is none."""
        envelope, fault = None, ""
        try:
            envelope = json.loads(answer.body.decode())
        except UnicodeDecodeError as error:
            fault = f"byte {error.start:,} of it is not UTF-8"
        except (ValueError, RecursionError):
            start = answer.body[:60].decode(errors="replace").strip()
            fault = f"it begins {plain(self._safe(start))!r}, which is no JSON"
        if isinstance(envelope, dict) and "data" in envelope:
            head = envelope.get("head")
            status = head.get("status") if isinstance(head, dict) else None
            if isinstance(status, int) and 100 <= status < 1000:
                return envelope
        if answer.status >= 300:
            raise ServerError(self._refusal("the request", answer.status, ""))
        fault = fault or "it has no kind, head and data"
        raise ServerError(
            f"{self.name} answered, but not as a Resonate server does ({fault}): check the address"
        )

    def _refusal(self, kind: str, status: int, data: object) -> str:
        """Return in words that the server says no, with its own ones as far as they are safe."""
        said = plain(self._safe(data), 200) if isinstance(data, str) and data else ""
        advice = f"; it says {said!r}" if said else ""
        if status in (401, 403):
            advice = f": give a valid token with token= or in {TOKEN_VARIABLE}{advice}"
        elif status in _BUSY:
            advice = f", three times in a row: try again later{advice}"
        elif 300 <= status < 400:
            advice = f", which leads elsewhere: name the address of the server itself{advice}"
        elif status == 501:
            advice = f": it serves no searches, so it cannot be read{advice}"
        elif not advice:
            advice = ": is that a Resonate server?"
        return f"{self.name} answered {status} to {kind}{advice}"

    def _checked(self, records: object, word: Word, where: str) -> Iterator[dict[str, Any]]:
        if not isinstance(records, list):
            raise ServerError(f"{where} has no list of {word}s: is that a Resonate server?")
        for number, record in enumerate(records, 1):
            if not isinstance(record, dict) or not isinstance(record.get("id"), str):
                shown = plain(json.dumps(record), 80)
                raise ServerError(
                    f"record {number} of {where} has no id: it is {self._safe(shown)}"
                )
            yield record

    def _safe(self, text: str) -> str:
        """Return text of the server without the token, should it repeat it."""
        return text.replace(self._token, "***") if self._token else text


def _address(url: str) -> tuple[str, str]:
    """Return where to post, and what the server is called in messages: no path, no secret."""
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None  # the reason may quote a password, so it is not told
    if not host:
        raise ServerError("the address of the server is none: write http://HOST:PORT")
    if parts.username is not None or parts.query or parts.fragment:
        raise ServerError(
            "the address of the server holds a name, a password or a query, which are not shown "
            f"here: write http://HOST:PORT, and give the token with token= or in {TOKEN_VARIABLE}"
        )
    shown = f"{parts.scheme}://{f'[{host}]' if ':' in host else host}" + (
        f":{port}" if port else ""
    )
    return url.strip().rstrip("/") + "/", plain(shown)


def _checked_token(token: str | None) -> str:
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise ServerError(
            "the token holds a blank, a line break or a letter that no header can carry; it is not "
            "shown here: copy it once more"
        )
    return token or ""


def _shown(seconds: float) -> str:
    return format_duration(int(seconds * 1000))
