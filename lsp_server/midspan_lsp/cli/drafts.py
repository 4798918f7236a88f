"""Shows a middle coming into focus: one line after each forward."""

from __future__ import annotations

import os
from typing import TextIO

from midspan_lsp.types import SlotView

_FRESH, _DIM, _PLAIN = "\x1b[1;32m", "\x1b[2m", "\x1b[0m"
_MASK = "▒"


class DraftPrinter:
    """Prints the draft after each forward: what it set in bold green on a terminal, plain elsewhere."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._colour = stream.isatty() and not os.environ.get("NO_COLOR")

    def __call__(self, n_forwards: int, slots: tuple[SlotView, ...]) -> None:
        """Print one draft."""
        draft = "".join(self._slot(slot) for slot in slots)
        print(f"{n_forwards:3d}  {draft}", file=self._stream, flush=True)

    def _slot(self, slot: SlotView) -> str:
        text = _MASK if slot.text is None else _visible(slot.text)
        style = _DIM if slot.text is None else _FRESH if slot.fresh else ""
        return f"{style}{text}{_PLAIN}" if self._colour and style else text


def _visible(text: str) -> str:
    """One line, whatever the text: control characters of the file must not steer the terminal."""
    text = text.replace("\r\n", "⏎").replace("\n", "⏎").replace("\r", "⏎").replace("\t", "⇥")
    return "".join(character if character.isprintable() else "�" for character in text)
