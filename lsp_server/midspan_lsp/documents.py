"""Documents as immutable values, and the arithmetic between an editor's positions and code points.

LSP 3.18, "Text Documents": lines end at LF, CRLF and CR and nowhere else; columns count the units of the
negotiated encoding.
"""

from __future__ import annotations

import bisect
import os
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal
from urllib.parse import unquote_to_bytes

PositionEncoding = Literal["utf-8", "utf-16", "utf-32"]

_LINE_END = re.compile(r"\r\n|[\n\r]")
_FILE_URI = re.compile(r"file:(?://(?P<host>[^/]*)|(?!//))(?P<path>/.*)", re.IGNORECASE | re.DOTALL)
_DRIVE = re.compile(r"/([A-Za-z]):(?=/|\Z)")


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

    @property
    def path(self) -> str | None:
        """Path of its file; None where it has none."""
        return path_of(self.uri)

    @cached_property
    def lines(self) -> LineIndex:
        """Index of this text's lines."""
        return LineIndex(self.text)


def path_of(uri: str, *, windows: bool = os.name == "nt") -> str | None:
    """The path that a `file:` URI names; None for any other URI, and for one that names no path of this machine.

    A question mark or number sign belongs to the path: no editor means a query or a fragment by it.
    """
    match = _FILE_URI.fullmatch(uri)
    if match is None:
        return None
    try:
        path = os.fsdecode(unquote_to_bytes(match["path"]))
    except UnicodeError:  # half of a character
        return None
    host = match["host"] or ""
    is_here = host.lower() in ("", "localhost")
    if "\0" in path or not (is_here or windows):
        return None
    if not windows:
        return path
    drive = _DRIVE.match(path)
    if is_here and drive is None:
        return None
    path = f"{drive[1].upper()}:{path[drive.end() :] or '/'}" if drive and is_here else f"//{host}{path}"
    return path.replace("/", "\\")


class LineIndex:
    """Converts between positions (line, column in units of an encoding) and offsets (code points) of one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = _line_starts(text)

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
        return start + _n_characters(self._text[start : min(end, start + column)], column, encoding)

    def position(self, offset: int, encoding: PositionEncoding) -> tuple[int, int]:
        """Line and column of an offset; the offset is clamped to the text."""
        offset = min(max(offset, 0), len(self._text))
        line = self.line_of(offset)
        start, end = self.line_span(line)
        return line, _n_units(self._text[start : min(offset, end)], encoding)


def _line_starts(text: str) -> list[int]:
    if "\r" in text:
        return [0, *(match.end() for match in _LINE_END.finditer(text))]
    starts = [0]  # the usual case; done at every key, and five times as fast
    while (end := text.find("\n", starts[-1])) >= 0:
        starts.append(end + 1)
    return starts


# Both work on whole strings: a line can have megabytes, and a loop over its characters would take a second.


def _n_units(text: str, encoding: PositionEncoding) -> int:
    """Length of a text in units of an encoding."""
    if encoding == "utf-32" or text.isascii():
        return len(text)
    if encoding == "utf-16":
        return len(text.encode("utf-16-le", "surrogatepass")) // 2
    return len(text.encode("utf-8", "surrogatepass"))


def _n_characters(text: str, n_units: int, encoding: PositionEncoding) -> int:
    """How many whole characters of a text fit into a number of units."""
    if encoding == "utf-32" or text.isascii():
        return min(n_units, len(text))
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if _n_units(text[low:middle], encoding) <= n_units:
            n_units -= _n_units(text[low:middle], encoding)
            low = middle
        else:
            high = middle - 1
    return low
