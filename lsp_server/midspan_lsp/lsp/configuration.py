"""The settings of a session: asked for, read, and made to count while it runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from midspan_lsp.lsp.exclusions import Exclusions
from midspan_lsp.lsp.settings import FILE_NAMES, Sources, read_project_files

if TYPE_CHECKING:
    from collections.abc import Sequence

    from midspan_lsp.lsp.server import MidspanServer

logger = logging.getLogger(__name__)

PULL_TIMEOUT_S = 2.0
SECTION = "midspan"


class Configuration:
    """Keeps a server's settings as the editor and the project want them. Belongs to one event loop.

    Attributes:
        settings: as they count now.
        exclusions: documents in which nothing is suggested.
    """

    def __init__(self, server: MidspanServer) -> None:
        self._server = server
        self._sources = Sources()
        self.settings, _ = self._sources.read()
        self.exclusions = Exclusions(self.settings, ())
        self._named: set[str] = set()
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, options: object) -> None:
        """Takes the settings of the `initialize` request."""
        self._sources = Sources(options)
        self.settings, _ = self._sources.read()

    def changed(self, raw: object) -> None:
        """Takes settings that the editor sends; one that can be asked for them tells only that they are others."""
        told = cast("Mapping[str, object]", raw).get(SECTION) if isinstance(raw, Mapping) else None
        if told is not None and not self._can_pull:
            self._sources = replace(self._sources, told=told)
        self.refresh_soon()

    def saved(self, paths: Sequence[str | None]) -> None:
        """Files were written; settings may stand in them."""
        files = {str(Path(folder) / name) for folder in self._server.folders for name in FILE_NAMES}
        if not files.isdisjoint(paths):
            self.refresh_soon()

    def refresh_soon(self) -> None:
        """Reads all settings again, in the background."""
        task = asyncio.get_running_loop().create_task(self.refresh())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def refresh(self) -> None:
        """Asks everybody for settings, has them count, and names once what cannot be used."""
        async with self._lock:
            told = await self._pull() if self._can_pull else self._sources.told
            files = await asyncio.to_thread(read_project_files, list(self._server.folders))
            self._sources = replace(self._sources, told=told, files=files)
            settings, problems = self._sources.read()
            if new := [line for line in problems if line not in self._named]:
                self._named.update(new)
                self._server.tell(lsp.MessageType.Warning, "\n".join(["Midspan cannot use these settings:", *new]))
            self.exclusions = Exclusions(settings, self._server.folders)
            self._server.review_documents()
            old, self.settings = self.settings, settings
            if settings != old:
                await self._server.apply(settings)

    @property
    def _can_pull(self) -> bool:
        offered = self._server.client_capabilities.workspace
        return bool(offered and offered.configuration)

    async def _pull(self) -> object:
        """The editor's settings; those it told before if it does not say."""
        item = lsp.ConfigurationItem(section=SECTION)
        request = self._server.workspace_configuration_async(lsp.ConfigurationParams([item]))
        asked = asyncio.ensure_future(request)
        done, _ = await asyncio.wait({asked}, timeout=PULL_TIMEOUT_S)
        if not done:  # the model is not to wait for it
            logger.warning("the editor has not told its settings yet")
            asked.add_done_callback(self._pulled_late)
            return self._sources.told
        try:
            answer = asked.result()
        except JsonRpcException as error:
            logger.warning("the editor does not tell its settings: %s", error)
            return self._sources.told
        return answer[0] if answer else None

    def _pulled_late(self, asked: asyncio.Future[Any]) -> None:
        if not asked.cancelled() and asked.exception() is None:
            self.refresh_soon()
