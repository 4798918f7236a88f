"""The thread that owns the project's memory: it builds it when first needed, and outlives its failures."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from midspan_lsp.backends.worker import Worker
from midspan_lsp.config import MemorySettings

if TYPE_CHECKING:
    from midspan_lsp.memory.memory import ProjectMemory

logger = logging.getLogger(__name__)

FILES = ""
"""Names, in the place of a folder, the reading of single files."""

_CLOSING_TIMEOUT_S = 0.6

_T = TypeVar("_T")


def build_memory(settings: MemorySettings) -> ProjectMemory:
    """The memory itself; its imports, numpy among them, would delay a server's first answer."""
    from midspan_lsp.memory.memory import ProjectMemory  # noqa: PLC0415

    return ProjectMemory(settings)


class MemoryThread:
    """Runs calls of the memory one after another.

    A failure is logged, without a word of the user's text above the level debug, and leaves a call without an answer.

    Args:
        settings: the memory's.
        build: makes the memory, on the thread.
    """

    def __init__(self, settings: MemorySettings, build: Callable[[MemorySettings], ProjectMemory]) -> None:
        self._settings = settings
        self._build = build
        self._worker = Worker("midspan-memory")
        self._started = self._closed = False
        # the thread's own
        self._memory: ProjectMemory | None = None
        self._was_built = False
        self._scans: dict[str, Iterator[None]] = {}
        self._logged: set[str] = set()

    def submit(self, call: Callable[[ProjectMemory], _T], otherwise: _T) -> Future[_T]:
        """Run a call after those submitted before; `otherwise` is the answer where there is none, or it is closed."""
        if self._closed:
            nobody: Future[_T] = Future()
            nobody.set_result(otherwise)
            return nobody
        self._started = True
        return self._worker.submit(lambda: self._run(call, otherwise))

    async def aclose(self, last: Callable[[ProjectMemory], None]) -> None:
        """Skip what is still to do but for one call, and let go of the memory; waits for no more than a moment."""
        self._closed = True
        if self._started:
            closing = asyncio.wrap_future(self._worker.submit(lambda: self._let_go(last)))
            self._worker.stop()
            await asyncio.wait({closing}, timeout=_CLOSING_TIMEOUT_S)

    # The rest is for calls: it runs on the thread.

    def begin_scan(self, memory: ProjectMemory, folder: str) -> None:
        """Learn a folder's rules of what is ignored and leave out what is open; `step` goes on to read it."""
        self.drop_scan(folder)
        self._scans[folder] = memory.scan(folder)
        self.step(folder)

    def begin_files(self, memory: ProjectMemory, paths: Sequence[str]) -> None:
        """Have files read again; `step` does it. Those begun before have to be done."""
        self._scans[FILES] = memory.reread(paths)

    def step(self, folder: str) -> bool:
        """Read on, a folder or `FILES`, for a few milliseconds; whether there is more to do."""
        scan = self._scans.pop(folder, None)
        if scan is None:
            return False
        try:
            next(scan)
        except StopIteration:
            return False
        self._scans[folder] = scan
        return True

    def drop_scan(self, folder: str) -> None:
        """End the reading of a folder, or of `FILES`, where it is."""
        scan = self._scans.pop(folder, None)
        close = getattr(scan, "close", None)  # a generator's: what it holds for the time being is given back
        if close is not None:
            close()

    def _run(self, call: Callable[[ProjectMemory], _T], otherwise: _T) -> _T:
        try:
            if not self._was_built and not self._closed:
                self._was_built = True  # tried once
                self._memory = self._build(self._settings)
            if self._memory is not None and not self._closed:
                return call(self._memory)
        except Exception as error:  # whatever it is, completions go on without the memory
            self._log(error)
        return otherwise

    def _let_go(self, last: Callable[[ProjectMemory], None]) -> None:
        try:
            for folder in list(self._scans):
                self.drop_scan(folder)
            if self._memory is not None:
                last(self._memory)
                self._memory.aclose()
        except Exception as error:
            self._log(error)

    def _log(self, error: Exception) -> None:
        """Tells each failure once; an error's own words may quote the user's text."""
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}"
        what = str(error) if isinstance(error, ImportError) else place
        if what not in self._logged:
            self._logged.add(what)
            logger.warning("the project's memory failed: %s", what)
        logger.debug("the project's memory failed", exc_info=error)
