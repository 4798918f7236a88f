"""The texts of the open documents, kept as the editor has them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from lsprotocol import types as lsp

from midspan_lsp.documents import DocumentSnapshot, LineIndex, PositionEncoding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class OpenTexts:
    """What is open, by URI; one that is quoted in another way is the same.

    The disk is never read. Changes count in the order in which they come, whatever their version: the connection
    keeps their order, so the last one makes the text that the editor has.
    """

    def __init__(self) -> None:
        self._texts: dict[str, DocumentSnapshot] = {}
        self._lost: set[str] = set()

    def __iter__(self) -> Iterator[DocumentSnapshot]:
        return iter([text for key, text in self._texts.items() if key not in self._lost])

    def find(self, uri: str) -> DocumentSnapshot | None:
        """A document as it stands; None if it is not open or its text is lost."""
        key = unquote(uri)
        return None if key in self._lost else self._texts.get(key)

    def open(self, item: lsp.TextDocumentItem) -> None:
        """A document is open."""
        key = unquote(item.uri)
        self._lost.discard(key)
        self._texts[key] = DocumentSnapshot(item.uri, item.language_id, item.version, item.text)

    def change(self, uri: str, version: int, changes: Sequence[object], encoding: PositionEncoding) -> bool:
        """Changes one after the other, each a whole text or a part; False if the document is not open.

        A part of a lost text is not enough to know it again, a whole text is.
        """
        key = unquote(uri)
        old = self._texts.get(key)
        if old is None:
            return False
        text = old.text
        for change in changes:
            if isinstance(change, lsp.TextDocumentContentChangePartial):
                text = apply_change(text, change, encoding)
            elif isinstance(change, lsp.TextDocumentContentChangeWholeDocument):
                text = change.text
                self._lost.discard(key)
        self._texts[key] = replace(old, version=version, text=text)
        return True

    def lose(self, uri: str) -> None:
        """The editor has changed a document in a way that was not understood: nobody knows its text."""
        key = unquote(uri)
        if key in self._texts:
            self._lost.add(key)

    def close(self, uri: str) -> DocumentSnapshot | None:
        """A document is open no more; as it was."""
        key = unquote(uri)
        self._lost.discard(key)
        return self._texts.pop(key, None)


def apply_change(text: str, change: lsp.TextDocumentContentChangePartial, encoding: PositionEncoding) -> str:
    """A text with a part of it replaced; positions are clamped to it."""
    lines = LineIndex(text)
    start, end = (
        lines.offset(position.line, position.character, encoding) for position in (change.range.start, change.range.end)
    )
    return text[:start] + change.text + text[max(start, end) :]
