"""What Haskell refuses by lines and columns although its grammar takes it; rules as in `refusals.py`."""

from __future__ import annotations

import re
from itertools import pairwise

from tree_sitter import Node

BRACKETS = ("list", "tuple", "parens", "record", "arithmetic_sequence", "list_comprehension")
_LAYOUTS = {
    *("do", "alternatives", "local_binds", "declarations"),
    *("class_declarations", "instance_declarations"),
}
_DIRECTIVE = re.compile(rb"^#[ \t]*(if|else|elif|endif)", re.MULTILINE)
_NEEDS_OPEN = (b"else", b"elif", b"endif")


def left_of_its_block(node: Node, source: bytes) -> Node | None:
    """Refuses a bracket that goes on or ends in a line that begins no further right than the block's statements.

    Such a line begins the next statement (Haskell 2010 Report, section 10.3), whatever the bracket still waits for.
    """
    if node.has_error:
        return None
    column = None
    for child in node.children:
        if child.is_named or not _is_first(child, source) or child.start_byte == node.start_byte:
            continue
        if column is None:
            column = _column_of_block(node)
        if child.start_point.column <= column:
            return node
    return None


def braces_for_a_value(node: Node, source: bytes) -> Node | None:
    """Refuses fields behind an equals sign: they need something that they are fields of."""
    for before, after in pairwise(node.children):
        if before.is_error and after.start_byte < node.end_byte and source[: before.end_byte].rstrip().endswith(b"="):
            return before
    return None


def without_if(node: Node, source: bytes) -> Node | None:
    """Refuses the preprocessor's `#else`, `#elif` and `#endif` where no `#if` is open."""
    found = _DIRECTIVE.match(source, node.start_byte)
    if found is None or found[1] not in _NEEDS_OPEN:
        return None
    words = [one[1] for one in _DIRECTIVE.finditer(source, 0, node.start_byte)]
    return node if words.count(b"if") <= words.count(b"endif") else None


def without_endif(node: Node, source: bytes) -> Node | None:
    """Refuses the preprocessor's `#if` for which no `#endif` is left."""
    found = _DIRECTIVE.match(source, node.start_byte)
    if found is None or found[1] != b"if":
        return None
    words = [one[1] for one in _DIRECTIVE.finditer(source)]
    return node if words.count(b"if") > words.count(b"endif") else None


def _is_first(node: Node, source: bytes) -> bool:
    return not source[node.start_byte - node.start_point.column : node.start_byte].strip()


def _column_of_block(node: Node) -> int:
    """Where the statements of the block around a node begin; -1 if it is in braces, or has none."""
    above = node.parent
    while above is not None and above.type not in _LAYOUTS:
        above = above.parent
    if above is None or not above.named_children or any(child.type == "{" for child in above.children):
        return -1
    return above.named_children[0].start_point.column
