"""The exceptions of resonate_lab: one class per cause.

A refusal by the protocol (400, 404, 409, 422) is a response, not an exception; these
are for the caller's bugs. The one error that stands elsewhere is ``CronError``, a
``ValueError`` of the self-contained core (``resonate_lab.cron``).
"""

__all__ = [
    "DurationError",
    "EmptyAgenda",
    "FleetError",
    "FrameError",
    "InstantError",
    "ProtocolError",
    "ResonateLabError",
    "SavedStateError",
    "ServerError",
    "WindowError",
    "WorkerError",
]


class ResonateLabError(Exception):
    """Base of the errors that this package raises on purpose."""


class InstantError(ResonateLabError, ValueError):
    """A value is no instant, or lies outside the supported range."""


class DurationError(ResonateLabError, ValueError):
    """A value is no duration."""


class WindowError(ResonateLabError, ValueError):
    """A window is turned round, or holds more ticks than may be listed at once."""


class EmptyAgenda(ResonateLabError):  # noqa: N818
    """The engine was told to take a step, and nothing is armed."""


class FleetError(ResonateLabError, ValueError):
    """A fleet cannot be read: no such column, no such encoding, nothing in it."""


class FrameError(ResonateLabError, ValueError):
    """A frame lacks a column that the view needs."""


class SavedStateError(ResonateLabError, ValueError):
    """A file holds no engine that can be taken up: foreign, damaged, of another version."""


class ServerError(ResonateLabError):
    """A live server cannot be read: out of reach, refusing, or not answering by the protocol."""


class WorkerError(ResonateLabError):
    """A worker spins at one instant, or holds a task and does not come to rest."""


class ProtocolError(ResonateLabError):
    """The engine refused a request made through its Python face.

    Attributes
    ----------
    status : int
        status of the response: 400, 404, 409, 422 or 501
    message : str
        the response's text
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message
