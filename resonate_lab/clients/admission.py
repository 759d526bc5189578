"""Who is let in: programs that know the token, no page in a browser, nobody without measure.

A server on loopback is open to every page that a browser on this machine shows. A page may send
what it likes, but it cannot hide that it is one: with what changes something a browser sends
``Origin``, with anything to an address of this machine ``Sec-Fetch-Site``, and a page whose own
name was made to mean this machine (DNS rebinding) still calls it by that name in ``Host``.
"""

from __future__ import annotations

import asyncio
import hmac
import re
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from resonate_lab._html import plain

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = ["Admission", "is_loopback"]

#: What an HTTP header can carry, so that a token means the same there and in an envelope.
_TOKEN: Final = re.compile(r"[!-~]+")
_HOST: Final = re.compile(r"(?:\[([^\[\]]*)\]|([^:\[\]]*))(?::\d*)?")


def is_loopback(host: str) -> bool:
    """Return whether only this machine can connect to an address.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Admission:
    """The rules at the door of a server.

    Parameters
    ----------
    token : str, optional
        what clients have to show
    rate : float
        requests a second, and as many at once

    Raises
    ------
    ValueError
        the token is empty, or holds what is not visible ASCII
    """

    def __init__(self, token: str | None, rate: float) -> None:
        if token is not None and _TOKEN.fullmatch(token) is None:
            # It may be nearly the right one, so it is not shown.
            raise ValueError(
                f"the token of {len(token)} characters cannot be sent in a header: write one or "
                "more visible ASCII characters without blanks, or leave it out to let anybody in"
            )
        self._token = token
        self._rate = rate
        self._allowance, self._counted_at = rate, 0.0

    def objection(self, request: Request) -> tuple[int, str] | None:
        """Return why a request is not even read, status and sentence, or None."""
        headers = request.headers
        if "origin" in headers or headers.get("sec-fetch-site", "none") != "none":
            return 403, "Requests of web pages are not served"
        server, host = request.scope.get("server"), headers.get("host", "")
        # Who knows the token is no page; and a server for others has names that it cannot know.
        if self._token is None and server and is_loopback(server[0]) and not _is_own_name(host):
            return 403, (
                f"Host {plain(host, 80)!r} is no name of this machine: write localhost or an IP "
                "address, or give the server a token"
            )
        now = asyncio.get_running_loop().time()
        gained = (now - self._counted_at) * self._rate
        self._allowance, self._counted_at = min(self._allowance + gained, self._rate), now
        if self._allowance < 1:
            return 429, f"Too many requests: at most {self._rate:g} a second"
        self._allowance -= 1
        return None

    def knows(self, shown: object) -> bool:
        """Return whether something is the token, if there is one."""
        if self._token is None:
            return True
        given = shown if isinstance(shown, str) else ""
        # In constant time: how much of a wrong token is right shall not show.
        return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), self._token.encode())

    def knows_bearer(self, request: Request) -> bool:
        """Return whether a request bears the token, if there is one."""
        scheme, _, shown = request.headers.get("authorization", "").partition(" ")
        return self.knows(shown if scheme.lower() == "bearer" else None)


def _is_own_name(host: str) -> bool:
    """Return whether no foreign page can have a ``Host``, for it is no name that one can own.

    That is an IP address, localhost, what ends so, or nothing: a browser sends one always.
    """
    found = _HOST.fullmatch(host)
    if found is None:
        return False
    name = (found[1] or found[2] or "").lower().removesuffix(".")
    if name in ("", "localhost") or name.endswith(".localhost"):
        return True
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
