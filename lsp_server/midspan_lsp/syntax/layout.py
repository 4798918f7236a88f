"""Whether a statement of Python begins in the column where it must: its grammar takes many others."""

from __future__ import annotations

from tree_sitter import Node

_BODIES = ("block", "module")
_CLAUSES = ("else_clause", "elif_clause", "except_clause", "except_group_clause", "finally_clause")


def misplaced(node: Node, source: bytes) -> bool:
    """True if a statement or clause begins a line in another column than its siblings or its own statement."""
    parent = node.parent
    if parent is None or not node.is_named or node.type == "comment" or parent.has_error:
        return False
    indent = _indent(node, source)
    if indent is None:
        return False
    if parent.type == "module":
        return indent != b""
    if parent.type == "block":
        first = next((child for child in parent.named_children if child.type != "comment"), node)
        wanted = _indent(first, source)
    elif node.type in _CLAUSES:
        wanted = _indent(parent, source)
    else:
        return False
    return wanted is not None and _columns(indent) != _columns(wanted)


def _indent(node: Node, source: bytes) -> bytes | None:
    """The white space before a node; None if it is not the first on its line."""
    before = source[node.start_byte - node.start_point.column : node.start_byte]
    return None if before.strip() else before.rpartition(b"\f")[2]


def _columns(indent: bytes) -> tuple[int, int]:
    """Python compares indents with tabs of eight columns and of one, and both must agree."""
    return len(indent.expandtabs(8)), len(indent.expandtabs(1))
