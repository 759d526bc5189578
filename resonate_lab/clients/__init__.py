"""The outside world: live servers, the official SDKs, HTTP. Each name loads on first use."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from resonate_lab.clients.importer import engine_from_server

_HOME = {"engine_from_server": "resonate_lab.clients.importer"}

__all__ = ["engine_from_server"]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}"
        )
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
