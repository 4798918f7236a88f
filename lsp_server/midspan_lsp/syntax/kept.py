"""The documents' trees, kept between requests: of what changed since, only the changed part is parsed again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

from tree_sitter import Tree

from midspan_lsp.syntax.languages import canonical_id, parser_for
from midspan_lsp.syntax.parsing import OutOfTimeError, TimeLimit, encode, parse
from midspan_lsp.syntax.trees import ByteRange, edited

_CHUNK_BYTES = 1 << 16


@dataclass(frozen=True)
class Document:
    """A text as the parser sees it.

    Attributes:
        language_id: as the gate's table has it.
        text: in code points.
        source: the text in UTF-8.
        tree: of the source; None if parsing it took too long.
    """

    language_id: str
    text: str
    source: bytes
    tree: Tree | None


class KeptTrees:
    """The documents used last, by uri. Safe to use from several threads."""

    def __init__(self, most_documents: int, most_bytes: int) -> None:
        """`most_bytes` of sources in all; the newest is kept whatever its size."""
        self._most_documents, self._most_bytes = most_documents, most_bytes
        self._kept: OrderedDict[str, Document] = OrderedDict()
        self._lock = threading.Lock()

    def document(self, uri: str, language_id: str, text: str, limit: TimeLimit) -> Document | None:
        """A document with its tree, which comes from the one before it of the same uri; None if there is no grammar."""
        language_id = canonical_id(language_id)
        with self._lock:
            old = self._kept.get(uri)
        if old is not None and old.language_id == language_id and old.text == text:
            return old
        parser = parser_for(language_id)
        if parser is None:
            return None
        source = encode(text)
        before = None
        if old is not None and old.tree is not None and old.language_id == language_id:
            old_part, new_part = difference(old.source, source)
            before = edited(old.tree, old.source, source, old_part, new_part.end)
        try:
            tree = parse(parser, source, limit, before)
        except OutOfTimeError:
            tree = None
        document = Document(language_id, text, source, tree)
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
    start = _n_common(old, new)
    end = _n_common(old[start:][::-1], new[start:][::-1])
    return ByteRange(start, len(old) - end), ByteRange(start, len(new) - end)


def _n_common(one: bytes, other: bytes) -> int:
    """How many bytes are the same from the start; compared in chunks, then by halves."""
    n_bytes = min(len(one), len(other))
    start = 0
    while start < n_bytes and one[start : start + _CHUNK_BYTES] == other[start : start + _CHUNK_BYTES]:
        start += _CHUNK_BYTES
    start, end = min(start, n_bytes), min(start + _CHUNK_BYTES, n_bytes)
    while start < end:
        half = (start + end + 1) // 2
        if one[start:half] == other[start:half]:
            start = half
        else:
            end = half - 1
    return start
