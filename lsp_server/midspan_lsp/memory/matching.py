"""Where else the tokens before the cursor stand: the rarest of them leads to the places, the others are compared there.

The more places are known, the longer a further one has to match; so most of a large project is passed over in one look
for a token that a match of that length cannot do without.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from midspan_lsp.memory.segments import Segment
from midspan_lsp.memory.tokens import BLANK, KIND_MASK, LINE, WORD
from midspan_lsp.memory.vocabulary import Ids, Vocabulary

MAX_DEPTH = 32
"""Most tokens that are compared, white space included: about a dozen and a half others."""

_TOKEN_RANK, _OWN_RANK, _LITERAL_RANK = 8, 4, 2  # what a token that agrees is worth, the first segment, no other name
_RENAMED_LESS = 2  # by so many tokens a match with other names has to be longer than one without

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Place:
    """A match.

    Attributes:
        segment: number of the segment.
        end: index there of the token behind the match: what follows is a draft.
        literal: tokens that agree, white space between them not counted.
        renamed: tokens that agree if names may differ; at least `literal`.
        reach: tokens that agree if names may differ, white space counted.
    """

    segment: int
    end: int
    literal: int
    renamed: int
    reach: int


def find_places(
    segments: Sequence[Segment],
    own: range,
    tail: Ids,
    heal: str,
    vocabulary: Vocabulary,
    most: int,
) -> list[Place]:
    """The longest matches of a tail, at most `most`; the first segment's before others of the same length.

    One token at least agrees that is more than white space within a line.

    Args:
        segments: what is searched.
        own: tokens of the first segment that are the cursor's own line: a match may not end there.
        tail: the tokens before the cursor, shape (n,).
        heal: the word's part that stands between the tail and the cursor: what follows a match begins with it.
        vocabulary: knows the ids.
        most: places.
    """
    tail = tail[-MAX_DEPTH:]
    may_follow = vocabulary.that_begin_with(heal) if heal else None
    best = np.zeros((0, 6), np.int64)
    least = 1
    for number, segment in enumerate(segments):
        ids = segment.ids
        ends = _possible_ends(ids, tail, least, vocabulary)
        if number == 0 and len(own):
            ends = ends[(ends < own.start) | (ends >= own.stop)]
        if may_follow is not None:
            ends = ends[may_follow[vocabulary.numbers(ids[ends + 1])]]
        if not len(ends):
            continue
        best = _best(np.concatenate([best, _measured(ids, ends, tail, number)]), most)
        if len(best) == most:
            least = (int(best[:, 0].min()) - _LITERAL_RANK) // _TOKEN_RANK + 1
    return [Place(segment, end + 1, *depths) for _, segment, end, *depths in best.tolist()]


def _possible_ends(ids: Ids, tail: Ids, least: int, vocabulary: Vocabulary) -> Numbers:
    """Where a match of `least` tokens or more ends, white space not counted, and perhaps a few others."""
    wanted: list[int] = tail[::-1].tolist()
    counted = [back for back, token in enumerate(wanted) if token & KIND_MASK != BLANK]
    if len(counted) < least:
        return np.zeros(0, np.int64)
    backs = range(counted[least - 1] + 1)
    rarest, *others = sorted(backs, key=lambda back: _frequency(wanted[back], back, vocabulary))
    ends = np.flatnonzero(_goes_on(ids, wanted[rarest], rarest)) + rarest
    ends = ends[ends < len(ids) - 1]
    for back in others:
        ends = ends[_goes_on(ids[ends - back], wanted[back], back)]
    return ends


def _frequency(wanted: int, back: int, vocabulary: Vocabulary) -> int:
    """How often what goes on with a match occurs; what has more ids than one, more often than all that has one."""
    kind = wanted & KIND_MASK
    if kind in (LINE, BLANK) or (kind == WORD and back):
        return 2**31 + kind
    return vocabulary.count(wanted)


def _goes_on(ids: Ids, wanted: int, back: int) -> npt.NDArray[np.bool_]:
    """Which ids let a match go on: names may differ but for the last token, and white space may anyway."""
    kind = wanted & KIND_MASK
    return (ids & KIND_MASK) == kind if kind in (LINE, BLANK) or (kind == WORD and back) else ids == wanted


def _measured(ids: Ids, ends: Numbers, tail: Ids, number: int) -> Numbers:
    """How far the matches reach: rows of rank, segment, end, literal, renamed, reach."""
    literal, renamed, reach = np.zeros((3, len(ends)), np.int64)
    going, same = np.arange(len(ends)), np.ones(len(ends), np.bool_)
    # every array begins with a separator, which agrees with nothing: no match runs out of it
    for back, wanted in enumerate(tail[::-1].tolist()):
        there = ids[ends[going] - back]
        goes_on = _goes_on(there, wanted, back)
        kind = wanted & KIND_MASK
        agrees = there == wanted if kind == WORD else goes_on
        going, same = going[goes_on], (same & agrees)[goes_on]
        if not len(going):
            break
        reach[going] += 1
        if kind != BLANK:
            renamed[going] += 1
            literal[going[same]] += 1
    rank = _TOKEN_RANK * np.maximum(literal, renamed - _RENAMED_LESS) + _LITERAL_RANK * (literal == renamed)
    rank += _OWN_RANK * (number == 0)
    return np.stack([rank, np.full(len(ends), number), ends, literal, renamed, reach], axis=1)[renamed > 0]


def _best(rows: Numbers, most: int) -> Numbers:
    """At most so many rows: those of the highest rank."""
    return rows if len(rows) <= most else rows[np.argpartition(-rows[:, 0], most - 1)[:most]]
