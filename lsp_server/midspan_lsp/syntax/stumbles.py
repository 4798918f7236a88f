"""Where the parser stumbles as it reads a text from the start. No tree tells that: an ERROR may begin long before.

The parser only says it in its log, which costs more than the parse: so it is kept from shortly before the place of
interest, and the parse ends as soon as the log has told enough.
"""

from __future__ import annotations

import re
from contextlib import suppress

from tree_sitter import LogType, Parser, Point, Tree

from midspan_lsp.syntax.parsing import StoppedError, TimeLimit, parse
from midspan_lsp.syntax.trees import ByteRange, Hole, edited

_LOG_AHEAD_BYTES = 256
_PLACE = re.compile(r"row:(\d+), col:(\d+)")
_TOKEN = re.compile(rb"[\w\x80-\xff]+|.|$", re.DOTALL)
_SPACE = re.compile(rb"\s*")


def read(hole: Hole, new: bytes, limit: TimeLimit) -> Tree:
    """The tree of what is before the hole and of `new`, without what is behind."""
    return parse(hole.parser(), hole.head + new, limit, _cut_off(hole, new))


def stumbles(hole: Hole, new: bytes, limit: TimeLimit, beyond: int = 0) -> list[ByteRange]:
    """The tokens that cannot follow what is before them, up to the first that ends beyond a place.

    The text is read as `read` does; none if it merely stops half-way. Tokens that end before `new` are left out.
    """
    source, begin = hole.head + new, hole.old.start
    beyond = max(beyond, begin)
    parser = hole.parser()
    log = _StumbleLog(source, beyond)

    def start_log(place: Point) -> None:
        if parser.logger is None:
            log.start(parser, place)

    log_from = max(begin - _LOG_AHEAD_BYTES, 0)
    with suppress(StoppedError):
        parse(parser, source, limit, _cut_off(hole, new), (log_from, start_log), lambda: log.told_enough)
    return [token for token in sorted(log.tokens) if token.start < len(source) and token.end >= begin]


def _cut_off(hole: Hole, new: bytes) -> Tree:
    """The document's tree, told that `new` is all there is from the hole on."""
    rest = ByteRange(hole.old.start, len(hole.source))
    source = hole.head + new
    return edited(hole.tree, hole.source, source, rest, len(source))


class _StumbleLog:
    """Takes the parser's log, for the places where no version of the parse can take the next token.

    Attributes:
        tokens: those that stand there.
        told_enough: a token was found beyond the place, or the end of the text is reached.
    """

    def __init__(self, source: bytes, beyond: int) -> None:
        self.tokens: set[ByteRange] = set()
        self.told_enough = False
        self._source, self._beyond = source, beyond
        self._line_starts = [0, *(match.end() for match in re.finditer(b"\n", source))]
        self._place: tuple[int, int] | None = None
        self._stuck_at: tuple[int, int] | None = None

    def start(self, parser: Parser, place: Point) -> None:
        """Listens from a place on."""
        self._place = place
        parser.logger = self._take

    def _take(self, _kind: LogType, message: str) -> None:
        """Takes one message. A version that is stuck waits; if all are, the parse resumes with recovery."""
        if self.told_enough:
            return
        if message.startswith("process "):
            match = _PLACE.search(message)
            self._place = (int(match[1]), int(match[2])) if match else None
        elif message.startswith("detect_error "):
            self._stuck_at = self._place
        elif message.startswith("resume ") and self._stuck_at is not None:
            row, column = self._stuck_at
            token = _token_after(self._source, self._line_starts[row] + column)
            self.tokens.add(token)
            self.told_enough = token.end > self._beyond or token.start >= len(self._source)


def _token_after(source: bytes, byte_offset: int) -> ByteRange:
    space = _SPACE.match(source, byte_offset)
    token = _TOKEN.match(source, space.end() if space else byte_offset)
    return ByteRange(*token.span()) if token else ByteRange(byte_offset, byte_offset)
