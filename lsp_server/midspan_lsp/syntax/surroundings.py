"""The part of a document that a middle is judged in: what that costs does not grow with the document."""

from __future__ import annotations

from tree_sitter import Node, Tree

from midspan_lsp.syntax.kept import Base, Document
from midspan_lsp.syntax.languages import parser_for
from midspan_lsp.syntax.parsing import TimeLimit, parse
from midspan_lsp.syntax.trees import ByteRange, Hole, first_child_ending_from

# a document that is smaller, and one whose part would be larger, is parsed as a whole, by editing its tree
_SMALL_BYTES, _MOST_BYTES, _MOST_OF_ALL = 4096, 24_000, 1 / 16
# TOML's names are not to be said twice in all of it; Haskell's directives come in pairs that no node holds
_SMALL_BYTES_OF = {"toml": 16_000, "haskell": 32_000}
_MOST_ITEMS = 20  # on each side


def hole_in(document: Document, place: ByteRange, limit: TimeLimit) -> Hole | None:
    """A place in the top-level items around it, if they parse alone as they do in the document; else in all of it.

    None if that takes too long.

    Raises:
        OutOfTimeError: the limit is over.
    """
    if document.base is not None and len(document.source) > _SMALL_BYTES_OF.get(document.language_id, _SMALL_BYTES):
        hole = _hole_in_part(document, document.base, place, limit)
        if hole is not None:
            return hole
    tree = document.parse(limit)
    return None if tree is None else Hole(document.language_id, document.source, place, tree)


def _hole_in_part(document: Document, base: Base, place: ByteRange, limit: TimeLimit) -> Hole | None:
    """The hole in the part of the document that holds it and all that has changed since the base was parsed.

    That part must begin and end with items that stand in the base's tree in the same way.
    """
    shift = base.new_part.end - base.old_part.end
    if base.old_part != base.new_part or base.source != document.source:
        changed = ByteRange(min(place.start, base.new_part.start), max(place.end, base.new_part.end))
    else:
        changed = place
    items = _items_around(base.tree, ByteRange(changed.start, changed.end - shift))
    if not items:
        return None
    first, last = items[0], items[-1]
    start = min(first.start_byte - first.start_point.column, changed.start)
    end_of_line = document.source.find(b"\n", max(last.end_byte + shift, changed.end))
    source = document.source[start : end_of_line + 1 if end_of_line >= 0 else None]
    if len(source) > max(_MOST_BYTES, _MOST_OF_ALL * len(document.source)):
        return None
    parser = parser_for(document.language_id)
    assert parser is not None
    tree = parse(parser, source, limit)
    found = tree.root_node.children
    if not found or not _same(found[0], first, start, changed, 0) or not _same(found[-1], last, start, changed, shift):
        return None
    return Hole(document.language_id, source, ByteRange(place.start - start, place.end - start), tree)


def _same(item: Node, other: Node, start: int, changed: ByteRange, shift: int) -> bool:
    """True if an item of the part is one of the base; not asked of the items that have changed."""
    touched = other.end_byte >= changed.start and other.start_byte + shift <= changed.end
    span = (other.start_byte + shift - start, other.end_byte + shift - start)
    return touched or (item.type == other.type and (item.start_byte, item.end_byte) == span)


def _items_around(tree: Tree, place: ByteRange) -> list[Node]:
    """The root's children that touch a place, and on each side up to one more that is sound and no comment."""
    root = tree.root_node
    if root.is_error or not root.child_count:
        return []
    low = high = min(first_child_ending_from(root, place.start), root.child_count - 1)
    for _ in range(_MOST_ITEMS):
        if not low or (root.child(low).end_byte < place.start and _is_sound(root.child(low))):
            break
        low -= 1
    for _ in range(_MOST_ITEMS):
        last = high + 1 == root.child_count
        if last or (root.child(high).start_byte > place.end and _is_sound(root.child(high))):
            break
        high += 1
    return [root.child(index) for index in range(low, high + 1)]


def _is_sound(node: Node) -> bool:
    return node.is_named and not node.has_error and "comment" not in node.type
