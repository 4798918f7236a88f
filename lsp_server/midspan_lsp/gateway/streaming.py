"""Answers as they come: drafts while a middle comes into focus, and the end of the work when the client goes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from midspan_lsp.gateway.replies import Draft
from midspan_lsp.types import CancellationToken, SlotView

_T = TypeVar("_T")
_MASK = "░"


class ClientGone(Exception):
    """Nobody waits for the answer any more."""


class Work:
    """An answer in the making, in a task of its own.

    Args:
        task: ends with the answer.
        token: stops the model within one forward.
    """

    def __init__(self, task: asyncio.Task[Any], token: CancellationToken) -> None:
        self.task, self._token = task, token

    async def stop(self) -> None:
        """Nobody wants it: ends it, unless it has ended."""
        if not self.task.done():
            self._token.cancel()
            self.task.cancel()
            await asyncio.wait({self.task})


async def unless_gone(request: Request, ready: asyncio.Future[_T], work: Work) -> _T:
    """What comes of `ready`.

    Raises:
        ClientGone: the client has left, and the work has ended.
    """
    gone = asyncio.ensure_future(wait_until_gone(request))
    try:
        await asyncio.wait({ready, gone}, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        await work.stop()
        raise
    finally:
        gone.cancel()
    if ready.done():
        return ready.result()
    await work.stop()
    raise ClientGone


async def wait_until_gone(request: Request) -> None:
    """Until the client has closed its connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


class Drafts:
    """The drafts of one middle, from the model's thread to the client; one that comes too fast replaces the last."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._last: Draft | None = None

    def on_step(self, n_forwards: int, slots: tuple[SlotView, ...]) -> None:
        """A forward has ended; from any thread."""
        text = "".join(_MASK if slot.text is None else slot.text for slot in slots)
        self._loop.call_soon_threadsafe(self._put, Draft(draft=text, n_forwards=n_forwards))

    def _put(self, draft: Draft) -> None:
        self._last = draft
        self._news.set()

    async def first(self, task: asyncio.Task[Any]) -> None:
        """Until there is a draft, or the task has ended.

        Raises:
            Exception: the task's.
        """
        news = asyncio.ensure_future(self._news.wait())
        await asyncio.wait({task, news}, return_when=asyncio.FIRST_COMPLETED)
        news.cancel()
        if task.done():
            task.result()

    async def until(self, task: asyncio.Task[Any]) -> AsyncGenerator[Draft]:
        """The drafts until the task has ended, however it ends."""
        while not task.done():
            if self._last is not None:
                draft, self._last = self._last, None
                yield draft
            self._news.clear()
            news = asyncio.ensure_future(self._news.wait())
            await asyncio.wait({task, news}, return_when=asyncio.FIRST_COMPLETED)
            news.cancel()


class EventStream(StreamingResponse):
    """A stream of events whose work ends with it, however it ends."""

    def __init__(self, events: AsyncGenerator[str], media_type: str, work: Work) -> None:
        super().__init__(events, media_type=media_type, headers={"Cache-Control": "no-store"})
        self._work = work

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._work.stop()
