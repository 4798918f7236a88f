"""A model in a process that all servers of one user share: the first starts it, the last has it end.

It is the local backend's model, over a socket: who has several editor windows open has the weights in memory once.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict

from midspan_lsp.backends.base import Capabilities, ReportProgress
from midspan_lsp.backends.shared_connection import Connection
from midspan_lsp.backends.shared_folder import Meeting, meeting_of
from midspan_lsp.backends.shared_wire import MOST_BYTES, Ask
from midspan_lsp.config import Settings
from midspan_lsp.errors import BackendUnavailable, InfillError
from midspan_lsp.types import CancellationToken, InfillRequest, InfillResponse, InfillStats, StepObserver

logger = logging.getLogger(__name__)

_STARTING_TIMEOUT_S = 30.0
_POLL_S = 0.05
_START_AGAIN_S = 5.0
_RESTART_AFTER_S = (0.0, 1.0, 5.0, 30.0)
"""Pauses before a host that has died is started again; the last one for all further times."""


class SharedBackend:
    """Asks the host of the shared model, and sees to it that there is one. Belongs to one event loop.

    Args:
        settings: servers share a model if these say the same of it.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._connection: Connection | None = None
        self._is_loaded = self._is_closed = False
        self._restarting: asyncio.Task[None] | None = None

    @property
    def capabilities(self) -> Capabilities:
        """Those of the local backend."""
        return Capabilities(name="shared", can_remask=True)

    @property
    def ready(self) -> bool:
        """True while there is a host that has loaded the weights."""
        return self._is_loaded

    async def load(self, report: ReportProgress) -> None:
        """Find the host or start one, and have it load."""
        if self._is_loaded:
            return
        if self._connection is not None:
            self._connection.close()
        self._connection = await _meet(self._settings, self._lost)
        if await self._connection.ask(Ask("load"), report=report) is None:
            raise BackendUnavailable("the shared model's process has ended", hint="Its log tells why.", retryable=True)
        self._is_loaded = True

    async def infill(
        self, request: InfillRequest, token: CancellationToken, on_step: StepObserver | None = None
    ) -> InfillResponse:
        """Have the host fill the middle; if it dies meanwhile there is none, and it is started again."""
        ask = Ask("infill", request=request, timeout_s=token.remaining_s, wants_steps=on_step is not None)
        told = await self._connected().ask(ask, token, on_step)
        return InfillResponse() if told is None or told.response is None else told.response

    async def prepare(self, request: InfillRequest, token: CancellationToken) -> InfillStats:
        """Have the host prepare a context."""
        told = await self._connected().ask(Ask("prepare", request=request), token)
        return InfillStats() if told is None else told.stats

    async def aclose(self) -> None:
        """Leave; the host stays for the others."""
        self._is_closed, self._is_loaded = True, False
        if self._restarting is not None:
            self._restarting.cancel()
        if self._connection is not None:
            self._connection.close()

    def _connected(self) -> Connection:
        if self._connection is None or not self._is_loaded:
            raise BackendUnavailable("the model is not loaded yet", retryable=True)
        return self._connection

    def _lost(self) -> None:
        """The host has died."""
        was_loaded, self._is_loaded = self._is_loaded, False
        if was_loaded and not self._is_closed:
            logger.warning("the shared model's process has ended; it is started again")
            self._restarting = asyncio.get_running_loop().create_task(self._restart())

    async def _restart(self) -> None:
        for attempt in itertools.count():
            await asyncio.sleep(_RESTART_AFTER_S[min(attempt, len(_RESTART_AFTER_S) - 1)])
            try:
                await self.load(lambda _progress: None)
            except InfillError as error:
                logger.warning("the shared model's process cannot be started: %s", error)
            else:
                return


async def _meet(settings: Settings, on_lost: Callable[[], None]) -> Connection:
    """A connection with the host, which is started if there is none.

    Raises:
        BackendUnavailable: it cannot be.
    """
    meeting, deadline_s, started = meeting_of(settings), time.monotonic() + _STARTING_TIMEOUT_S, 0.0
    while time.monotonic() < deadline_s:
        try:
            streams = await asyncio.open_unix_connection(meeting.socket, limit=MOST_BYTES)
        except OSError:
            if time.monotonic() - started > _START_AGAIN_S:
                started = time.monotonic()
                _start_host(settings, meeting)
            await asyncio.sleep(_POLL_S)
            continue
        connection = Connection(*streams, on_lost)
        if await connection.ask(Ask("hello")) is not None:
            return connection
        # it was just about to end
    raise BackendUnavailable(
        "the shared model's process does not start", hint=f"See {meeting.log}, or leave out --shared."
    )


def _start_host(settings: Settings, meeting: Meeting) -> None:
    """In a session of its own: neither the editor's end nor a key in its terminal ends it."""
    told = json.dumps({"model": asdict(settings.model), "context": asdict(settings.context)})
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    log = os.open(meeting.log, flags, 0o600)
    try:
        subprocess.Popen(  # noqa: S603  # this program
            [sys.executable, "-P", "-m", "midspan_lsp", "host-model", told],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            cwd=meeting.socket.parent,
            start_new_session=True,
        )
    finally:
        os.close(log)
