"""SIGHUP: a running gateway takes up its checkpoint as it now is, while requests go on."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable

from midspan_lsp.errors import InfillError

logger = logging.getLogger(__name__)


class Renewal:
    """Renews at each SIGHUP; what is signalled meanwhile begins afterwards. Belongs to one event loop.

    Args:
        renew: has what is old replaced; whether anything was.
        tell: told what came of it.
    """

    def __init__(self, renew: Callable[[], Awaitable[bool]], tell: Callable[[str], None]) -> None:
        self._renew, self._tell = renew, tell
        self._tasks: set[asyncio.Task[None]] = set()
        self._one_at_a_time = asyncio.Lock()

    def listen(self) -> None:
        """From now on, where there is such a signal."""
        if hasattr(signal, "SIGHUP"):
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._begin)

    def _begin(self) -> None:
        task = asyncio.get_running_loop().create_task(self._run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self) -> None:
        async with self._one_at_a_time:
            try:
                is_new = await self._renew()
            except InfillError as error:  # who has signalled sees the log; the others have their answers
                logger.error("%s", error)
                self._tell("The old model goes on")
                return
        self._tell("The new model answers now" if is_new else "The model is the same as before")
