"""Documents as immutable values, and the arithmetic between an editor's positions and code points.

LSP 3.18, "Text Documents": lines end at LF, CRLF and CR and nowhere else; columns count the units of the
negotiated encoding.
"""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

PositionEncoding = Literal["utf-8", "utf-16", "utf-32"]

_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True)
class DocumentSnapshot:
    """A document as it stood when a request came.

    Attributes:
        uri: as the editor names it.
        language_id: the editor's language id.
        version: the editor's version, if it told one.
        text: the whole text; all offsets are code points into it.
    """

    uri: str
    language_id: str
    version: int | None
    text: str

    @cached_property
    def lines(self) -> LineIndex:
        """Index of this text's lines."""
        return LineIndex(self.text)


class LineIndex:
    """Converts between positions (line, column in units of an encoding) and offsets (code points) of one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    @property
    def n_lines(self) -> int:
        """Number of lines; a text that ends with a line end has an empty last line."""
        return len(self._starts)

    def line_span(self, line: int) -> tuple[int, int]:
        """Offsets of the line's first character and of its end, line end excluded; `line` is clamped."""
        line = min(max(line, 0), self.n_lines - 1)
        start = self._starts[line]
        end = self._starts[line + 1] if line + 1 < self.n_lines else len(self._text)
        while end > start and self._text[end - 1] in "\r\n":
            end -= 1
        return start, end

    def line_of(self, offset: int) -> int:
        """The line that holds an offset; between CR and LF still the line before."""
        return bisect.bisect_right(self._starts, offset) - 1

    def offset(self, line: int, column: int, encoding: PositionEncoding) -> int:
        """Offset of a position.

        As the specification wants, a column beyond the line's end is its end, and a line beyond the text is the
        text's end. A column within a character is that character's start.
        """
        if line >= self.n_lines:
            return len(self._text)
        if line < 0 or column <= 0:
            return self._starts[max(line, 0)]
        start, end = self.line_span(line)
        if encoding == "utf-32":
            return min(start + column, end)
        text = self._text[start : min(end, start + column)]
        if text.isascii():
            return start + len(text)
        units = 0
        for index, character in enumerate(text):
            units += _units(character, encoding)
            if units > column:
                return start + index
        return start + len(text)

    def position(self, offset: int, encoding: PositionEncoding) -> tuple[int, int]:
        """Line and column of an offset; the offset is clamped to the text."""
        offset = min(max(offset, 0), len(self._text))
        line = self.line_of(offset)
        start, end = self.line_span(line)
        text = self._text[start : min(offset, end)]
        if encoding == "utf-32" or text.isascii():
            return line, len(text)
        return line, sum(_units(character, encoding) for character in text)


def _units(character: str, encoding: PositionEncoding) -> int:
    code = ord(character)
    if encoding == "utf-16":
        return 2 if code > 0xFFFF else 1
    return 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4
