"""The project's memory as the engine has it: told what happens, asked before the model, never waited for long."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote

from midspan_lsp.config import MemorySettings
from midspan_lsp.context.shape import Shape
from midspan_lsp.documents import DocumentSnapshot, path_of
from midspan_lsp.engine.counting import UsageCounter
from midspan_lsp.engine.memory_thread import FILES, MemoryThread, build_memory
from midspan_lsp.types import Proposal

if TYPE_CHECKING:
    from midspan_lsp.memory.memory import ProjectMemory

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

LIMIT_S = 0.08
QUIET_S = 1.5
RULES = frozenset({".gitignore", ".ignore", ".midspanignore"})
"""Names of the files that say what is not to be read."""


class Recall:
    """Passes on what happens to documents and folders, and asks for drafts. Belongs to one event loop.

    Whatever the memory does takes place on its thread, in the order it was told, and never fails here.

    Args:
        settings: the memory's; one that is switched off is never built.
        limit_s: drafts that take longer are none; None: they are waited for.
        quiet_s: a scan pauses for so long after each request and edit.
        count: whether it is counted, for `midspan stats`, how the memory did.
        build: makes the memory, on its thread.
    """

    def __init__(
        self,
        settings: MemorySettings,
        *,
        limit_s: float | None = LIMIT_S,
        quiet_s: float = QUIET_S,
        count: bool = False,
        build: Callable[[MemorySettings], ProjectMemory] = build_memory,
    ) -> None:
        self._usable = settings.enabled
        self._limit_s = limit_s
        self._quiet_s = quiet_s
        self._thread = MemoryThread(settings, build)
        self._counter = UsageCounter(enabled=count)
        self._quiet_until_s = 0.0
        self._changes: dict[str, Future[None]] = {}
        self._neighbours: dict[str, str] = {}
        self._folders: dict[str, None] = {}
        self._to_scan: dict[str, None] = {}
        self._to_reread: dict[str, None] = {}
        self._scanning: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def drafts(self, snapshot: DocumentSnapshot, offset: int, shape: Shape) -> tuple[Proposal, ...]:
        """Middles for a cursor that stand elsewhere in the project, best first; none if it takes too long."""
        self._rest()
        if not self._usable:
            return ()
        known = replace(snapshot, uri=_key(snapshot.uri))

        def find(memory: ProjectMemory) -> tuple[Proposal, ...]:
            found = memory.drafts(known, offset, shape.max_lines, shape.min_indent)
            return tuple(Proposal(one.text, one.score, one.source_path, one.source_line) for one in found)

        found = await self._in_time(find, ())
        self._counter.asked(self._folders, snapshot.path, proposed=bool(found))
        if self._counter.is_due():
            self._tell(self._write_counts)
        return found

    async def neighbour(self, snapshot: DocumentSnapshot, offset: int) -> str:
        """Lines of the project that are like those before a cursor; "" if none are.

        If it takes too long, those of before: other ones would cost the model all that it has read behind them.
        """
        if not self._usable:
            return ""
        key = _key(snapshot.uri)
        known = replace(snapshot, uri=key)
        found = await self._in_time(lambda memory: memory.neighbour(known, offset), self._neighbours.get(key, ""))
        self._neighbours[key] = found
        return found

    def shown(self, snapshot: DocumentSnapshot, *, from_project: bool) -> None:
        """An editor was given a middle for a document."""
        self._counter.shown(self._folders, snapshot.path, from_project=from_project)

    def opened(self, snapshot: DocumentSnapshot) -> None:
        """A document was opened: its text counts now, and its file's no more."""
        key, path, language_id, text = _key(snapshot.uri), snapshot.path, snapshot.language_id, snapshot.text
        self._rest()
        self._tell(lambda memory: memory.open(key, path, language_id, text))

    def changed(self, snapshot: DocumentSnapshot) -> None:
        """An open document has another text."""
        key, text = _key(snapshot.uri), snapshot.text
        self._rest()
        if older := self._changes.pop(key, None):
            older.cancel()
        if self._usable:
            self._changes[key] = self._thread.submit(lambda memory: memory.change(key, text), None)

    def closed(self, uri: str) -> None:
        """A document was closed: its file counts again, if it is in a workspace folder."""
        key = _key(uri)
        self._changes.pop(key, None)
        self._neighbours.pop(key, None)
        self._tell(lambda memory: memory.close(key))

    def saved(self, path: str) -> None:
        """A file was written or made, or a folder was."""
        self._tell(lambda memory: self._reread(memory, path))

    def changed_outside(self, paths: Sequence[str]) -> None:
        """Files were written, made or deleted, perhaps not by the editor: they are read again in the background.

        Needs a running loop.
        """
        rules = [path for path in paths if Path(path).name in RULES]
        for path in rules:
            self.saved(path)
        if self._usable and len(rules) < len(paths):
            self._to_reread.update(dict.fromkeys(path for path in paths if path not in rules))
            self._read_on()

    def renamed(self, uri: str, new_uri: str) -> None:
        """A file or folder has another name."""
        path, new_path = path_of(uri), path_of(new_uri)

        def rename(memory: ProjectMemory) -> None:
            memory.renamed(_key(uri), _key(new_uri), path, new_path)
            for one in (path, new_path):
                if one is not None:
                    self._reread(memory, one)

        self._tell(rename)

    def deleted(self, path: str) -> None:
        """A file or folder is gone."""

        def forget(memory: ProjectMemory) -> None:
            memory.forget(path)
            if Path(path).name in RULES:
                self._reread(memory, path)

        self._tell(forget)

    def add_folder(self, folder: str) -> None:
        """A workspace folder is there: it is read in the background. Needs a running loop."""
        if self._usable:
            self._loop = asyncio.get_running_loop()
            self._folders[folder] = None
            self._scan_later(folder)

    def remove_folder(self, folder: str) -> None:
        """A workspace folder is no more: what was read of it is forgotten."""
        self._folders.pop(folder, None)
        self._to_scan.pop(folder, None)

        def leave(memory: ProjectMemory) -> None:
            self._thread.drop_scan(folder)
            memory.leave(folder)
            self._rescan(Path(os.path.realpath(folder)))  # its rules count no more for those above and below

        self._tell(leave)

    async def settled(self) -> None:
        """Until all workspace folders are read."""
        if self._scanning is not None:
            await asyncio.wait({self._scanning})

    async def aclose(self) -> None:
        """Drop what is still to do and let go of the stores; waits for no more than a moment."""
        self._usable = False
        if self._scanning is not None:
            self._scanning.cancel()
        await self._thread.aclose(self._write_counts)

    def _write_counts(self, memory: ProjectMemory) -> None:
        """On the thread."""
        if counts := self._counter.take():
            memory.add_usage(counts)

    def _rest(self) -> None:
        """The user is at work: scans pause."""
        self._quiet_until_s = time.monotonic() + self._quiet_s

    async def _in_time(self, call: Callable[[ProjectMemory], _T], otherwise: _T) -> _T:
        try:
            async with asyncio.timeout(self._limit_s):  # a call that is given up before its turn is never made
                return await asyncio.wrap_future(self._thread.submit(call, otherwise))
        except TimeoutError:
            logger.debug("the project's memory took too long")
            return otherwise

    def _tell(self, call: Callable[[ProjectMemory], None]) -> None:
        if self._usable:
            self._thread.submit(call, None)

    def _scan_later(self, folder: str) -> None:
        if folder not in self._folders or not self._usable:
            return
        # its rules count at once, though the reading may have to wait
        self._tell(lambda memory: self._thread.begin_scan(memory, folder))
        self._to_scan[folder] = None
        self._read_on()

    def _read_on(self) -> None:
        if self._scanning is None or self._scanning.done():
            self._scanning = asyncio.get_running_loop().create_task(self._scan())

    async def _scan(self) -> None:
        """Reads folder after folder; each step is a call of its own, so that requests get in between."""
        while self._to_scan or self._to_reread:
            if self._to_reread:
                paths, self._to_reread = list(self._to_reread), {}
                self._tell(lambda memory, paths=paths: self._thread.begin_files(memory, paths))
                folder = FILES
            else:
                folder = next(iter(self._to_scan))
                del self._to_scan[folder]
            more = True
            while more:
                wait_s = self._quiet_until_s - time.monotonic()
                if wait_s > 0:
                    await asyncio.sleep(wait_s)
                    continue
                step = self._thread.submit(lambda _, folder=folder: self._thread.step(folder), False)
                more = await asyncio.wrap_future(step)

    def _reread(self, memory: ProjectMemory, path: str) -> None:
        """On the thread: reads a file at once; what a folder or new rules of what is ignored concern, by a scan."""
        real = Path(os.path.realpath(path))
        is_rules = real.name in RULES
        if not is_rules and not real.is_dir():
            memory.refresh(path)
            return
        self._rescan(real.parent if is_rules else real)

    def _rescan(self, place: Path) -> None:
        """On the thread: has the folders read again that a place lies in, or that lie in it."""
        for folder in list(self._folders):
            known = Path(os.path.realpath(folder))
            if self._loop is not None and (place.is_relative_to(known) or known.is_relative_to(place)):
                self._loop.call_soon_threadsafe(self._scan_later, folder)


def _key(uri: str) -> str:
    """One name for a document, however an editor quotes it this time."""
    return unquote(uri)
