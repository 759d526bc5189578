"""The outside world: live servers, and official clients in this process and over HTTP.

The names below load on first use, each with the libraries of its extra.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from resonate_lab.clients.http import Limits, app
    from resonate_lab.clients.importer import engine_from_server
    from resonate_lab.clients.sdk import Simulation, simulate
    from resonate_lab.clients.server import serve, serving

_HOME = {
    "Limits": "resonate_lab.clients.http",
    "Simulation": "resonate_lab.clients.sdk",
    "app": "resonate_lab.clients.http",
    "engine_from_server": "resonate_lab.clients.importer",
    "serve": "resonate_lab.clients.server",
    "serving": "resonate_lab.clients.server",
    "simulate": "resonate_lab.clients.sdk",
}

__all__ = ["Limits", "Simulation", "app", "engine_from_server", "serve", "serving", "simulate"]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(
            f"module 'resonate_lab.clients' has no attribute {name!r}; it has {', '.join(__all__)}"
        )
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
