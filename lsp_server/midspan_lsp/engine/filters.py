"""What is cut from a middle before it is judged: pure functions, applied in the order of `FILTERS`.

A filter gets the middle and the text around it and returns the middle or a shorter one; an empty one is not shown.
Each is idempotent.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_LINE_BREAK = re.compile(r"\r\n|\n|\r")
_CLOSERS = {")": "(", "]": "[", "}": "{"}
_MIN_WORD_OVERLAP = 3

Filter = Callable[[str, str, str], str]
"""(middle, prefix, suffix) -> middle."""


def trim_trailing_space(middle: str, _prefix: str, suffix: str) -> str:
    """No white space at the end of a line, unless more of the line follows."""
    return middle if _first_line(suffix).strip() else middle.rstrip()


def cut_overlap_with_suffix(middle: str, prefix: str, suffix: str) -> str:
    """Cut the end of a middle that repeats what already stands behind the cursor on its line.

    A repeated word is cut. Repeated closing brackets are cut where that leaves the line's brackets more in balance:
    of `f(` and `)`, the middle `x)` loses its bracket, between `f(g(` and `)` it keeps it.
    """
    rest = _first_line(suffix).rstrip()
    n = next((n for n in range(min(len(rest), len(middle)), 0, -1) if middle.endswith(rest[:n])), 0)
    if n == 0:
        return middle
    cut = middle[:-n]
    if any(character.isalnum() for character in rest[:n]):
        return cut if n >= _MIN_WORD_OVERLAP else middle
    before = _last_line(prefix)
    return cut if _imbalance(before + cut + rest) < _imbalance(before + middle + rest) else middle


def drop_repeated_line(middle: str, prefix: str, suffix: str) -> str:
    """Drop a line that is the next line once more."""
    line = (_last_line(prefix) + middle).strip()
    following = next((text.strip() for text in _LINE_BREAK.split(suffix)[1:] if text.strip()), "")
    at_line_end = not _first_line(suffix).strip()
    return "" if at_line_end and line == following and any(c.isalnum() for c in line) else middle


FILTERS: tuple[Filter, ...] = (trim_trailing_space, cut_overlap_with_suffix, drop_repeated_line)


def apply_filters(middle: str, prefix: str, suffix: str) -> str:
    """All filters in order; empty if there is nothing to show."""
    for one in FILTERS:
        middle = one(middle, prefix, suffix)
    return middle if middle.strip() else ""


def _first_line(text: str) -> str:
    return _LINE_BREAK.split(text, maxsplit=1)[0]


def _last_line(text: str) -> str:
    return text[max(text.rfind("\n"), text.rfind("\r")) + 1 :]


def _imbalance(line: str) -> int:
    """Brackets of a line that have no partner, quotes and comments not regarded."""
    open_brackets: list[str] = []
    n_unmatched = 0
    for character in line:
        if character in _CLOSERS.values():
            open_brackets.append(character)
        elif character in _CLOSERS:
            if open_brackets and open_brackets[-1] == _CLOSERS[character]:
                open_brackets.pop()
            else:
                n_unmatched += 1
    return n_unmatched + len(open_brackets)
