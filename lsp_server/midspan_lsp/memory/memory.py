"""The project's memory: what the server tells it, and what it answers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from midspan_lsp.config import MemorySettings
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.memory.continuations import cursor_of
from midspan_lsp.memory.drafts import FEW_PLACES, RetrievedDraft, find_drafts
from midspan_lsp.memory.files import add_file, forget_missing
from midspan_lsp.memory.folders import Folders
from midspan_lsp.memory.index import FULL, TokenIndex
from midspan_lsp.memory.languages import family_of
from midspan_lsp.memory.neighbours import Neighbours
from midspan_lsp.memory.secrets import is_secret_file
from midspan_lsp.memory.segments import Document
from midspan_lsp.memory.stats import MemoryStats, Opened, Pause
from midspan_lsp.memory.usage import Usage
from midspan_lsp.memory.workspace import SourceFile


class ProjectMemory:
    """Open documents and the files of workspace folders. Belongs to one thread at a time; raises nothing of the disk's.

    Args:
        settings: its bounds.
        folder: where stores are kept; None: the cache folder's place for them.
        keep: whether files are kept in a store for the next start.
    """

    def __init__(self, settings: MemorySettings, folder: Path | None = None, *, keep: bool = True) -> None:
        self._settings = settings
        self._limit = settings.max_megabytes * 2**20
        self._folders = Folders(settings, folder, keep=keep)
        self._index = TokenIndex()
        self._opened: dict[str, Opened] = {}
        self._neighbours = Neighbours(self._index)
        self._clock = 0
        self._n_scanned = 0
        self._n_requests = 0
        self._n_hits = 0

    def open(self, uri: str, path: str | None, language_id: str, text: str) -> None:
        """A document was opened: from now on its text counts, not its file's. Secret and ignored ones are left out."""
        real = os.path.realpath(path) if path else ""
        self._opened[uri] = Opened(real, family_of(language_id, path or uri))
        self.change(uri, text)
        self._index.remove(real)

    def change(self, uri: str, text: str) -> None:
        """An open document has another text. Unknown documents are ignored."""
        opened = self._opened.get(uri)
        if opened is None or not self._settings.enabled:
            return
        self._clock += 1
        if len(text) > self._settings.max_file_kilobytes * 1024 or not self._may_hold(uri, opened.path):
            self._index.remove(uri)
            return
        document = self._index.get(uri)
        if document is None:
            self._index.put_open(Document(uri, opened.path, opened.family, self._clock, text))
        else:
            document.recency = self._clock
            self._index.edit(uri, text)
        self._index.shrink(self._limit)

    def close(self, uri: str) -> None:
        """A document was closed: its file counts again, if it is a workspace's; else it is forgotten."""
        opened = self._opened.pop(uri, None)
        self._neighbours.forget(uri)
        self._index.remove(uri)
        if opened is not None and opened.path:
            self.refresh(opened.path)

    def refresh(self, path: str) -> None:
        """A file was written: read it again, if it is a workspace's and not open."""
        for _ in self.reread([path]):
            pass

    def reread(self, paths: Sequence[str]) -> Iterator[None]:
        """Files were written or are gone: reads them again where `refresh` would; yields every few milliseconds."""
        if not self._settings.enabled:
            return
        pause = Pause()
        for path in paths:
            real = os.path.realpath(path)
            if any(opened.path == real for opened in self._opened.values()):
                continue
            file = self._folders.source_file(real)
            if file is not None:
                self._clock += 1
                held, *others = self._folders.holding(real)
                for _, store in others:
                    if store is not None:
                        store.delete(real)  # what it has is out of date
                for _ in add_file(self._index, *held, file, self._clock):
                    if pause.due():
                        yield
                self._index.shrink(self._limit)
            elif not Path(real).is_dir():  # one that is there is for a scan
                self.forget(real)
            if pause.due():
                yield

    def forget(self, path: str) -> None:
        """A file or folder is gone, or is not to be remembered any more; documents still open stay until closed."""
        real = os.path.realpath(path)
        for key in self._index.files_of(real):
            self._index.remove(key)
        self._folders.forget(real)

    def renamed(self, uri: str, new_uri: str, path: str | None = None, new_path: str | None = None) -> None:
        """A document or file has another name."""
        opened = self._opened.get(uri)
        if opened is not None:
            document = self._index.get(uri)
            text = document.text if document is not None else None
            del self._opened[uri]
            self._index.remove(uri)
            if text is None:
                self._opened[new_uri] = Opened(os.path.realpath(new_path) if new_path else "", opened.family)
            else:
                self.open(new_uri, new_path, opened.family, text)
        for file in filter(None, (path, new_path)):
            self.refresh(file)

    def scan(self, folder: str | Path) -> Iterator[None]:
        """Reads a workspace folder, or reads again what changed there; yields every few milliseconds.

        The caller may pause between steps, or drop the generator: what was read until then stays. Files of the open
        documents' languages come first.
        """
        if not self._settings.enabled:
            return
        workspace, store = self._folders.enter(str(folder))
        self._leave_out_ignored()
        pause = Pause()
        found: list[SourceFile] = []
        for file in workspace.walk():
            if file is not None:
                found.append(file)
            if pause.due():
                yield
        wanted = [opened.family for opened in self._opened.values()][::-1]
        order = {family: number for number, family in enumerate(dict.fromkeys(wanted))}
        found.sort(key=lambda file: order.get(file.family, len(order)))
        yield from forget_missing(self._index, workspace, store, {file.path for file in found}, pause)
        limit = int(FULL * self._limit)  # what is opened then need not push out anything
        for file in found:
            if self._index.n_bytes > limit:
                break
            is_open = any(opened.path == file.path for opened in self._opened.values())
            if is_open or (len(self._folders.holding(file.path)) > 1 and not self._folders.may_read(file.path)):
                continue
            self._n_scanned += 1
            for _ in add_file(self._index, workspace, store, file, -self._n_scanned):
                if pause.due():
                    yield
            if self._index.n_bytes > limit:
                self._index.remove(file.path)
            if pause.due():
                yield
        if store is not None:
            store.flush()

    def leave(self, folder: str | Path) -> None:
        """A workspace folder is no more: its files are forgotten, but for those of another; its store is kept."""
        self._folders.leave(str(folder))
        for key in self._index.files_of(os.path.realpath(folder)):
            if not self._folders.holding(key):
                self._index.remove(key)

    def drafts(
        self, snapshot: DocumentSnapshot, offset: int, max_lines: int = 1, min_indent: int | None = None
    ) -> list[RetrievedDraft]:
        """The best few drafts for a cursor, best first; none where the memory knows nothing alike.

        Args:
            snapshot: the document as it stands; need not be open.
            offset: of the cursor, in code points.
            max_lines: most lines of a draft.
            min_indent: columns; a draft of several lines ends before a line that is indented less.
        """
        if not self._settings.enabled:
            return []
        self.change(snapshot.uri, snapshot.text)
        cursor = cursor_of(snapshot.text[:offset], snapshot.text[offset:], max_lines, min_indent)
        found = find_drafts(self._index, self._index.get(snapshot.uri), self._family(snapshot), offset, cursor)
        self._n_requests += 1
        self._n_hits += bool(found)
        return found

    def continuation(
        self, snapshot: DocumentSnapshot, offset: int, begun: str, max_lines: int = 1, min_indent: int | None = None
    ) -> str:
        """How a middle goes on that begins with `begun`, by the best draft behind that; "" where there is none.

        The document is not taken to have this beginning; the other arguments are those of `drafts`.
        """
        if not self._settings.enabled:
            return ""
        document = self._index.get(snapshot.uri)
        cursor = cursor_of(snapshot.text[:offset] + begun, snapshot.text[offset:], max_lines, min_indent)
        found = find_drafts(self._index, document, self._family(snapshot), offset, cursor, FEW_PLACES)
        return found[0].text if found else ""

    def neighbour(self, snapshot: DocumentSnapshot, offset: int) -> str:
        """Lines of the project that are like those before a cursor, the same ones while one types; "" if none are.

        Args:
            snapshot: the document as it stands; need not be open.
            offset: of the cursor, in code points.
        """
        if not self._settings.enabled:
            return ""
        self.change(snapshot.uri, snapshot.text)
        document = self._index.get(snapshot.uri)
        return self._neighbours.near(snapshot, document, self._family(snapshot), offset)

    def stats(self) -> MemoryStats:
        """Its size, and how often it had an answer."""
        index = self._index
        return MemoryStats(len(index), len(self._opened), index.n_tokens, index.n_bytes, self._n_requests, self._n_hits)

    def add_usage(self, counts: Mapping[str, Usage]) -> None:
        """Keep counts by workspace folder, where stores are kept."""
        self._folders.add_usage(counts)

    def aclose(self) -> None:
        """Let go of the stores."""
        self._folders.close()

    def _family(self, snapshot: DocumentSnapshot) -> str:
        opened = self._opened.get(snapshot.uri)
        return opened.family if opened else family_of(snapshot.language_id, snapshot.uri)

    def _may_hold(self, uri: str, path: str) -> bool:
        """Whether an open document may be remembered."""
        return not is_secret_file(path or uri) and self._folders.may_read(path)

    def _leave_out_ignored(self) -> None:
        for uri, opened in self._opened.items():
            if not self._may_hold(uri, opened.path):
                self._index.remove(uri)
