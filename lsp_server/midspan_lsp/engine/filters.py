"""What is cut from a middle before it is judged: pure functions, applied in the order of `FILTERS`.

A filter gets the middle and the text around it and returns the middle or a shorter one; an empty one is not shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_LINE_BREAK = re.compile(r"\r\n|\n|\r")
_CLOSERS = {")": "(", "]": "[", "}": "{"}
_DOUBLED = re.compile(r"([;,:])\s*\1")
_WORD = re.compile(r"[^\W\d]{3}")

Filter = Callable[[str, str, str], str]
"""(middle, prefix, suffix) -> middle."""


def trim_trailing_space(middle: str, _prefix: str, suffix: str) -> str:
    """No white space at the end of a line, unless more of the line follows."""
    return middle if _first_line(suffix).strip() else middle.rstrip()


def cut_overlap_with_suffix(middle: str, prefix: str, suffix: str) -> str:
    """Cut the end of a middle that repeats what already stands behind the cursor on its line.

    Of all overlaps the one is cut that leaves the line with the fewest flaws: brackets and quotes without a partner,
    doubled separators. Of `f(` and `)`, the middle `x)` loses its bracket; between `f(g(` and `)` it keeps it. A
    repeated word is cut where that adds no flaw.
    """
    before, rest = _last_line(prefix), _first_line(suffix).rstrip()
    wanted, head = middle.rstrip(), rest.lstrip()
    overlaps = [n for n in range(1, min(len(head), len(wanted)) + 1) if wanted.endswith(head[:n])]
    best, fewest = middle, _n_flaws(before + middle + rest)
    for n in overlaps:
        cut = wanted[:-n] if rest == head else wanted[:-n].rstrip()
        n_flaws = _n_flaws(before + cut + rest)
        repeats_word = _WORD.search(head[:n]) is not None
        if n_flaws < fewest or (n_flaws == fewest and (repeats_word or best != middle)):
            best, fewest = cut, n_flaws
    return best


def drop_repeated_line(middle: str, prefix: str, suffix: str) -> str:
    """Drop a line that is the next line once more, at the same indent. Lone words and rows of data may repeat."""
    line = _last_line(prefix) + middle
    following = next((text for text in _LINE_BREAK.split(suffix)[1:] if text.strip()), "")
    at_line_end = not _first_line(suffix).strip()
    says_something = re.search(r"[^\W\d]", line) and not re.fullmatch(r"\s*\w+\W*", line)
    return "" if at_line_end and says_something and line.rstrip() == following.rstrip() else middle


FILTERS: tuple[Filter, ...] = (trim_trailing_space, cut_overlap_with_suffix, drop_repeated_line)


def apply_filters(middle: str, prefix: str, suffix: str) -> str:
    """All filters in order, until none cuts any more; empty if there is nothing to show."""
    before = None
    while middle != before:
        before = middle
        for one in FILTERS:
            middle = one(middle, prefix, suffix)
    return middle if middle.strip() else ""


def _first_line(text: str) -> str:
    return _LINE_BREAK.split(text, maxsplit=1)[0]


def _last_line(text: str) -> str:
    return text[max(text.rfind("\n"), text.rfind("\r")) + 1 :]


def _n_flaws(line: str) -> int:
    """Brackets and quotes of a line without a partner, and doubled separators; comments are not known."""
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
    n_odd_quotes = sum(line.count(quote) % 2 for quote in "\"'`")
    return n_unmatched + len(open_brackets) + n_odd_quotes + len(_DOUBLED.findall(line))
