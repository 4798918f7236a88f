"""Work that goes on while what it has drafted is being typed: the next key's request waits for it.

Who types faster than the model answers would otherwise have it begin anew at each key, and see nothing until he pauses.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from midspan_lsp.cancellation import cancelled_event
from midspan_lsp.engine.answers import Place, typed_since
from midspan_lsp.engine.outcome import STOPPED, Outcome
from midspan_lsp.errors import InfillError
from midspan_lsp.types import CancellationToken, SlotView, StepObserver

logger = logging.getLogger(__name__)

ADOPTED_WITHIN_S = 0.5
"""Of the last key: an editor that wants an answer has asked again by then."""

Answering = Callable[[CancellationToken, StepObserver], Awaitable[Outcome]]


class CarriedToken(CancellationToken):
    """Follows the token of the request that it was made for, until it is carried on.

    Args:
        original: whose time counts in any case.
    """

    def __init__(self, original: CancellationToken) -> None:
        super().__init__(original.remaining_s)
        self.is_carried = False
        self._original = original
        original.when_cancelled(self._follow)

    def cancelled(self) -> bool:
        """True once it is cancelled itself, or the original is while nobody has carried it on."""
        return super().cancelled() or (not self.is_carried and self._original.cancelled())

    def _follow(self) -> None:
        if not self.is_carried:
            self.cancel()


@dataclass(eq=False)
class _Work:
    """Of one request.

    Attributes:
        place: of the request.
        token: ends it.
        drafted: how its middle begins, as far as the last forward has it.
        typed: since the request.
        task: it; None before it has begun.
        timer: ends it if nobody asks again.
    """

    place: Place
    token: CarriedToken
    drafted: str = ""
    typed: str = ""
    task: asyncio.Task[Outcome] | None = None
    timer: asyncio.TimerHandle | None = None

    def on_step(self, _n_forwards: int, slots: tuple[SlotView, ...]) -> None:
        """On the model's thread: a draft that is not what was typed since is given up."""
        self.drafted = begun(slots)
        if self.typed and not agree(self.drafted, self.typed):
            self.token.cancel()

    def agrees(self, now: Place) -> bool:
        """Whether all that has happened since is that what is drafted was begun; not before there is a draft."""
        typed = typed_since(self.place, now)
        return typed is not None and bool(self.drafted) and agree(self.drafted, typed)


class Carrier:
    """The work for the last request of each document that somebody types. Belongs to one event loop."""

    def __init__(self, adopted_within_s: float = ADOPTED_WITHIN_S) -> None:
        self._adopted_within_s = adopted_within_s
        self._works: dict[str, _Work] = {}

    async def run(self, place: Place, token: CancellationToken, answering: Answering) -> Outcome:
        """Its outcome; `STOPPED` if `token` is cancelled first: then the work ends, or goes on for the next request.

        Raises:
            InfillError: the backend failed.
        """
        work = self._works[place.uri] = _Work(place, CarriedToken(token))
        work.task = asyncio.ensure_future(answering(work.token, work.on_step))
        work.task.add_done_callback(lambda task: self._ended(work, task))
        return await self._wait(work, token)

    async def ended(self, place: Place, token: CancellationToken) -> bool:
        """Until the work that goes on for this place has ended, or `token` is cancelled; false if there is none."""
        work = self._works.get(place.uri)
        if work is None or not work.token.is_carried:
            return False
        if not work.agrees(place):
            work.token.cancel()
            return False
        if work.timer is not None:
            work.timer.cancel()
        await self._wait(work, token)
        return True

    def typed(self, now: Place) -> None:
        """A document was edited, and this is probably where its cursor is: what agrees goes on, all else ends."""
        work = self._works.get(now.uri)
        if work is None:
            return
        if not work.agrees(now):
            work.token.cancel()
            return
        work.typed, work.token.is_carried = typed_since(work.place, now) or "", True
        if work.timer is not None:
            work.timer.cancel()
        work.timer = asyncio.get_running_loop().call_later(self._adopted_within_s, work.token.cancel)

    def stop(self, uri: str | None = None) -> None:
        """Nobody wants this document's any more, or any."""
        for work in list(self._works.values()):
            if uri in {None, work.place.uri}:
                work.token.cancel()

    async def _wait(self, work: _Work, token: CancellationToken) -> Outcome:
        assert work.task is not None
        with cancelled_event(token) as cancelled:
            waiting = asyncio.ensure_future(cancelled.wait())
            try:
                await asyncio.wait({work.task, waiting}, return_when=asyncio.FIRST_COMPLETED)
            except asyncio.CancelledError:
                token.cancel()
                raise
            finally:
                waiting.cancel()
        return work.task.result() if work.task.done() else STOPPED

    def _ended(self, work: _Work, task: asyncio.Task[Outcome]) -> None:
        if work.timer is not None:
            work.timer.cancel()
        if self._works.get(work.place.uri) is work:
            del self._works[work.place.uri]
        if work.token.is_carried and not task.cancelled() and (error := task.exception()) is not None:
            level = logging.INFO if isinstance(error, InfillError) else logging.ERROR
            logger.log(level, "an answer could not be had: %s", error)


def begun(slots: tuple[SlotView, ...]) -> str:
    """The text of a draft as far as it has no masks."""
    text = ""
    for slot in slots:
        if slot.text is None:
            break
        text += slot.text
    return text


def agree(drafted: str, typed: str) -> bool:
    """Whether one of two texts is how the other begins."""
    return drafted.startswith(typed) or typed.startswith(drafted)
