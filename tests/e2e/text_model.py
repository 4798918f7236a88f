"""What LSP says of texts, in another way than the server's: lines, and each line's code units."""

from __future__ import annotations

import random
from typing import Any, Literal, get_args

Encoding = Literal["utf-8", "utf-16", "utf-32"]
ENCODINGS: tuple[Encoding, ...] = get_args(Encoding)
_CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
_PIECES = [
    "\n",
    "\r\n",
    "\r",
    "a",
    "bc",
    " ",
    "\t",
    "é",
    "漢",
    "😀",
    "👩‍👧",
    "\x0c",
    "\u2028",
    "\x85",
    "\x1c",
    "\x00",
    "\x0b",
]


class TextModel:
    """An editor's text.

    Attributes:
        text: as it stands.
        encoding: whose units columns count.
    """

    def __init__(self, text: str, encoding: Encoding) -> None:
        self.text = text
        self.encoding = encoding

    def lines(self) -> list[tuple[list[str], str]]:
        """Each line as its units (a character stands at its first one, the others are empty) and its line end."""
        lines, units, rest = [], [], self.text
        codec, width = _CODECS[self.encoding]
        while rest:
            end = next((end for end in ("\r\n", "\n", "\r") if rest.startswith(end)), "")
            if end:
                lines.append((units, end))
                units, rest = [], rest[len(end) :]
            else:
                n_units = len(rest[0].encode(codec)) // width
                units += [rest[0]] + [""] * (n_units - 1)
                rest = rest[1:]
        return [*lines, (units, "")]

    def before(self, line: int, column: int) -> str:
        """The text before a position."""
        lines = self.lines()
        if line >= len(lines):
            return self.text
        units = lines[line][0]
        column = min(column, len(units))
        while 0 < column < len(units) and units[column] == "":  # within a character
            column -= 1
        return "".join("".join(units) + end for units, end in lines[:line]) + "".join(units[:column])

    def replace(self, start: tuple[int, int], end: tuple[int, int], text: str) -> None:
        """What the editor does with an edit."""
        head, skipped = self.before(*start), self.before(*end)
        self.text = head + text + self.text[max(len(head), len(skipped)) :]


def random_text(draw: random.Random, n_pieces: int, line_end: str | None = None) -> str:
    """Its lines all end in one way, or, if that is None, in any."""
    pieces = _PIECES if line_end is None else [line_end, *_PIECES[3:]]
    return "".join(draw.choice(pieces) for _ in range(draw.randint(0, n_pieces)))


def random_edit(draw: random.Random, model: TextModel, line_end: str | None = None) -> dict[str, Any]:
    """Edits the model; the same as a change of `textDocument/didChange`."""
    text = random_text(draw, 6, line_end)
    if draw.random() < 0.05 or len(model.text) > 2000:
        model.text = text
        return {"text": text}
    n_lines = len(model.lines())
    start, end = sorted((draw.randint(0, n_lines), draw.choice([draw.randint(0, 12), 10**6])) for _ in range(2))
    if draw.random() < 0.5:
        end = (start[0], start[1] + draw.randint(0, 4))
    model.replace(start, end, text)
    edges = [{"line": line, "character": column} for line, column in (start, end)]
    return {"range": {"start": edges[0], "end": edges[1]}, "text": text}
