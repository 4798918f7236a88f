"""Holes as a cursor makes them, cut from a document's tokens. Pure: the same chance gives the same hole.

A block begins at the natural token that holds the character before the cursor, so that nothing is tokenised across a
border that the text does not have (`denoiser.md`). Characters are code points; tokens begin at bytes.
"""

from __future__ import annotations

import bisect
import random
from collections.abc import Sequence
from dataclasses import dataclass

from midspan_model.canvas import CHARACTERS_PER_TOKEN
from midspan_model.tokenizer import Tokenizer
from midspan_model.training.settings import HoleMix

_MOST_LINES = 4
_MOST_CHARACTERS = 120
_TRIES = 40

Span = tuple[int, int]
"""Code points from, to (exclusive)."""


@dataclass(frozen=True)
class TokenText:
    """A text and its tokens.

    Attributes:
        text: as a whole; the tokens may cover only its beginning.
        ids: of the tokens.
        starts: the byte at which each token begins, and at last the byte behind them all.
    """

    text: str
    ids: tuple[int, ...]
    starts: tuple[int, ...]

    @property
    def length(self) -> int:
        """Code points that lie wholly in the tokens."""
        return len(self.text.encode()[: self.starts[-1]].decode("utf-8", "ignore"))


@dataclass(frozen=True)
class Hole:
    """A hole in a document.

    Attributes:
        first: index of the document's token at which the block begins; the prefix is what stands before.
        cursor: code point at which the middle begins.
        end: code point at which the suffix begins.
        target_ids: from the token `first` to the hole's end; what precedes the cursor is healed.
        suffix: text behind the hole, as far as it is shown.
    """

    first: int
    cursor: int
    end: int
    target_ids: tuple[int, ...]
    suffix: str


def tokenise(text: str, tokenizer: Tokenizer, n_most: int) -> TokenText:
    """The text with at most its first `n_most` tokens."""
    ids = tokenizer.encode(text[: n_most * CHARACTERS_PER_TOKEN])[:n_most]
    starts = [0]
    for token_id in ids:
        starts.append(starts[-1] + len(tokenizer.token_bytes(token_id)))
    return TokenText(text, tuple(ids), tuple(starts))


def cut_hole(document: TokenText, span: Span, suffix: str, tokenizer: Tokenizer) -> Hole:
    """The hole at a span of the text."""
    cursor, end = span
    before = len(document.text[: max(cursor - 1, 0)].encode())
    code = document.text.encode()
    stop = len(document.text[:end].encode())
    first = max(bisect.bisect_right(document.starts, before, hi=len(document.ids)) - 1, 0)
    whole = max(bisect.bisect_right(document.starts, stop) - 1, first)  # tokens before it end within the hole
    while whole > first and document.starts[whole] < stop and code[document.starts[whole]] & 0xC0 == 0x80:
        whole -= 1  # a token that begins inside a character
    rest = code[document.starts[whole] : stop].decode("utf-8", "replace")
    return Hole(first, cursor, end, (*document.ids[first:whole], *tokenizer.encode(rest)), suffix)


def choose_span(document: TokenText, nodes: Sequence[Span], mix: HoleMix, chance: random.Random) -> Span | None:
    """A place for a hole, of a kind drawn by the mix; None if none was found that holds more than white space."""
    text, length = document.text, document.length
    usable = [(start, end) for start, end in nodes if end <= length]
    for _ in range(_TRIES):
        kind = chance.choices(("rest", "lines", "nodes", "anywhere"), _weights(mix))[0]
        if kind == "nodes" and usable:
            span = chance.choice(usable)
        elif kind == "anywhere":
            start = chance.randrange(length)
            span = (start, start + chance.randint(1, _MOST_CHARACTERS))
        elif kind == "lines":
            span = _whole_lines(text, chance.randrange(length), chance)
        else:
            span = _in_line(text, chance.randrange(length), mix, chance)
        start, end = span[0], min(span[1], length)
        if text[start:end].strip():
            return start, end
    return None


def move_on(span: Span, chance: random.Random) -> Span:
    """The span with its cursor further on, where it has room for one."""
    start, end = span
    return (chance.randrange(start + 1, end), end) if end > start + 1 else span


def choose_suffix(behind: str, mix: HoleMix, n_most: int, chance: random.Random) -> str:
    """As much of the text behind a hole as is shown: up to `n_most` characters, less, or nothing."""
    draw = chance.random()
    if draw < mix.empty_suffix:
        return ""
    near = behind[:n_most]
    breaks_off = draw < mix.empty_suffix + mix.cut_suffix
    return near[: chance.randint(0, len(near) // 2)] if breaks_off else near  # all of it is more than is tokenised


def _weights(mix: HoleMix) -> tuple[float, float, float, float]:
    return mix.rest_of_line, mix.lines, mix.nodes, mix.anywhere


def _whole_lines(text: str, place: int, chance: random.Random) -> Span:
    """From a line's first character to the end of that line or one of the next."""
    start, end = _line(text, place)
    for _ in range(chance.randrange(_MOST_LINES)):
        if end + 1 < len(text):
            end = _line(text, end + 1)[1]
    return start, end


def _in_line(text: str, place: int, mix: HoleMix, chance: random.Random) -> Span:
    """From a line's first character or the given place to the line's end or a place before it."""
    start, end = _line(text, place)
    cursor = start if chance.random() < mix.at_first_character else max(start, place)
    if end > cursor + 1 and chance.random() < mix.inside_line:
        end = chance.randrange(cursor + 1, end)
    return cursor, end


def _line(text: str, place: int) -> Span:
    """The line that holds a place, from its first character that is no blank."""
    start = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    end = len(text) if end < 0 else end
    while start < end and text[start] in " \t":
        start += 1
    return start, end
