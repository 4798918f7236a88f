"""Which lines of a source file hold code, in any of the languages measured. Pure.

A scan for comments and strings by one pattern a family; no parser, so a rare line may be taken for the wrong thing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath

_TAB_COLUMNS = 8

_ONE_LINE_STRINGS = r""""(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
_PYTHON = re.compile(r"""#[^\n]*|"{3}(?:\\.|[^\\])*?"{3}|'{3}(?:\\.|[^\\])*?'{3}|""" + _ONE_LINE_STRINGS, re.DOTALL)
_BRACES = re.compile(r"//[^\n]*|/\*.*?\*/|`(?:\\.|[^`\\])*`|" + _ONE_LINE_STRINGS, re.DOTALL)
# strings may span lines; a lone quote begins a lifetime
_RUST = re.compile(r"""//[^\n]*|/\*.*?\*/|r(#*)".*?"\1|"(?:\\.|[^"\\])*"|'(?:\\[^'\n]+|[^'\\\n])'""", re.DOTALL)
_QUOTES = "\"'`"

_LANGUAGE_OF_SUFFIX = {
    ".py": "python",
    ".js": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".jsx": "javascriptreact",
    ".ts": "typescript",
    ".mts": "typescript",
    ".tsx": "typescriptreact",
    ".go": "go",
    ".rs": "rust",
    ".java": "java",
    ".c": "c",
    ".h": "c",
    ".cc": "cpp",
    ".cpp": "cpp",
    ".hpp": "cpp",
}
LANGUAGE_IDS = tuple(dict.fromkeys(_LANGUAGE_OF_SUFFIX.values()))
"""Languages holes can be cut from, by their LSP ids."""


@dataclass(frozen=True)
class Line:
    """One line of a file.

    Attributes:
        start: offset of its first character.
        text: without the line break.
        is_code: not blank, without a comment, no part of a string that spans lines, and not beginning with a string.
    """

    start: int
    text: str
    is_code: bool

    @property
    def end(self) -> int:
        """Offset behind its last character."""
        return self.start + len(self.text)

    @property
    def is_blank(self) -> bool:
        """Whether it has only white space."""
        return not self.text.strip()

    @property
    def code_start(self) -> int:
        """Offset of its first character that is no white space."""
        return self.end - len(self.text.lstrip())

    @property
    def indent(self) -> int:
        """Columns of white space in front; a tab reaches to the next multiple of eight."""
        return len(self.text[: self.code_start - self.start].expandtabs(_TAB_COLUMNS))


def language_of(path: PurePath) -> str | None:
    """The LSP language id of a file by its name's ending; None where holes are not cut from such files."""
    return _LANGUAGE_OF_SUFFIX.get(path.suffix.lower())


def split_lines(text: str, language_id: str) -> list[Line]:
    """All lines, and whether they hold code and nothing else."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    ends = [*(start - 1 for start in starts[1:]), len(text)]
    raw = [text[start:end] for start, end in zip(starts, ends, strict=True)]
    prose = _prose_lines(text, language_id, starts)
    return [
        Line(start, line, bool(line.strip()) and line.lstrip()[0] not in _QUOTES and number not in prose)
        for number, (start, line) in enumerate(zip(starts, raw, strict=True))
    ]


def _prose_lines(text: str, language_id: str, starts: list[int]) -> set[int]:
    """Numbers of the lines that hold a comment, or that a string reaches into or out of."""
    pattern = {"python": _PYTHON, "rust": _RUST}.get(language_id, _BRACES)
    found: set[int] = set()
    number = 0
    for match in pattern.finditer(text):
        while number + 1 < len(starts) and starts[number + 1] <= match.start():
            number += 1
        n_breaks = match[0].count("\n")
        if n_breaks or match[0][0] in "#/":
            found.update(range(number, number + n_breaks + 1))
    return found
