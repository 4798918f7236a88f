"""The documents' trees, kept between requests: of what changed since, only the changed part is parsed again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from tree_sitter import Tree

from midspan_lsp.syntax.languages import canonical_id, parser_for
from midspan_lsp.syntax.parsing import OutOfTimeError, TimeLimit, encode, parse
from midspan_lsp.syntax.trees import ByteRange, edited

_CHUNK_BYTES = 1 << 16


@dataclass(frozen=True)
class Base:
    """What was parsed last.

    Attributes:
        source: of this or an earlier text of the document.
        tree: of the source.
        old_part: of the source, where it differs from the document as it is now.
        new_part: the same part as it is now.
    """

    source: bytes
    tree: Tree
    old_part: ByteRange
    new_part: ByteRange


class Document:
    """A text as the parser sees it.

    Attributes:
        language_id: as the gate's table has it.
        text: in code points.
        source: the text in UTF-8.
        base: the tree it has, maybe of a text before; None if parsing takes too long.
    """

    def __init__(self, language_id: str, text: str, base: Base | None) -> None:
        self.language_id, self.text, self.source = language_id, text, encode(text)
        self.base = base and Base(base.source, base.tree, *difference(base.source, self.source))

    def parse(self, limit: TimeLimit) -> Tree | None:
        """The tree of the text, which becomes the base; None if it takes too long."""
        base, n_bytes = self.base, len(self.source)
        if base is not None and base.old_part == base.new_part and base.source == self.source:
            return base.tree
        parser = parser_for(self.language_id)
        assert parser is not None
        before = base and edited(base.tree, base.source, self.source, base.old_part, base.new_part.end)
        try:
            tree = parse(parser, self.source, limit, before)
        except OutOfTimeError:
            self.base = None
            return None
        nothing = ByteRange(n_bytes, n_bytes)
        self.base = Base(self.source, tree, nothing, nothing)
        return tree


class KeptTrees:
    """The documents used last, by uri. Safe to use from several threads."""

    def __init__(self, most_documents: int, most_bytes: int) -> None:
        """`most_bytes` of sources in all; the newest is kept whatever its size."""
        self._most_documents, self._most_bytes = most_documents, most_bytes
        self._kept: OrderedDict[str, Document] = OrderedDict()
        self._lock = threading.Lock()

    def document(self, uri: str, language_id: str, text: str, limit: TimeLimit) -> Document | None:
        """A document with its base, which may be from the text before of the same uri; None if there is no grammar."""
        language_id = canonical_id(language_id)
        with self._lock:
            old = self._kept.get(uri)
        if old is not None and old.language_id == language_id and old.text == text:
            return old
        if parser_for(language_id) is None:
            return None
        document = Document(language_id, text, old.base if old and old.language_id == language_id else None)
        if document.base is None:
            document.parse(limit)
        with self._lock:
            self._keep(uri, document)
        return document

    def forget(self, uri: str) -> None:
        """The document was closed."""
        with self._lock:
            self._kept.pop(uri, None)

    def _keep(self, uri: str, document: Document) -> None:
        self._kept[uri] = document
        self._kept.move_to_end(uri)
        while len(self._kept) > self._most_documents or (
            len(self._kept) > 1 and sum(len(kept.source) for kept in self._kept.values()) > self._most_bytes
        ):
            self._kept.popitem(last=False)


def difference(old: bytes, new: bytes) -> tuple[ByteRange, ByteRange]:
    """The one part of each in which they differ; what is before it and behind it is the same in both."""
    n_both = min(len(old), len(new))
    start = _n_same(n_both, lambda begin, end: old[begin:end] == new[begin:end])
    n_old, n_new = len(old), len(new)
    n_behind = _n_same(
        n_both - start, lambda begin, end: old[n_old - end : n_old - begin] == new[n_new - end : n_new - begin]
    )
    return ByteRange(start, n_old - n_behind), ByteRange(start, n_new - n_behind)


def _n_same(most: int, same: Callable[[int, int], bool]) -> int:
    """How far two texts agree: looked at in chunks, then by halves."""
    start = 0
    while start < most and same(start, min(start + _CHUNK_BYTES, most)):
        start = min(start + _CHUNK_BYTES, most)
    end = min(start + _CHUNK_BYTES, most)
    while start < end:
        half = (start + end + 1) // 2
        start, end = (half, end) if same(start, half) else (start, half - 1)
    return start
