"""Encodes the context of the probable next request while nobody types."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

from midspan_lsp.backends.base import InfillBackend
from midspan_lsp.engine.outcome import Tally
from midspan_lsp.errors import InfillError
from midspan_lsp.types import CancellationToken, InfillRequest

logger = logging.getLogger(__name__)

QUIET_S = 0.3

Neighbour = Callable[[], Awaitable[str]]
"""Finds the lines of the project that are like those before a cursor."""


async def _none() -> str:
    return ""


class Prefetch:
    """Has the backend prepare the last place it was told, once it has been quiet for a moment. Belongs to one loop.

    Each place is prepared once: afterwards nothing runs until the next is told.

    Args:
        backend: whose worker lets requests pass.
        tally: where the cost is counted.
        quiet_s: so long after the last word of the editor it begins.
    """

    def __init__(self, backend: InfillBackend, tally: Tally, quiet_s: float = QUIET_S) -> None:
        self._backend, self._tally, self._quiet_s = backend, tally, quiet_s
        self._request: InfillRequest | None = None
        self._neighbour: Neighbour = _none
        self._timer: asyncio.TimerHandle | None = None
        self._token = CancellationToken()
        self._running: asyncio.Task[None] | None = None

    def expect(self, request: InfillRequest, neighbour: Neighbour = _none) -> None:
        """A place where a request is likely to come; what was expected before is not. Needs a running loop.

        Args:
            request: about what it will be.
            neighbour: asked for the lines that will be in it.
        """
        self.pause()
        self._request, self._neighbour = request, neighbour
        self._timer = asyncio.get_running_loop().call_later(self._quiet_s, self.begin)

    def pause(self) -> None:
        """Somebody is waiting for an answer, or types: stop within one chunk, and expect nothing."""
        if self._timer is not None:
            self._timer.cancel()
        self._token.cancel()
        self._request = None

    def begin(self) -> None:
        """Prepare what is expected, if the backend is loaded; otherwise it is to be called again when it is."""
        if self._request is None or not self._backend.ready:
            return
        request, self._request = self._request, None
        self._token = CancellationToken()
        self._running = asyncio.get_running_loop().create_task(self._prepare(request, self._token))

    async def _prepare(self, request: InfillRequest, token: CancellationToken) -> None:
        try:
            request = replace(request, neighbour=await self._neighbour())
            if token.cancelled():
                return
            stats = await self._backend.prepare(request, token)
        except InfillError as error:  # a request would tell the user
            logger.warning("the context could not be prepared: %s", error)
            return
        self._tally.n_prefilled_tokens += stats.n_encoded_tokens
