"""What widgets share whose work may be long: a thread beside the kernel, and a bar.

The kernel is one event loop: while it computes, no cell runs and no control is heard.
Everything here leaves it free. Only work is in the thread; what is on the page is read and
set in the kernel alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import ipywidgets

from resonate_lab._html import plain
from resonate_lab.widgets.base import Live

__all__ = ["Answering", "Beside", "Superseded", "running_loop"]

_LOOK_EVERY = 0.1  # seconds between two looks at work under way

Found = TypeVar("Found")


class Superseded(Exception):  # noqa: N818  # no error: a later question took its place
    """The work is not wanted any more."""


class Beside(Live):
    """A widget that can do long work in a thread; a bar shows how far it is."""

    _share = 0.0  # of the work under way, written by the thread
    _work: asyncio.Task[None] | None = None

    def __init__(self) -> None:
        super().__init__()
        self.progress = ipywidgets.FloatProgress(
            min=0,
            max=1,
            style={"description_width": "initial"},
            layout={"width": "100%", "visibility": "hidden"},
        )

    @property
    def _busy(self) -> bool:
        return self._work is not None and not self._work.done()

    async def _beside(
        self, look: Callable[[], tuple[str, float]], work: Callable[..., Found], *given: object
    ) -> Found:
        """Return what work in a thread finds.

        Parameters
        ----------
        look : callable () -> (str, float)
            asked every 0.1 s for what is being done, and which share of it is
        work : callable
            called with `given` in a thread

        Raises
        ------
        Superseded
            the widget was closed; or raised by the work itself
        Exception
            whatever else the work raises; the bar says so on the page
        """
        self._share, self.progress.bar_style = 0.0, ""
        found = asyncio.get_running_loop().run_in_executor(None, work, *given)
        try:
            while not (await asyncio.wait({found}, timeout=_LOOK_EVERY))[0]:
                if self._closed:
                    # Whatever the thread still finds is for nobody, a failure as well.
                    found.add_done_callback(asyncio.Future.exception)
                    raise Superseded
                self.progress.description, self.progress.value = look()
                self.progress.layout.visibility = "visible"
        finally:
            self.progress.layout.visibility = "hidden"
        error = found.exception()
        if self._closed:
            raise Superseded
        if error is not None and not isinstance(error, Superseded):
            # What a task raises is read by nobody; an old answer must not stand for a new one.
            self.progress.description = plain(f"No answer: {error!r}")
            self.progress.bar_style = "danger"
            self.progress.layout.visibility = "visible"
        return found.result()


class Answering(Beside):
    """A widget that answers its controls, in a thread unless the answer is light.

    While a control moves on, the questions between are left out.
    """

    _doing = "Computing"
    _asked = _shown = 0  # numbers of the latest question, and of the one whose answer is shown

    def _light(self) -> bool:
        """Return whether the answer costs so little that the kernel can give it at once."""
        raise NotImplementedError

    def _question(self) -> Any:
        """Return what the controls ask."""
        raise NotImplementedError

    def _answered(self, question: Any) -> Any:
        """Return the answer; called in a thread, where no control may be read."""
        raise NotImplementedError

    def _show(self, answer: Any) -> None:
        """Put an answer on the page."""
        raise NotImplementedError

    def close(self) -> None:
        """Stop following the controls, end the work, and take the widget off the page."""
        self._asked += 1
        super().close()

    def _follow(self, _change: object = None) -> None:
        self._asked += 1
        loop = running_loop()
        if loop is None or self._light():
            self._shown = self._asked
            self.progress.layout.visibility = "hidden"
            self._show(self._answered(self._question()))
        elif not self._busy:
            self._work = loop.create_task(self._answer_beside())

    async def _answer_beside(self) -> None:
        """Answer the latest question in a thread, and anew while there is a later one."""
        while self._shown < self._asked:
            number = self._asked
            try:
                answer = await self._beside(self._look, self._answered, self._question())
            except Superseded:
                if self._closed:
                    return
                continue
            if number > self._shown:  # and no light one was answered meanwhile
                self._shown = number
                self._show(answer)

    def _look(self) -> tuple[str, float]:
        return self._doing, self._share


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the event loop in which this is called, None outside of any."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
