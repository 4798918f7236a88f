"""Lines and indents of the texts around a cursor. Pure."""

from __future__ import annotations

import re

LINE_BREAK = re.compile(r"\r\n|\n|\r")
_OPENS = re.compile(r"(?:[:{(\[,\\=]|=>|->|&&|\|\||\b(?:do|then|else|begin|try))\s*(?:(?:#|//).*)?$")


def first_line(text: str) -> str:
    """Up to the first line break."""
    return LINE_BREAK.split(text, maxsplit=1)[0]


def last_line(text: str) -> str:
    """From the last line break on."""
    return text[max(text.rfind("\n"), text.rfind("\r")) + 1 :]


def line_starts(text: str) -> list[int]:
    """Where lines begin, the first among them."""
    return [0, *(match.end() for match in LINE_BREAK.finditer(text))]


def indent_of(line: str) -> str:
    """The white space in front of a line."""
    return line[: len(line) - len(line.lstrip(" \t"))]


def columns(indent: str) -> int:
    """Its width, a tab going to the next multiple of four."""
    return len(indent.expandtabs(4))


def line_above(prefix: str) -> str:
    """The last line before the cursor's that is not blank; "" if there is none."""
    lines = LINE_BREAK.split(prefix)[:-1]
    return next((line for line in reversed(lines) if line.strip()), "")


def line_below(suffix: str) -> str:
    """The first line behind the cursor's that is not blank; "" if there is none."""
    return next((line for line in LINE_BREAK.split(suffix)[1:] if line.strip()), "")


def goes_on(line: str) -> bool:
    """True if a deeper line may follow: the line opens a block or bracket, or stops within a statement."""
    return _OPENS.search(line) is not None


def says_something(line: str) -> bool:
    """False for lone words and rows of data, which code may well repeat."""
    return re.search(r"[^\W\d]", line) is not None and re.fullmatch(r"\s*\w+\W*", line) is None
