"""Where else the tokens before the cursor stand: a scan from the last token backwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from midspan_lsp.memory.segments import Segment
from midspan_lsp.memory.tokens import BLANK, KIND_BITS, KIND_MASK, LINE, WORD
from midspan_lsp.memory.vocabulary import Ids, Vocabulary

MAX_DEPTH = 32
"""Most tokens that are compared, white space included: about a dozen and a half others."""


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

    Args:
        segments: what is searched.
        own: tokens of the first segment that are the cursor's own line: a match may not end there.
        tail: the tokens before the cursor, shape (n,).
        heal: the word's part that stands between the tail and the cursor: what follows a match begins with it.
        vocabulary: knows the ids.
        most: places.
    """
    if not len(tail):
        return []
    may_follow = _healing(segments, tail, heal, vocabulary) if heal else None
    found: list[npt.NDArray[np.int64]] = []
    for number, segment in enumerate(segments):
        ids = segment.ids
        ends = np.flatnonzero(_agrees(ids[:-1], int(tail[-1])))
        if number == 0 and len(own):
            ends = ends[(ends < own.start) | (ends >= own.stop)]
        if may_follow is not None:
            ends = ends[may_follow[ids[ends + 1] >> KIND_BITS]]
        if len(ends):
            found.append(_depths(ids, ends, tail, number))
    if not found:
        return []
    table = np.concatenate(found)
    rank = 8 * np.maximum(table[:, 2], table[:, 3] - 2) + 4 * (table[:, 0] == 0) + 2 * (table[:, 2] == table[:, 3])
    if len(table) > most:
        table = table[np.argpartition(-rank, most)[:most]]
    return [
        Place(segment, end + 1, literal, renamed, reach) for segment, end, literal, renamed, reach in table.tolist()
    ]


def _agrees(ids: Ids, wanted: int) -> npt.NDArray[np.bool_]:
    """Which ids stand for the same; of white space the amount does not matter."""
    kind = wanted & KIND_MASK
    return (ids & KIND_MASK) == kind if kind in (LINE, BLANK) else ids == wanted


def _healing(segments: Sequence[Segment], tail: Ids, heal: str, vocabulary: Vocabulary) -> npt.NDArray[np.bool_]:
    """For each string number, whether it begins with the word's part and follows the tail's last token somewhere."""
    follows = np.zeros(vocabulary.size, np.bool_)
    for segment in segments:
        ids = segment.ids
        follows[ids[1:][_agrees(ids[:-1], int(tail[-1]))] >> KIND_BITS] = True
    follows[0] = False
    for number in np.flatnonzero(follows).tolist():
        follows[number] = vocabulary.string(number << KIND_BITS).startswith(heal)
    return follows


def _depths(ids: Ids, ends: npt.NDArray[np.int64], tail: Ids, number: int) -> npt.NDArray[np.int64]:
    """How far each match reaches: rows of segment, end, literal, renamed, reach."""
    literal = np.zeros(len(ends), np.int64)
    renamed = np.zeros(len(ends), np.int64)
    reach = np.zeros(len(ends), np.int64)
    alive = np.arange(len(ends))
    same = np.ones(len(ends), np.bool_)
    # every array begins with a separator, which agrees with nothing: no match runs out of it
    for back in range(min(MAX_DEPTH, len(tail))):
        wanted = int(tail[-1 - back])
        there = ids[ends[alive] - back]
        agrees = _agrees(there, wanted)
        goes_on = agrees | ((there & KIND_MASK) == WORD) if wanted & KIND_MASK == WORD and back else agrees
        same = (same & agrees)[goes_on]
        alive = alive[goes_on]
        if not len(alive):
            break
        if wanted & KIND_MASK != BLANK:
            literal[alive] += same
            renamed[alive] += 1
        reach[alive] = back + 1
    return np.stack([np.full(len(ends), number), ends, literal, renamed, reach], axis=1)
