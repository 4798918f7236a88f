"""Whose turn it is: a bounded queue in which clients take turns, however much each of them asks."""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from midspan_lsp.errors import Overloaded

_SMOOTHING = 0.2
_FIRST_GUESS_S = 0.5


class Admission:
    """Lets a few requests work at a time; the others wait, and one too many is turned away. Belongs to one event loop.

    The next turn is that of the client who has waited longest for one, not of the oldest request: a program with a
    hundred questions does not hold up an editor with one.

    Args:
        n_at_once: requests that work at the same time.
        max_waiting: requests that wait, of all clients together.
        max_wait_s: a request that has waited for so long is turned away.
    """

    def __init__(self, n_at_once: int, max_waiting: int, max_wait_s: float) -> None:
        self._n_free = n_at_once
        self._n_at_once, self._max_waiting, self._max_wait_s = n_at_once, max_waiting, max_wait_s
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self._mean_s = _FIRST_GUESS_S

    @property
    def n_waiting(self) -> int:
        """Requests that wait for their turn."""
        return sum(len(queue) for queue in self._waiting.values())

    @property
    def n_working(self) -> int:
        """Requests whose turn it is."""
        return self._n_at_once - self._n_free

    @asynccontextmanager
    async def turn(self, client: str) -> AsyncGenerator[None]:
        """Waits for a client's turn, which lasts as long as the block.

        Raises:
            Overloaded: too many wait already, or it has waited too long.
        """
        await self._wait(client)
        began_s = time.monotonic()
        try:
            yield
        finally:
            self._mean_s += _SMOOTHING * (time.monotonic() - began_s - self._mean_s)
            self._release()

    async def _wait(self, client: str) -> None:
        if self._n_free:
            self._n_free -= 1
            return
        if self.n_waiting >= self._max_waiting:
            raise self._overloaded()
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(place)
        try:
            async with asyncio.timeout(self._max_wait_s):
                await place
        except BaseException as error:
            self._leave(client, place)
            if isinstance(error, TimeoutError):
                raise self._overloaded() from error
            raise

    def _leave(self, client: str, place: asyncio.Future[None]) -> None:
        if place.done() and not place.cancelled():  # its turn had just come
            self._release()
            return
        queue = self._waiting.get(client)
        if queue is not None and place in queue:
            queue.remove(place)
            if not queue:
                del self._waiting[client]

    def _release(self) -> None:
        while self._waiting:
            client, queue = self._waiting.popitem(last=False)
            place = queue.popleft()
            if queue:
                self._waiting[client] = queue  # behind all others
            if not place.done():
                place.set_result(None)
                return
        self._n_free += 1

    def _overloaded(self) -> Overloaded:
        wait_s = self._mean_s * (self.n_waiting + 1) / self._n_at_once
        return Overloaded(max(1, min(60, math.ceil(wait_s))))
