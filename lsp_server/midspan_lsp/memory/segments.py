"""Arrays of token ids that are searched in one go: one open document, or a block of many files.

Every array begins and ends with a separator, and one stands between documents: no match runs from one into another, or
out of the array.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

import numpy as np

from midspan_lsp.memory.vocabulary import Ids

BLOCK_TOKENS = 1 << 18
"""Room of a block: 1 MB. A processor's cache holds it while it is searched."""


@dataclass(eq=False)
class Document:
    """One text of the index.

    Attributes:
        key: its uri.
        path: its file, or "" where it has none.
        family: of its language; only texts of one family are searched together.
        recency: when it was last used; greater is later.
        text: the whole text of an open document, None for a file.
        n_tokens: of its text.
        segment: where its tokens are.
        start: index of its first token there.
    """

    key: str
    path: str
    family: str
    recency: int
    text: str | None = None
    n_tokens: int = 0
    segment: Segment = field(default_factory=lambda: Segment())  # noqa: PLW0108  (it is defined below)
    start: int = 1

    @property
    def ids(self) -> Ids:
        """A view of its tokens, shape (n_tokens,)."""
        return self.segment.ids[self.start : self.start + self.n_tokens]


class Segment:
    """An array of ids and the documents in it, in order."""

    def __init__(self, capacity: int = 0) -> None:
        self._room = np.zeros(capacity + 2, np.int32)
        self._used = 1
        self._documents: list[Document] = []
        self._starts: list[int] = []
        self.n_live = 0

    @property
    def ids(self) -> Ids:
        """All ids, separators included; a view."""
        return self._room[: self._used + 1]

    @property
    def n_bytes(self) -> int:
        """Memory of the array."""
        return self._room.nbytes

    @property
    def n_wasted(self) -> int:
        """Tokens of removed documents."""
        return self._used - 1 - len(self._documents) - self.n_live

    def documents(self) -> list[Document]:
        """What is in it, in order."""
        return list(self._documents)

    def has_room(self, n_tokens: int) -> bool:
        """Whether a document of that size can be appended."""
        return self._used + n_tokens + 1 < len(self._room)

    def append(self, document: Document, ids: Ids) -> None:
        """Puts a document behind the others."""
        end = self._used + len(ids)
        self._room[self._used : end] = ids
        document.segment, document.start, document.n_tokens = self, self._used, len(ids)
        self._documents.append(document)
        self._starts.append(self._used)
        self._used = end + 1
        self.n_live += len(ids)

    def remove(self, document: Document) -> None:
        """Wipes a document's tokens."""
        at = self._documents.index(document)
        del self._documents[at], self._starts[at]
        document.ids[:] = 0
        self.n_live -= document.n_tokens

    def replace(self, document: Document, start: int, end: int, ids: Ids) -> None:
        """Puts ids in the place of tokens `start` to `end` of the only document of this segment."""
        old = document.ids
        zero = np.zeros(1, np.int32)
        self._room = np.concatenate([zero, old[:start], ids, old[end:], zero, zero])
        document.n_tokens += len(ids) - (end - start)
        self.n_live = document.n_tokens
        self._used = document.n_tokens + 2

    def document_at(self, position: int) -> Document:
        """The document that holds a token."""
        return self._documents[bisect_right(self._starts, position) - 1]
