"""The loading of the model, shown as the editor's own progress."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from midspan_lsp.backends.base import LoadProgress

if TYPE_CHECKING:
    from midspan_lsp.lsp.server import MidspanServer

logger = logging.getLogger(__name__)

_TOKEN = "midspan/loading"  # noqa: S105


class LoadingProgress:
    """Shows how far the loading is, if the editor can show it. Belongs to the running loop.

    The editor's leave to show it is not waited for: loading goes on meanwhile, and without it.
    """

    def __init__(self, server: MidspanServer) -> None:
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._last = LoadProgress("starting")
        self._shown = self._ended = False
        window = server.client_capabilities.window
        if window is not None and window.work_done_progress:
            self._beginning = self._loop.create_task(self._begin())

    def report(self, progress: LoadProgress) -> None:
        """Takes the next line; from any thread."""
        self._loop.call_soon_threadsafe(self._show, progress)

    def end(self) -> None:
        """Takes it away."""
        if self._shown and not self._ended:
            self._send(lsp.WorkDoneProgressEnd())
        self._ended = True

    async def _begin(self) -> None:
        try:
            await self._server.window_work_done_progress_create_async(lsp.WorkDoneProgressCreateParams(_TOKEN))
        except JsonRpcException as error:
            logger.warning("the editor shows no progress: %s", error)
            return
        if self._ended:
            return
        self._shown = True
        percentage = self._last.percentage or 0  # without one here, later ones are ignored
        self._send(lsp.WorkDoneProgressBegin("Midspan", message=self._last.message, percentage=percentage))

    def _show(self, progress: LoadProgress) -> None:
        self._last = progress
        if not self._ended:
            self._server.status.loading(progress)
        if self._shown and not self._ended:
            self._send(lsp.WorkDoneProgressReport(message=progress.message, percentage=progress.percentage))

    def _send(self, value: lsp.WorkDoneProgressBegin | lsp.WorkDoneProgressReport | lsp.WorkDoneProgressEnd) -> None:
        self._server.progress(lsp.ProgressParams(_TOKEN, value))
