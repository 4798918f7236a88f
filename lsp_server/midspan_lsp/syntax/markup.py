"""What HTML and CSS refuse although their grammars take it; rules as in `refusals.py`."""

from __future__ import annotations

from tree_sitter import Node

_ONCE = (b"html", b"head", b"body")
_WITH_SEMICOLONS = (b"url", b"if")  # data urls, and the branches of CSS's conditions


def within_itself(node: Node, source: bytes) -> Node | None:
    """Refuses the start of a part of the page within that part."""
    name = _tag(node, source)
    above = node.parent.parent if name in _ONCE and node.parent is not None else None
    while above is not None:
        if above.named_children and _tag(above.named_children[0], source) == name:
            return node
        above = above.parent
    return None


def with_semicolon(node: Node, source: bytes) -> Node | None:
    """Refuses an end of declarations among a function's arguments."""
    call, semicolon = node.parent, next((child for child in node.children if child.type == ";"), None)
    name = call.named_children[0] if call is not None else node
    return None if source[name.start_byte : name.end_byte].lower() in _WITH_SEMICOLONS else semicolon


def _tag(start: Node, source: bytes) -> bytes:
    if start.type != "start_tag" or not start.named_children:
        return b""
    name = start.named_children[0]
    return source[name.start_byte : name.end_byte].lower()
