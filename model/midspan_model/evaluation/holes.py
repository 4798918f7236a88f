"""Holes cut from source files: what a programmer would have typed next.

Holes begin and end in code; comments, and strings that span lines, are only ever text around them. The same files
and the same seed give the same holes on every machine.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from midspan_model.evaluation.code_lines import Line, split_lines
from midspan_model.evaluation.sources import SourceText

MAX_LINES = 4
"""Most lines of a middle of several lines, as the server's default has it."""

_MIN_MIDDLE = 4
_MAX_LINE_MIDDLE = 60
_MAX_MIDDLE = 180
_AT_LINE_START = 0.4


@dataclass(frozen=True)
class Hole:
    """A place in a file, and what stood there.

    Attributes:
        origin: the file, for people.
        language_id: as an editor names it.
        prefix: all text before.
        middle: what was cut out.
        suffix: all text behind.
        max_lines: most lines the answer may have; known to who answers.
        min_indent: columns the answer's lines are indented by at least; known to who answers.
        check: a program's part that stands behind all of it and raises if the middle does not do its work.
    """

    origin: str
    language_id: str
    prefix: str
    middle: str
    suffix: str
    max_lines: int = 1
    min_indent: int | None = None
    check: str = ""


@dataclass(frozen=True)
class Cut:
    """Where a hole begins and ends, as offsets, and what is known of its shape."""

    start: int
    end: int
    max_lines: int = 1
    min_indent: int | None = None


Cutter = Callable[[Sequence[Line], int, random.Random], Cut | None]
"""(a file's lines, number of one that holds code, source of chance) -> a cut that begins there, if there is one."""


def cut_holes(sources: Sequence[SourceText], kind: str, n: int, seed: int) -> list[Hole]:
    """`n` holes of a kind, or as many as there are; all files give about as many.

    A file's cuts depend on its own text, path and the seed only.
    """
    by_file = [[(source, cut) for cut in file_cuts(source, kind, seed)] for source in sorted(sources, key=_origin)]
    random.Random(f"{seed} {kind}").shuffle(by_file)  # noqa: S311  (no secret)
    rounds = itertools.zip_longest(*by_file)
    chosen = [found for found in itertools.chain.from_iterable(rounds) if found is not None]
    return [_hole(source, cut) for source, cut in chosen[:n]]


def file_cuts(source: SourceText, kind: str, seed: int) -> list[Cut]:
    """All cuts of one file, one a line at most, in an order of chance."""
    choose = random.Random(f"{seed} {kind} {source.origin}")  # noqa: S311  (no secret)
    lines = split_lines(source.text, source.language_id)
    cuts = [CUTTERS[kind](lines, number, choose) for number, line in enumerate(lines) if line.is_code and number > 0]
    found = [cut for cut in cuts if cut is not None]
    choose.shuffle(found)
    return found


def cut_single_line(lines: Sequence[Line], number: int, choose: random.Random) -> Cut | None:
    """From a line's first character, or from between two words or signs, to the line's end."""
    line = lines[number]
    if choose.random() < _AT_LINE_START:
        return _line_cut(line, line.code_start)
    return _line_cut_at(line, choose, mid_word=False)


def cut_mid_word(lines: Sequence[Line], number: int, choose: random.Random) -> Cut | None:
    """From inside a word to the line's end."""
    return _line_cut_at(lines[number], choose, mid_word=True)


def cut_multi_line(lines: Sequence[Line], number: int, choose: random.Random) -> Cut | None:
    """From a line's first character through two to four lines of code."""
    n_lines = choose.randint(2, MAX_LINES)
    taken = lines[number : number + n_lines]
    start = lines[number].code_start
    if len(taken) < n_lines or not all(line.is_code for line in taken) or taken[-1].end - start > _MAX_MIDDLE:
        return None
    return Cut(start, taken[-1].end, MAX_LINES)


def cut_block_body(lines: Sequence[Line], number: int, choose: random.Random) -> Cut | None:  # noqa: ARG001
    """The whole body, of one to four lines, behind a line that opens a block with a colon or a brace."""
    opener = lines[number]
    if not opener.text.rstrip().endswith((":", "{")):
        return None
    deeper = itertools.takewhile(lambda line: line.is_blank or line.indent > opener.indent, lines[number + 1 :])
    body = list(itertools.islice(deeper, MAX_LINES + 2))
    while body and body[-1].is_blank:
        body.pop()
    if not 1 <= len(body) <= MAX_LINES or not all(line.is_code for line in body):
        return None
    start, end, indent = body[0].code_start, body[-1].end, body[0].indent
    if not _MIN_MIDDLE <= end - start <= _MAX_MIDDLE or min(line.indent for line in body) < indent:
        return None
    return Cut(start, end, MAX_LINES, indent)


CUTTERS: dict[str, Cutter] = {
    "single-line": cut_single_line,
    "multi-line": cut_multi_line,
    "mid-word": cut_mid_word,
    "block-body": cut_block_body,
}
"""The kinds of local holes."""


def _line_cut_at(line: Line, choose: random.Random, *, mid_word: bool) -> Cut | None:
    """A cut at one of the places of a line that are, or are not, inside a word."""
    code = line.text.rstrip()
    places: Iterator[int] = (
        place
        for place in range(line.code_start - line.start + 1, len(code) - _MIN_MIDDLE + 1)
        if (_is_word(code[place - 1]) and _is_word(code[place])) == mid_word
    )
    found = list(places)
    return _line_cut(line, line.start + choose.choice(found)) if found else None


def _line_cut(line: Line, start: int) -> Cut | None:
    n_code = len(line.text[start - line.start :].strip())
    return Cut(start, line.end) if _MIN_MIDDLE <= n_code <= _MAX_LINE_MIDDLE else None


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _origin(source: SourceText) -> str:
    return source.origin


def _hole(source: SourceText, cut: Cut) -> Hole:
    text = source.text
    middle = text[cut.start : cut.end]
    return Hole(
        source.origin, source.language_id, text[: cut.start], middle, text[cut.end :], cut.max_lines, cut.min_indent
    )
