"""Workspace folders and changed files are read in the background, in steps between which requests get in."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from midspan_lsp.engine.memory_thread import FILES, MemoryThread


class Reader:
    """Has the memory's thread read. Belongs to one event loop.

    Args:
        thread: the memory's.
        quiet_s: it pauses for so long after each `rest`.
        on_read: called whenever a folder or files have been read.

    Attributes:
        folders: the workspace's.
    """

    def __init__(self, thread: MemoryThread, quiet_s: float, on_read: Callable[[], None]) -> None:
        self.folders: dict[str, None] = {}
        self._thread = thread
        self._quiet_s = quiet_s
        self._on_read = on_read
        self._quiet_until_s = 0.0
        self._to_scan: dict[str, None] = {}
        self._to_reread: dict[str, None] = {}
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def rest(self) -> None:
        """The user is at work."""
        self._quiet_until_s = time.monotonic() + self._quiet_s

    def add(self, folder: str) -> None:
        """Read a folder from now on."""
        self._loop = asyncio.get_running_loop()
        self.folders[folder] = None
        self._scan_later(folder)

    def remove(self, folder: str) -> None:
        """Read a folder no more."""
        self.folders.pop(folder, None)
        self._to_scan.pop(folder, None)

    def reread(self, paths: Iterable[str]) -> None:
        """Read files again."""
        self._to_reread.update(dict.fromkeys(paths))
        self._read_on()

    def rescan(self, place: Path) -> None:
        """On the thread: has the folders read again that a place lies in, or that lie in it."""
        for folder in list(self.folders):
            known = Path(os.path.realpath(folder))
            if self._loop is not None and (place.is_relative_to(known) or known.is_relative_to(place)):
                self._loop.call_soon_threadsafe(self._scan_later, folder)

    async def settled(self) -> None:
        """Until all is read."""
        if self._task is not None:
            await asyncio.wait({self._task})

    def stop(self) -> None:
        """Read nothing more."""
        self.folders.clear()
        if self._task is not None:
            self._task.cancel()

    def _scan_later(self, folder: str) -> None:
        if folder not in self.folders:
            return
        # its rules count at once, though the reading may have to wait
        self._thread.submit(lambda memory: self._thread.begin_scan(memory, folder), None)
        self._to_scan[folder] = None
        self._read_on()

    def _read_on(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._read())

    async def _read(self) -> None:
        while self._to_scan or self._to_reread:
            if self._to_reread:
                paths, self._to_reread = list(self._to_reread), {}
                self._thread.submit(lambda memory, paths=paths: self._thread.begin_files(memory, paths), None)
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
            self._on_read()
