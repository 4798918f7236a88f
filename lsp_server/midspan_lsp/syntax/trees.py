"""What the gate asks of trees: a document with a hole filled, faults, tokens, and where the parser stumbles.

All positions here are bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tree_sitter import LogType, Node, Parser, Point, Tree

from midspan_lsp.syntax.languages import parser_for
from midspan_lsp.syntax.parsing import TimeLimit, encode, parse

# the log costs more than the parse: it begins this far before the place of interest
_LOG_AHEAD_BYTES = 256
_PLACE = re.compile(r"row:(\d+), col:(\d+)")
_TOKEN = re.compile(rb"[\w\x80-\xff]+|.|$", re.DOTALL)
_SPACE = re.compile(rb"\s*")


class ByteRange(NamedTuple):
    """A half-open range of bytes; empty where something is missing."""

    start: int
    end: int


class Leaf(NamedTuple):
    """A token of a tree; `bare` if it stands directly under an ERROR, so belongs to nothing."""

    node: Node
    bare: bool


class Reading(NamedTuple):
    """A text that ends at some place, as the parser reads it from the start.

    Attributes:
        tree: of the text.
        stumbles: the tokens that cannot follow what is before them; none if the text merely stops half-way. No tree
            tells them, as an ERROR may begin long before: the parser only says it in its log.
    """

    tree: Tree
    stumbles: list[ByteRange]


@dataclass(frozen=True)
class Hole:
    """A document with a place to fill.

    Attributes:
        language_id: of the document; its grammar is installed.
        head: before the place.
        old: what stands there now.
        tail: after it.
        tree: of head, old and tail.
    """

    language_id: str
    head: bytes
    old: bytes
    tail: bytes
    tree: Tree

    def fill(self, new: bytes, limit: TimeLimit) -> Tree:
        """The tree with `new` in place of `old`."""
        return parse(self._parser(), self.head + new + self.tail, limit, self._edited(new, len(self.tail)))

    def read(self, new: bytes, limit: TimeLimit) -> Reading:
        """Parses head and `new` without the tail. Stumbles over tokens that end before `new` are left out."""
        source = self.head + new
        begin = len(self.head)
        parser = self._parser()
        log = _StumbleLog()

        def start_log(place: Point) -> None:
            if parser.logger is None:
                log.place = place
                parser.logger = log.take

        log_from = max(begin - _LOG_AHEAD_BYTES, 0)
        tree = parse(parser, source, limit, self._edited(new, 0), (log_from, start_log))
        line_starts = [0, *(match.end() for match in re.finditer(b"\n", source))]
        tokens = {_token_after(source, line_starts[row] + column) for row, column in log.stumbles}
        return Reading(tree, [token for token in sorted(tokens) if token.start < len(source) and token.end >= begin])

    def _parser(self) -> Parser:
        parser = parser_for(self.language_id)
        assert parser is not None
        return parser

    def _edited(self, new: bytes, n_kept_bytes: int) -> Tree:
        """A copy of the tree that knows what has changed; the last `n_kept_bytes` have not."""
        before = self.head + self.old + self.tail[: len(self.tail) - n_kept_bytes]
        after = self.head + new
        tree = self.tree.copy()
        points = (_point(self.head), _point(before), _point(after))
        tree.edit(len(self.head), len(before), len(after), *points)
        return tree


def parse_text(language_id: str, text: str, limit: TimeLimit) -> Tree | None:
    """The tree of a text; None if there is no grammar for it.

    Raises:
        OutOfTimeError: it takes too long.
    """
    parser = parser_for(language_id)
    return None if parser is None else parse(parser, encode(text), limit)


def faults(tree: Tree, limit: TimeLimit) -> list[ByteRange]:
    """All ERROR and MISSING nodes, in order."""
    if not tree.root_node.has_error:
        return []
    nodes = (node for node, _ in _walk(tree, lambda node: node.has_error or node.is_missing, limit))
    return [ByteRange(node.start_byte, node.end_byte) for node in nodes if node.is_error or node.is_missing]


def leaves(tree: Tree, within: ByteRange, limit: TimeLimit) -> list[Leaf]:
    """All tokens that lie wholly within a range, in order."""
    start, end = within
    found = _walk(tree, lambda node: node.start_byte < end and node.end_byte > start, limit)
    return [
        Leaf(node, in_error)
        for node, in_error in found
        if node.child_count == 0 and node.start_byte >= start and node.end_byte <= end
    ]


class _StumbleLog:
    """Takes the parser's log, for the places where no version of the parse can take the next token.

    Attributes:
        place: where the parse is, as row and column.
        stumbles: the places.
    """

    def __init__(self) -> None:
        self.place: tuple[int, int] | None = None
        self.stumbles: list[tuple[int, int]] = []
        self._stuck_at: tuple[int, int] | None = None

    def take(self, _kind: LogType, message: str) -> None:
        """Takes one message. A version that is stuck waits; if all are, the parse resumes with recovery."""
        if message.startswith("process "):
            match = _PLACE.search(message)
            self.place = (int(match[1]), int(match[2])) if match else None
        elif message.startswith("detect_error "):
            self._stuck_at = self.place
        elif message.startswith("resume ") and self._stuck_at is not None:
            self.stumbles.append(self._stuck_at)


def _walk(tree: Tree, enter: Callable[[Node], bool], limit: TimeLimit) -> Iterator[tuple[Node, bool]]:
    """The nodes that `enter` lets in, in order, each with whether its parent is an ERROR."""
    cursor = tree.walk()
    in_error = [False]
    while True:
        limit.check()
        node = cursor.node
        if node is not None and enter(node):
            yield node, in_error[-1]
            if cursor.goto_first_child():
                in_error.append(node.is_error)
                continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return
            in_error.pop()


def _point(source: bytes) -> tuple[int, int]:
    return source.count(b"\n"), len(source) - source.rfind(b"\n") - 1


def _token_after(source: bytes, byte_offset: int) -> ByteRange:
    space = _SPACE.match(source, byte_offset)
    token = _TOKEN.match(source, space.end() if space else byte_offset)
    return ByteRange(*token.span()) if token else ByteRange(byte_offset, byte_offset)
