"""The tokens of all documents, found by a scan: a few milliseconds for two million, so there is no cleverer index."""

from __future__ import annotations

import os
from sys import getsizeof

import numpy as np

from midspan_lsp.memory.segments import BLOCK_TOKENS, Document, Segment
from midspan_lsp.memory.tokens import KIND_BITS, KIND_MASK, LINE, LINE_SPACE, lex
from midspan_lsp.memory.vocabulary import Ids, Vocabulary

FULL = 0.95
"""Share of a bound down to which is forgotten, and up to which files are read ahead."""
_DOCUMENT_BYTES = 800  # of one document beside its tokens: the object, its strings, its entries in tables


class TokenIndex:
    """Documents as arrays of token ids. Belongs to one thread at a time."""

    def __init__(self) -> None:
        self.vocabulary = Vocabulary()
        self.n_readers = 0  # who hold ids that are in no document yet; while there are any, ids keep their meaning
        self._documents: dict[str, Document] = {}
        self._open: dict[str, Document] = {}
        self._blocks: dict[str, list[Segment]] = {}

    def __contains__(self, key: object) -> bool:
        return key in self._documents

    def __len__(self) -> int:
        return len(self._documents)

    @property
    def n_tokens(self) -> int:
        """Tokens of all documents."""
        return sum(document.n_tokens for document in self._documents.values())

    @property
    def n_bytes(self) -> int:
        """Memory it takes, about: arrays, strings, and the text of open documents."""
        blocks = sum(block.n_bytes for blocks in self._blocks.values() for block in blocks)
        own = sum(document.segment.n_bytes + getsizeof(document.text) for document in self._open.values())
        return self.vocabulary.n_bytes + blocks + own + _DOCUMENT_BYTES * len(self._documents)

    def get(self, key: str) -> Document | None:
        """A document, if it is there."""
        return self._documents.get(key)

    def documents(self) -> list[Document]:
        """All documents."""
        return list(self._documents.values())

    def files_of(self, path: str) -> list[str]:
        """Keys of the documents, not the open ones, that are a file, or the files of a folder."""
        document = self._documents.get(path)
        if document is not None:
            return [path] if document.text is None else []
        below = path.rstrip(os.sep) + os.sep
        return [key for key, one in self._documents.items() if one.text is None and key.startswith(below)]

    def segments(self, family: str) -> list[Segment]:
        """What is to be searched for a language family: open documents first."""
        own = [document.segment for document in self._open.values() if document.family == family]
        return own + self._blocks.get(family, [])

    def put_open(self, document: Document) -> None:
        """Add or replace an open document, which takes its file's place; its `text` is set and will be edited."""
        assert document.text is not None
        self.remove(document.key)
        file = self._documents.get(document.path)
        if file is not None and self.vocabulary.text(file.ids) == document.text:  # ten times as fast as the lexer
            ids = file.ids.copy()
            self.vocabulary.take_ids(ids)
        else:
            ids = self.vocabulary.take(lex(document.text))
        self.remove(document.path)
        Segment(len(ids)).append(document, ids)
        self._documents[document.key] = self._open[document.key] = document

    def put_file(self, document: Document, ids: Ids) -> None:
        """Add or replace a document that will not be edited; its ids were taken from the vocabulary."""
        self.remove(document.key)
        self._documents[document.key] = document
        blocks = self._blocks.setdefault(document.family, [])
        block = next((block for block in blocks if block.has_room(len(ids))), None)
        if block is None:
            # families of few files do not take a whole block each
            total = sum(block.n_live for block in blocks)
            block = Segment(max(len(ids) + 1, min(BLOCK_TOKENS, max(4096, 2 * total))))
            blocks.append(block)
        block.append(document, ids)

    def edit(self, key: str, text: str) -> None:
        """Give an open document another text; only the lines that differ are read again.

        Raises:
            KeyError: no such document.
        """
        document = self._documents[key]
        old = document.text
        assert old is not None
        if old == text:
            return
        head = _common_head(old, text)
        tail = _common_tail(old, text, min(len(old), len(text)) - head)
        first, last, start, end = self._touched(document, old, head, len(old) - tail)
        ids = self.vocabulary.take(lex(text[start : len(text) - (len(old) - end)]))
        gone = document.ids[first:last].copy()
        document.segment.replace(document, first, last, ids)
        self.vocabulary.release(gone)
        document.text = text

    def remove(self, key: str) -> None:
        """Forget a document and the strings that no other holds."""
        document = self._documents.pop(key, None)
        if document is None:
            return
        self.vocabulary.release(document.ids)
        document.segment.remove(document)
        if self._open.pop(key, None) is None:
            self._tidy(document.family, document.segment)
        if self.vocabulary.is_sparse and not self.n_readers:
            new_ids = self.vocabulary.compact()
            own = [document.segment for document in self._open.values()]
            for segment in [*own, *(block for blocks in self._blocks.values() for block in blocks)]:
                segment.ids[:] = new_ids[segment.ids >> KIND_BITS]

    def shrink(self, limit_bytes: int) -> None:
        """Forget the files that were used least recently if it takes more than that; open documents stay."""
        if self.n_bytes <= limit_bytes:
            return
        for document in sorted(self.documents(), key=lambda one: one.recency):
            if document.text is None:
                self.remove(document.key)
            if self.n_bytes <= limit_bytes * FULL:
                return

    def place_of(self, document: Document, offset: int) -> tuple[int, int]:
        """Tokens `(first, end)` of the line that holds a code point; the line break before it is the first of them."""
        starts = self._starts(document)
        breaks = np.flatnonzero((document.ids & KIND_MASK) == LINE)
        after = int(np.searchsorted(starts[breaks], offset, side="left"))
        first = int(breaks[after - 1]) if after else 0
        if after and "\n" in self.vocabulary.string(int(document.ids[first]))[offset - int(starts[first]) :]:
            return first, first + 1  # the cursor's line is blank, and within that token
        return first, int(breaks[after]) if after < len(breaks) else document.n_tokens

    def line_number(self, segment: Segment, document: Document, position: int) -> int:
        """Number, from 0, of the line on which a segment's token begins."""
        before = segment.ids[document.start : position]
        breaks = before[(before & KIND_MASK) == LINE]
        text = self.vocabulary.text(breaks)
        return text.count("\n") + text.count("\r") - text.count("\r\n")

    def _starts(self, document: Document) -> Ids:
        """Offset of each token of a document, shape (n_tokens,)."""
        lengths = self.vocabulary.lengths(document.ids)
        starts = np.zeros(len(lengths), np.int32)
        np.cumsum(lengths[:-1], out=starts[1:])
        return starts

    def _touched(self, document: Document, old: str, start: int, end: int) -> tuple[int, int, int, int]:
        """Tokens and code points, from and to, of the lines that an edit of `start` to `end` touches."""
        starts = self._starts(document)
        breaks = np.flatnonzero((document.ids & KIND_MASK) == LINE)
        offsets = starts[breaks]
        before = int(np.searchsorted(offsets, start, side="left")) - 1
        first, first_offset = (int(breaks[before]), int(offsets[before])) if before >= 0 else (0, 0)
        after = int(np.searchsorted(offsets, end, side="right"))
        # behind white space a line break may become part of another token
        while after < len(breaks) and (int(offsets[after]) <= end or old[int(offsets[after]) - 1] in LINE_SPACE):
            after += 1
        if after < len(breaks):
            return first, int(breaks[after]), first_offset, int(offsets[after])
        return first, document.n_tokens, first_offset, len(old)

    def _tidy(self, family: str, block: Segment) -> None:
        """Give back the room of removed files."""
        blocks = self._blocks[family]
        if block.n_live and block.n_wasted <= block.n_live:
            return
        blocks.remove(block)
        if block.n_live:
            fresh = Segment(max(4096, block.n_live + len(block.documents())))
            for document in block.documents():
                fresh.append(document, document.ids)
            blocks.append(fresh)
        if not blocks:
            del self._blocks[family]


def _common_head(first: str, second: str) -> int:
    """How many characters two texts have in common at their beginning; compares slices, not characters."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_tail(first: str, second: str, most: int) -> int:
    """How many characters, at most `most`, two texts have in common at their end."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if first[len(first) - middle : len(first) - low] == second[len(second) - middle : len(second) - low]:
            low = middle
        else:
            high = middle - 1
    return low
