"""How long a middle is wanted, by the place of the cursor. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TAB_COLUMNS = 8
_MAX_HEADER_LINES = 40
_OPENS_BLOCK = re.compile(r"(?:[:{(\[]|=>|->|\b(?:do|then|else|begin))\s*(?:(?:\s#|\s//).*)?$")


@dataclass(frozen=True)
class Shape:
    """How far a middle may go.

    Attributes:
        max_lines: it ends at this many line breaks.
        min_indent: it ends before a line indented by fewer columns; None where it has one line.
    """

    max_lines: int = 1
    min_indent: int | None = None


def cut_to_shape(text: str, shape: Shape) -> str:
    """A middle's text up to where one of that shape ends."""
    first, *rest = re.split(r"(\r\n|\n|\r)", text)
    kept = [first]
    for number, (line_end, line) in enumerate(zip(rest[::2], rest[1::2], strict=True), start=1):
        is_outside = shape.min_indent is not None and line.lstrip(" \t") and _indent(line) < shape.min_indent
        if number >= shape.max_lines or is_outside:
            break
        kept += [line_end, line]
    return "".join(kept)


def middle_shape(prefix: str, suffix: str, max_lines: int) -> Shape:
    """Several lines where a body is to be written, one line elsewhere.

    A body is written on a blank line below one that opens a block, if it is indented deeper than that statement.
    """
    before = re.split(r"\r\n|\n|\r", prefix)
    after = re.split(r"\r\n|\n|\r", suffix, maxsplit=1)[0]
    if max_lines <= 1 or before[-1].strip() or after.strip():
        return Shape()
    above = [line for line in before[:-1] if line.strip()]
    indent = _indent(before[-1])
    if above and _OPENS_BLOCK.search(above[-1]) and indent > _indent(_statement_start(above)):
        return Shape(max_lines, indent)
    return Shape()


def _statement_start(lines: list[str]) -> str:
    """The line on which the last line's statement begins: the one that opens the brackets closed since."""
    n_open = 0
    header = [*lines[-_MAX_HEADER_LINES:-1], _OPENS_BLOCK.sub("", lines[-1])]  # its last bracket is the body's
    for line in reversed(header):
        n_open += sum(line.count(closer) for closer in ")]}") - sum(line.count(opener) for opener in "([{")
        if n_open <= 0:
            return line
    return lines[-1]


def _indent(line: str) -> int:
    """Columns of white space in front of a line."""
    return len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs(_TAB_COLUMNS))
