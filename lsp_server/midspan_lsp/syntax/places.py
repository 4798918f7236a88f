"""Whether a place is in a comment, in a string, or in code, by the document's kept tree."""

from __future__ import annotations

import re
from enum import Enum

from tree_sitter import Node

from midspan_lsp.syntax.languages import canonical_id
from midspan_lsp.syntax.parsing import OutOfTimeError, TimeLimit
from midspan_lsp.syntax.texts import is_code_in_string, is_comment, is_string
from midspan_lsp.syntax.trees import ByteRange, Hole, faults
from midspan_lsp.syntax.validate import MAX_LENGTH, hole_at
from midspan_lsp.types import Span

_LIMIT_S = 0.05
_QUOTES = re.compile(rb"\\.|[\"']")
_CLOSERS = (b"*/", b"-->", b"-}", b"]]", b"%}")
# a mapping's keys are strings of JSON's grammar, and data is all there is
_WITHOUT_STRINGS = frozenset({"json"})


class Kind(Enum):
    """What a place is in."""

    CODE = "code"
    COMMENT = "comment"
    STRING = "string"


def kind_of_place(text: str, offset: int, language_id: str, uri: str = "") -> Kind:
    """What the place is in that is `offset` code points into a document; code where that is not known."""
    if len(text) > MAX_LENGTH:
        return Kind.CODE
    try:
        hole = hole_at(text, Span(offset, offset), language_id, uri)
        return Kind.CODE if hole is None else _kind(hole, canonical_id(language_id))
    except OutOfTimeError:
        return Kind.CODE


def _kind(hole: Hole, language_id: str) -> Kind:
    place, source = hole.old.start, hole.source
    before = max(place - 1, 0)
    node: Node | None = hole.tree.root_node.descendant_for_byte_range(before, max(before, place - 1))
    while node is not None:
        if is_code_in_string(node) and node.end_byte > place:
            return Kind.CODE
        if is_comment(node):
            text = source[node.start_byte : node.end_byte].rstrip()
            is_behind = place >= node.end_byte and (text.endswith(_CLOSERS) or source[before:place] in (b"\n", b"\r"))
            return Kind.CODE if is_behind or place <= node.start_byte else Kind.COMMENT
        is_inside = node.start_byte < place and (place < node.end_byte or _is_open(node))
        if is_inside and is_string(node, source) and language_id not in _WITHOUT_STRINGS:
            return Kind.STRING
        node = node.parent
    is_open = _leaves_a_quote_open(hole) and language_id not in _WITHOUT_STRINGS
    return Kind.STRING if is_open else Kind.CODE


def _is_open(node: Node) -> bool:
    """Whether its end is missing."""
    return node.child_count > 0 and node.child(node.child_count - 1).is_missing


def _leaves_a_quote_open(hole: Hole) -> bool:
    """Whether the cursor's line is at fault before the cursor, and a quote is open there."""
    start = max(hole.head.rfind(b"\n"), hole.head.rfind(b"\r")) + 1
    quote = b""
    for match in _QUOTES.finditer(hole.head, start):
        if match[0].startswith(b"\\"):
            continue
        if not quote:
            quote = match[0]
        elif quote == match[0]:
            quote = b""
    return bool(quote and faults(hole.tree, TimeLimit(_LIMIT_S), ByteRange(start, hole.old.start)))
