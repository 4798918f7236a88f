"""The workspace folders, one perhaps within the other: whose rules count, and where files are kept."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from midspan_lsp.config import MemorySettings
from midspan_lsp.memory.place import memory_folder
from midspan_lsp.memory.store import Store
from midspan_lsp.memory.usage import Usage, add_usage
from midspan_lsp.memory.workspace import SourceFile, Workspace

Held = tuple[Workspace, Store | None]


class Folders:
    """Rules and stores by folder. A file of several folders counts once, and only if all of them let it be read.

    Args:
        settings: what is ignored, and how large a file may be.
        stores: where stores are; None: the cache folder's place for them.
        keep: whether there are any.
    """

    def __init__(self, settings: MemorySettings, stores: Path | None, *, keep: bool) -> None:
        self._settings = settings
        self._stores = stores
        self._keep = keep
        self._held: dict[str, Held] = {}

    def enter(self, folder: str) -> Held:
        """A folder's rules, read afresh, and its store."""
        real = os.path.realpath(folder)
        workspace = Workspace(Path(real), self._settings.ignore, self._settings.max_file_kilobytes * 1024)
        store = self._held[real][1] if real in self._held else None
        if store is None and self._keep:
            store = Store(self._stores or memory_folder(), real)
        self._held[real] = (workspace, store)
        return workspace, store

    def leave(self, folder: str) -> None:
        """A folder is no more; its store is kept for the next time."""
        _, store = self._held.pop(os.path.realpath(folder), (None, None))
        if store is not None:
            store.close()

    def holding(self, path: str) -> list[Held]:
        """Those that a file lies in."""
        return [held for held in self._held.values() if path and held[0].holds(path)]

    def may_read(self, path: str) -> bool:
        """Whether no folder has a file ignored; one in no folder is not."""
        return all(workspace.may_read(path) for workspace, _ in self.holding(path))

    def source_file(self, path: str) -> SourceFile | None:
        """A file, if it is code that may be read and lies in a folder."""
        files = [workspace.source_file(path) for workspace, _ in self.holding(path)]
        return files[0] if files and None not in files else None

    def forget(self, real: str) -> None:
        """A file or folder is to be in no store."""
        for workspace, store in self._held.values():
            if store is not None and (workspace.holds(real) or real == workspace.folder):
                store.delete(real)
                store.flush()

    def add_usage(self, counts: Mapping[str, Usage]) -> None:
        """Keep counts by folder, beside the stores."""
        if self._keep:
            add_usage(self._stores or memory_folder(), counts)

    def close(self) -> None:
        """Let go of the stores."""
        for folder in list(self._held):
            self.leave(folder)
