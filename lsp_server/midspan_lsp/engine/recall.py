"""The project's memory as the engine has it: told what happens, asked before the model, never waited for long."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote

from midspan_lsp.config import MemorySettings
from midspan_lsp.context.shape import Shape
from midspan_lsp.documents import DocumentSnapshot, path_of
from midspan_lsp.engine.ahead import AHEAD_LIMIT_S, Ahead
from midspan_lsp.engine.counting import UsageCounter
from midspan_lsp.engine.memory_thread import MemoryThread, build_memory
from midspan_lsp.engine.reading import Reader
from midspan_lsp.types import Proposal

if TYPE_CHECKING:
    from midspan_lsp.memory.memory import ProjectMemory

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

LIMIT_S = 0.08
QUIET_S = 1.5
MOST_NEIGHBOURS = 64  # kept for so many documents, those that were found last
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
        self._limit_s, self._quiet_s, self._build = limit_s, quiet_s, build
        self._thread = MemoryThread(settings, build)
        self._reader = Reader(self._thread, quiet_s, self._note_change)
        self._counter = UsageCounter(enabled=count)
        self._changes: dict[str, Future[None]] = {}
        self._neighbours: dict[str, tuple[int, str]] = {}
        self._n_changes = 0
        self._n_own_changes: Counter[str] = Counter()  # by open document

    def renewed(self, settings: MemorySettings, *, count: bool) -> Recall:
        """One like this with other settings, which knows nothing yet."""
        return Recall(settings, limit_s=self._limit_s, quiet_s=self._quiet_s, count=count, build=self._build)

    async def drafts(self, snapshot: DocumentSnapshot, offset: int, shape: Shape) -> tuple[Proposal, ...]:
        """Middles for a cursor that stand elsewhere in the project, best first; none if it takes too long."""
        self._reader.rest()
        if not self._usable:
            return ()
        known = replace(snapshot, uri=_key(snapshot.uri))

        def find(memory: ProjectMemory) -> tuple[Proposal, ...]:
            found = memory.drafts(known, offset, shape.max_lines, shape.min_indent)
            return tuple(Proposal(one.text, one.score, one.source_path, one.source_line) for one in found)

        found = await self._in_time(find, ())
        self._counter.asked(self._reader.folders, snapshot.path, proposed=bool(found))
        if self._counter.is_due():
            self._thread.submit(self._write_counts, None)
        return found

    def ahead(self, snapshot: DocumentSnapshot, offset: int, shape: Shape) -> Ahead | None:
        """Tells how a middle at a cursor may go on, given how it begins; None: nobody can."""
        if not self._usable:
            return None
        limit_s = None if self._limit_s is None else AHEAD_LIMIT_S
        return Ahead(self._thread, replace(snapshot, uri=_key(snapshot.uri)), offset, shape, limit_s)

    async def neighbour(self, snapshot: DocumentSnapshot, offset: int) -> str:
        """Lines of the project that are like those before a cursor; "" if none are.

        On one line they stay what they are, and if it takes too long, those of before: other ones would cost the model
        all that it has read behind them.
        """
        if not self._usable:
            return ""
        key, line = _key(snapshot.uri), snapshot.text.count("\n", 0, offset)
        known, (kept_line, kept) = replace(snapshot, uri=key), self._neighbours.get(key, (-1, ""))
        if line != kept_line:
            kept = await self._in_time(lambda memory: memory.neighbour(known, offset), kept)
            self._neighbours.pop(key, None)
            self._neighbours[key] = line, kept  # of a document, perhaps, that was closed meanwhile
            if len(self._neighbours) > MOST_NEIGHBOURS:
                del self._neighbours[next(iter(self._neighbours))]
        return kept

    def knowledge(self, uri: str) -> int:
        """A number that is another one once the memory may answer otherwise for a document, its own text aside."""
        return self._n_changes - self._n_own_changes[_key(uri)]

    def shown(self, snapshot: DocumentSnapshot, *, from_project: bool) -> None:
        """An editor was given a middle for a document."""
        self._counter.shown(self._reader.folders, snapshot.path, from_project=from_project)

    def opened(self, snapshot: DocumentSnapshot) -> None:
        """A document was opened: its text counts now, and its file's no more."""
        key, path, language_id, text = _key(snapshot.uri), snapshot.path, snapshot.language_id, snapshot.text
        self._reader.rest()
        self._tell(lambda memory: memory.open(key, path, language_id, text), key)

    def changed(self, snapshot: DocumentSnapshot) -> None:
        """An open document has another text."""
        key, text = _key(snapshot.uri), snapshot.text
        self._reader.rest()
        if older := self._changes.pop(key, None):
            older.cancel()
        if self._usable:
            self._note_change(key)
            self._changes[key] = self._thread.submit(lambda memory: memory.change(key, text), None)

    def closed(self, uri: str) -> None:
        """A document was closed: its file counts again, if it is in a workspace folder."""
        key = _key(uri)
        for known in (self._changes, self._neighbours, self._n_own_changes):
            known.pop(key, None)
        self._tell(lambda memory: memory.close(key))

    def saved(self, path: str) -> None:
        """A file was written or made, or a folder was."""
        key = _key(Path(path).absolute().as_uri())
        self._tell(lambda memory: self._reread(memory, path), key if key in self._n_own_changes else None)

    def changed_outside(self, paths: Sequence[str]) -> None:
        """Files were written, made or deleted, perhaps not by the editor: they are read again in the background.

        Needs a running loop.
        """
        rules = [path for path in paths if Path(path).name in RULES]
        for path in rules:
            self.saved(path)
        if self._usable and len(rules) < len(paths):
            self._reader.reread(path for path in paths if path not in rules)

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
        self._neighbours.clear()

        def forget(memory: ProjectMemory) -> None:
            memory.forget(path)
            if Path(path).name in RULES:
                self._reread(memory, path)

        self._tell(forget)

    def add_folder(self, folder: str) -> None:
        """A workspace folder is there: it is read in the background. Needs a running loop."""
        if self._usable:
            self._reader.add(folder)

    def remove_folder(self, folder: str) -> None:
        """A workspace folder is no more: what was read of it is forgotten."""
        self._reader.remove(folder)
        self._neighbours.clear()

        def leave(memory: ProjectMemory) -> None:
            self._thread.drop_scan(folder)
            memory.leave(folder)
            self._reader.rescan(Path(os.path.realpath(folder)))  # its rules count no more for those above and below

        self._tell(leave)

    async def settled(self) -> None:
        """Until all workspace folders are read."""
        await self._reader.settled()

    async def aclose(self) -> None:
        """Drop what is still to do and let go of the stores; waits for no more than a moment."""
        self._usable = False
        self._reader.stop()
        await self._thread.aclose(self._write_counts)

    def _write_counts(self, memory: ProjectMemory) -> None:
        """On the thread."""
        if counts := self._counter.take():
            memory.add_usage(counts)

    async def _in_time(self, call: Callable[[ProjectMemory], _T], otherwise: _T) -> _T:
        try:
            async with asyncio.timeout(self._limit_s):  # a call that is given up before its turn is never made
                return await asyncio.wrap_future(self._thread.submit(call, otherwise))
        except TimeoutError:
            logger.debug("the project's memory took too long")
            return otherwise

    def _tell(self, call: Callable[[ProjectMemory], None], own: str | None = None) -> None:
        """Has the memory take in what changes its answers, but not those for the document `own`."""
        if self._usable:
            self._note_change(own)
            self._thread.submit(call, None)

    def _note_change(self, own: str | None = None) -> None:
        self._n_changes += 1
        if own is not None:
            self._n_own_changes[own] += 1

    def _reread(self, memory: ProjectMemory, path: str) -> None:
        """On the thread: reads a file at once; what a folder or new rules of what is ignored concern, by a scan."""
        real = Path(os.path.realpath(path))
        is_rules = real.name in RULES
        if not is_rules and not real.is_dir():
            memory.refresh(path)
            return
        self._reader.rescan(real.parent if is_rules else real)


def _key(uri: str) -> str:
    """One name for a document, however an editor quotes it this time."""
    return unquote(uri)
