"""What the gate asks of trees: a document with a hole filled, faults, tokens. All positions are bytes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tree_sitter import Node, Parser, Tree

from midspan_lsp.syntax.languages import parser_for
from midspan_lsp.syntax.parsing import TimeLimit, encode, parse
from midspan_lsp.types import Span


class ByteRange(NamedTuple):
    """A half-open range of bytes; empty where something is missing."""

    start: int
    end: int


class Leaf(NamedTuple):
    """A token of a tree; `bare` if it stands directly under an ERROR, so belongs to nothing."""

    node: Node
    bare: bool


class Filled(NamedTuple):
    """A document with its hole filled.

    Attributes:
        source: of the whole.
        tree: of the source.
        middle: what fills the hole.
        changed: the middle and all of the source whose place in the tree has changed.
    """

    source: bytes
    tree: Tree
    middle: ByteRange
    changed: ByteRange


@dataclass(frozen=True)
class Hole:
    """A document with a place to fill.

    Attributes:
        language_id: of the document; its grammar is installed.
        source: of the document.
        old: the place, and what stands there now.
        tree: of the source.
    """

    language_id: str
    source: bytes
    old: ByteRange
    tree: Tree

    @property
    def head(self) -> bytes:
        """What stands before the place."""
        return self.source[: self.old.start]

    @property
    def tail(self) -> bytes:
        """What stands behind it."""
        return self.source[self.old.end :]

    @property
    def unfilled(self) -> Filled:
        """The document as it is."""
        return Filled(self.source, self.tree, self.old, self.old)

    def fill(self, new: bytes, limit: TimeLimit) -> Filled:
        """The document with `new` in place of what is there."""
        source = self.head + new + self.tail
        middle = ByteRange(self.old.start, self.old.start + len(new))
        before = edited(self.tree, self.source, source, self.old, middle.end)
        tree = parse(self.parser(), source, limit, before)
        edges = [edge for part in before.changed_ranges(tree) for edge in (part.start_byte, part.end_byte)]
        return Filled(source, tree, middle, ByteRange(min([middle.start, *edges]), max([middle.end, *edges])))

    def carried(self, byte_range: ByteRange, middle: ByteRange) -> ByteRange:
        """Where a range of the document is once `middle` is in place."""
        shift = middle.end - self.old.end
        start, end = (edge if edge < self.old.end else edge + shift for edge in byte_range)
        return ByteRange(start, end)

    def parser(self) -> Parser:
        """A new parser of the language."""
        parser = parser_for(self.language_id)
        assert parser is not None
        return parser


def edited(tree: Tree, old_source: bytes, new_source: bytes, old_part: ByteRange, new_end: int) -> Tree:
    """A copy of a tree that knows what has changed: `old_part`, which now ends at `new_end`."""
    start, old_end = old_part
    points: list[tuple[int, int]] = []
    row, column = old_source.count(b"\n", 0, start), start - old_source.rfind(b"\n", 0, start) - 1
    for source, end in ((old_source, old_end), (new_source, new_end)):
        n_breaks = source.count(b"\n", start, end)
        points.append((row + n_breaks, end - source.rfind(b"\n", start, end) - 1 if n_breaks else column + end - start))
    changed = tree.copy()
    changed.edit(start, old_end, new_end, (row, column), *points)
    return changed


def parse_text(language_id: str, text: str, limit: TimeLimit) -> Tree | None:
    """The tree of a text; None if there is no grammar for it.

    Raises:
        OutOfTimeError: it takes too long.
    """
    parser = parser_for(language_id)
    return None if parser is None else parse(parser, encode(text), limit)


def faults(tree: Tree, limit: TimeLimit, within: ByteRange | None = None) -> list[ByteRange]:
    """The ERROR and MISSING nodes that meet a range or touch it, in order; without a range all."""
    if not tree.root_node.has_error:
        return []
    nodes = (node for node, _ in walk(tree, limit, within, lambda node: node.has_error or node.is_missing))
    return [ByteRange(node.start_byte, node.end_byte) for node in nodes if node.is_error or node.is_missing]


def leaves(tree: Tree, within: ByteRange, limit: TimeLimit) -> list[Leaf]:
    """All tokens that lie wholly within a range, in order."""
    start, end = within
    found = walk(tree, limit, within, lambda node: node.start_byte < end and node.end_byte > start)
    return [
        Leaf(node, in_error)
        for node, in_error in found
        if node.child_count == 0 and node.start_byte >= start and node.end_byte <= end
    ]


def walk(
    tree: Tree, limit: TimeLimit, within: ByteRange | None = None, enter: Callable[[Node], bool] = lambda _node: True
) -> Iterator[tuple[Node, bool]]:
    """The nodes that touch a range and that `enter` lets in, in order, each with whether its parent is an ERROR."""
    within = within or ByteRange(0, tree.root_node.end_byte)
    waiting = [(tree.root_node, False)]
    while waiting:
        limit.check()
        node, in_error = waiting.pop()
        if enter(node):
            yield node, in_error
            waiting += [(child, node.is_error) for child in reversed(children_touching(node, within))]


def children_touching(node: Node, within: ByteRange) -> list[Node]:
    """A node's children that meet a range or end or begin where it does."""
    start, end = within
    if start <= node.start_byte and end >= node.end_byte:
        return node.children
    n_children = node.child_count
    found: list[Node] = []
    for index in range(first_child_ending_from(node, start), n_children):
        child = node.child(index)
        if child.start_byte > end:
            break
        found.append(child)
    return found


def first_child_ending_from(node: Node, byte_offset: int) -> int:
    """The index of the first child that does not end before a place; their number if there is none.

    `goto_first_child_for_byte` finds none in a gap between two children, and `first_child_for_byte` crashes there.
    """
    return bisect_left(range(node.child_count), byte_offset, key=lambda index: node.child(index).end_byte)


def spans_of(found: list[ByteRange], begin: int, new: bytes) -> tuple[Span, ...]:
    """Ranges of the whole as code points of the middle, clamped to it."""
    n_bytes = len(new)
    edges = [[min(max(edge - begin, 0), n_bytes) for edge in byte_range] for byte_range in found]
    spans = {Span(_n_code_points(new[:start]), _n_code_points(new[:end])) for start, end in edges}
    return tuple(sorted(spans, key=lambda span: (span.start, span.end)))


def _n_code_points(encoded: bytes) -> int:
    """Counts first bytes, so also where the parser cut within a character."""
    return sum(byte & 0xC0 != 0x80 for byte in encoded)
