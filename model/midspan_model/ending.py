"""Where a middle's text ends, by its lines. Pure."""

from __future__ import annotations

import re

_LINE_BREAK = re.compile(r"\r\n|\n|\r")
_TAB_COLUMNS = 8


def count_breaks(text: str) -> int:
    """Number of line breaks."""
    return sum(1 for _ in _LINE_BREAK.finditer(text))


def find_end(text: str, max_lines: int, min_indent: int | None) -> int | None:
    """Where the middle ends, as an offset into `text`; None while it goes on.

    It ends at the `max_lines`-th line break, and at the line break before a line that is indented by fewer than
    `min_indent` columns (a tab reaches to the next multiple of eight). A last line that is still blank may grow.
    """
    for number, match in enumerate(_LINE_BREAK.finditer(text), start=1):
        if number >= max_lines:
            return match.start()
        line = _LINE_BREAK.split(text[match.end() :], maxsplit=1)[0]
        code = line.lstrip(" \t")
        indent = len(line[: len(line) - len(code)].expandtabs(_TAB_COLUMNS))
        if min_indent is not None and code and indent < min_indent:
            return match.start()
    return None
