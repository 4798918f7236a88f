"""What a language refuses because it is said already; rules as in `refusals.py`."""

from __future__ import annotations

from tree_sitter import Node


def said_again(node: Node, source: bytes) -> Node | None:
    """Refuses a key or table whose name another one beside it has; each table of an array has its own."""
    parent = node.parent
    if parent is None or not node.named_children:
        return None
    name = _name(node, source)
    for child in parent.named_children:
        if child.type == "table_array_element" and name.startswith(_name(child, source) + b"."):
            return None
        if child.type == node.type and child.id != node.id and _name(child, source) == name:
            return node
    return None


def _name(node: Node, source: bytes) -> bytes:
    first = node.named_children[0] if node.named_children else node
    return source[first.start_byte : first.end_byte]


def also_a_value(node: Node, source: bytes) -> Node | None:
    """Refuses TOML's table `a.b` where the table `a` gives `b` a value."""
    above, _, last = _name(node, source).rpartition(b".")
    tables = node.parent.named_children if above and node.parent is not None else []
    found = (pair for table in tables if _name(table, source) == above for pair in _pairs(table))
    return node if any(_name(pair, source) == last for pair in found) else None


def also_a_table(node: Node, source: bytes) -> Node | None:
    """Refuses a value of TOML's `b` in the table `a` where there is a table `a.b`."""
    table = node.parent
    if table is None or table.type != "table" or table.parent is None:
        return None
    name = _name(table, source) + b"." + _name(node, source)
    return (
        node if any(one.type == "table" and _name(one, source) == name for one in table.parent.named_children) else None
    )


def _pairs(table: Node) -> list[Node]:
    return [child for child in table.named_children if table.type == "table" and child.type == "pair"]


def name_twice(node: Node, source: bytes) -> Node | None:
    """The second of two parameters, or arguments with a keyword, that have one name."""
    known = set[bytes]()
    for child in node.named_children:
        name = child.child_by_field_name("name")
        if child.type in _PARAMETERS:
            name = child if child.type == "identifier" else next(iter(child.named_children), None)
        if name is None or (node.type == "argument_list" and child.type != "keyword_argument"):
            continue
        text = source[name.start_byte : name.end_byte]
        if text in known:
            return name
        known.add(text)
    return None


_PARAMETERS = {"identifier", "typed_parameter"}


def same_again(node: Node, source: bytes) -> Node | None:
    """Refuses what a sibling says word for word."""
    text, parent = source[node.start_byte : node.end_byte], node.parent
    same = (child for child in (parent.named_children if parent is not None else ()) if child.type == node.type)
    said = [child for child in same if source[child.start_byte : child.end_byte] == text]
    return node if len(said) > 1 and not node.has_error else None
