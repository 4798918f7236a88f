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

_MORE_LEVELS = 4
_MOST_OF_A_LEVEL = 2000


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
    may_follow = vocabulary.that_begin_with(heal) if heal else None
    found: list[npt.NDArray[np.int64]] = []
    for number, segment in enumerate(segments):
        ids = segment.ids
        ends = np.flatnonzero(_agrees(ids[:-1], int(tail[-1])))
        if number == 0 and len(own):
            ends = ends[(ends < own.start) | (ends >= own.stop)]
        if may_follow is not None:
            ends = ends[may_follow[ids[ends + 1] >> KIND_BITS]]
        if len(ends):
            found.append(_depths(ids, ends, tail, number, most))
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


def _depths(ids: Ids, ends: npt.NDArray[np.int64], tail: Ids, number: int, most: int) -> npt.NDArray[np.int64]:
    """How far the longest matches reach, `most` or a few more: rows of segment, end, literal, renamed, reach."""
    literal = np.zeros(len(ends), np.int16)
    renamed = 0
    same = np.ones(len(ends), np.bool_)
    stopped: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int16], npt.NDArray[np.bool_], int, int]] = []
    depth = min(MAX_DEPTH, len(tail))
    # every array begins with a separator, which agrees with nothing: no match runs out of it
    for back in range(depth):
        wanted = int(tail[-1 - back])
        there = ids[ends - back]
        agrees = _agrees(there, wanted)
        goes_on = agrees | ((there & KIND_MASK) == WORD) if wanted & KIND_MASK == WORD and back else agrees
        stopped.append((ends, literal, ~goes_on, renamed, back))
        ends, same = ends[goes_on], (same & agrees)[goes_on]
        counts = wanted & KIND_MASK != BLANK
        literal = literal[goes_on] + same if counts else literal[goes_on]
        renamed += counts
        if not len(ends):
            break
    else:
        stopped.append((ends, literal, np.ones(len(ends), np.bool_), renamed, depth))
    rows: list[npt.NDArray[np.int64]] = []
    n_more, n_rows = _MORE_LEVELS, 0
    for at, agreeing, stops, n_renamed, reach in reversed(stopped):
        chosen = np.flatnonzero(stops)[:_MOST_OF_A_LEVEL]
        n_chosen = len(chosen)
        if n_chosen and reach:
            same_for_all = [np.full(n_chosen, value) for value in (number, n_renamed, reach)]
            columns = (same_for_all[0], at[chosen], agreeing[chosen].astype(np.int64), *same_for_all[1:])
            rows.append(np.stack(columns, axis=1))
            n_rows += n_chosen
        # a match without renamed names is worth more than one that reaches a little farther with them
        n_more -= n_rows >= most
        if n_more < 0:
            break
    return np.concatenate(rows) if rows else np.zeros((0, 5), np.int64)
