"""How long a middle is wanted, by the place of the cursor. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TAB_COLUMNS = 8
_OPENS_BLOCK = re.compile(r"(?:[:{(\[]|=>|->|\b(?:do|then|else|begin))\s*(?:(?:#|//).*)?$")


@dataclass(frozen=True)
class Shape:
    """How far a middle may go.

    Attributes:
        max_lines: it ends at this many line breaks.
        min_indent: it ends before a line indented by fewer columns; None where it has one line.
    """

    max_lines: int = 1
    min_indent: int | None = None


def middle_shape(prefix: str, suffix: str, max_lines: int) -> Shape:
    """Several lines where a body is to be written, one line elsewhere.

    A body is written on a blank line that is indented deeper than the line above, if that line opens a block.
    """
    before = re.split(r"\r\n|\n|\r", prefix)
    after = re.split(r"\r\n|\n|\r", suffix, maxsplit=1)[0]
    if max_lines <= 1 or before[-1].strip() or after.strip():
        return Shape()
    opener = next((line for line in reversed(before[:-1]) if line.strip()), "")
    indent = _indent(before[-1])
    if _OPENS_BLOCK.search(opener) and indent > _indent(opener):
        return Shape(max_lines, indent)
    return Shape()


def _indent(line: str) -> int:
    """Columns of white space in front of a line."""
    return len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs(_TAB_COLUMNS))
