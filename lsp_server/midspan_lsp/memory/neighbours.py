"""Text of the project that is like what stands before the cursor, for the model to read in front of it.

Windows of ten lines are scored by the names that they share with the last ten lines, rare names counting more; what is
shown begins with the best window and goes on behind it (RepoCoder: Zhang et al. 2023, arXiv 2303.12570).

Shapes: T tokens of a segment, L its line breaks, H places of wanted names, W windows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.memory.index import TokenIndex
from midspan_lsp.memory.secrets import without_secrets
from midspan_lsp.memory.segments import Document, Segment
from midspan_lsp.memory.tokens import KIND_BITS, KIND_MASK, LINE, SEPARATOR, WORD, kind_of, lex
from midspan_lsp.memory.vocabulary import Ids

N_LINES_ALIKE, N_LINES_SHOWN = 10, 22
_STRIDE = N_LINES_ALIKE // 2
_LEAST_LINES = 3
_LEAST_SCORE = 0.2
_MOST_NAMES = 32
_NEAR_LINES = (45, 12)  # before and behind the cursor: what the model sees anyway, and what is to be written
_LOOK_BACK = 3000  # characters
_SAME_PLACE_LINES = 8
_STAYS = 0.7


@dataclass(frozen=True)
class Neighbour:
    """Lines that stand elsewhere.

    Attributes:
        text: whole lines.
        score: what they share with the lines before the cursor, by the weight of the names; 0 to 1.
        source_path: file they are from, or its uri where it has none.
    """

    text: str
    score: float
    source_path: str


@dataclass(frozen=True)
class _Kept:
    """What a document's requests are shown, and the line of the cursor that it was found for."""

    line: int
    text: str


@dataclass(frozen=True)
class _Window:
    """Where the best window of a segment begins (a token), and its score."""

    segment: Segment
    start: int
    end: int
    score: float


class Neighbours:
    """The neighbour of each document's cursor.

    It stays the same while one types, so that what the model has read stays good: another takes its place only some
    lines further on, and only if it is much more alike.

    Args:
        index: what is searched.
    """

    def __init__(self, index: TokenIndex) -> None:
        self._index = index
        self._kept: dict[str, _Kept] = {}

    def near(self, snapshot: DocumentSnapshot, document: Document | None, family: str, offset: int) -> str:
        """Its lines; "" if there are none.

        Args:
            snapshot: the document as it stands.
            document: the same in the index, if it is there.
            family: of its language.
            offset: of the cursor.
        """
        prefix, line = snapshot.text[:offset], snapshot.text.count("\n", 0, offset)
        kept = self._kept.get(snapshot.uri)
        if kept is not None and abs(line - kept.line) <= _SAME_PLACE_LINES:
            return kept.text
        found = find_neighbour(self._index, document, family, offset, prefix)
        text = found.text if found else ""
        if found and kept and kept.text and likeness(self._index, prefix, kept.text) > _STAYS * found.score:
            text = kept.text
        if document is not None:
            self._kept[snapshot.uri] = _Kept(line, text)
        return text

    def forget(self, uri: str) -> None:
        """A document was closed."""
        self._kept.pop(uri, None)


def find_neighbour(
    index: TokenIndex, document: Document | None, family: str, offset: int, prefix: str
) -> Neighbour | None:
    """The lines most like those before the cursor, if there are any that are alike enough.

    Args:
        index: what is searched.
        document: the cursor's own, if it is in the index.
        family: of its language.
        offset: of the cursor in it.
        prefix: text before the cursor.
    """
    weights = _names(index, prefix)
    if not weights:
        return None
    total = sum(weights.values())
    numbers = np.zeros(index.vocabulary.size, np.int8)
    for number, token_id in enumerate(weights, 1):
        numbers[token_id >> KIND_BITS] = number
    weights_N = np.array([0.0, *weights.values()])
    best: _Window | None = None
    for segment in index.segments(family):
        own = index.place_of(document, offset)[1] if document is not None and segment is document.segment else None
        found = _best_window(segment, numbers, weights_N, own)
        if found is not None and (best is None or found.score > best.score):
            best = found
    if best is None or best.score < _LEAST_SCORE * total:
        return None
    holder = best.segment.document_at((best.start + best.end) // 2)
    start, end = max(best.start, holder.start), min(best.end, holder.start + holder.n_tokens)
    text = without_secrets(index.vocabulary.text(best.segment.ids[start:end]).lstrip("\r\n"))
    if text.count("\n") + text.count("\r") < _LEAST_LINES:
        return None
    return Neighbour(text, best.score / total, holder.path or holder.key)


def likeness(index: TokenIndex, prefix: str, text: str) -> float:
    """The score that a text's first lines have for a cursor, 0 to 1."""
    weights = _names(index, prefix)
    shown = {index.vocabulary.find(token) for token in lex("".join(text.splitlines(keepends=True)[:N_LINES_ALIKE]))}
    return sum(weight for name, weight in weights.items() if name in shown) / (sum(weights.values()) or 1.0)


def _names(index: TokenIndex, prefix: str) -> dict[int, float]:
    """The names of the last lines that the project knows, and their weights, the rarest first."""
    near = "".join(prefix[-_LOOK_BACK:].splitlines(keepends=True)[-N_LINES_ALIKE:])
    vocabulary, n_tokens = index.vocabulary, index.n_tokens + 1
    found: Mapping[int, float] = {
        token_id: math.log(n_tokens / vocabulary.count(token_id))
        for token in lex(near)
        if kind_of(token) == WORD and (token_id := vocabulary.find(token)) > 0 and vocabulary.count(token_id)
    }
    return dict(sorted(found.items(), key=lambda one: -one[1])[:_MOST_NAMES])


def _best_window(
    segment: Segment, numbers: npt.NDArray[np.int8], weights_N: npt.NDArray[np.float64], own: int | None
) -> _Window | None:
    """The best window of a segment.

    Args:
        segment: to be searched.
        numbers: for each string number that of the wanted name, from 1; 0: none.
        weights_N: by that number.
        own: if the cursor is in it: the token behind which it stands.
    """
    ids_T = segment.ids
    hits_H = np.flatnonzero(numbers[ids_T >> KIND_BITS])
    if not len(hits_H):
        return None
    kinds_T = ids_T & KIND_MASK
    breaks_L: Ids = np.flatnonzero((kinds_T == LINE) | (kinds_T == SEPARATOR)).astype(np.int32)
    blocks_H = np.searchsorted(breaks_L, hits_H) // _STRIDE
    names_H = numbers[ids_T[hits_H] >> KIND_BITS].astype(np.int64)
    n_windows = len(breaks_L) // _STRIDE + 2
    # a window is two blocks; a name counts once in each
    keys = np.unique(
        np.concatenate([names_H * n_windows + blocks_H, names_H * n_windows + np.maximum(blocks_H - 1, 0)])
    )
    scores_W = np.bincount(keys % n_windows, weights_N[keys // n_windows], n_windows)
    if own is not None:
        here = int(np.searchsorted(breaks_L, own))
        first, end = here - _NEAR_LINES[0] - N_LINES_SHOWN, here + _NEAR_LINES[1]
        scores_W[max(0, first // _STRIDE + 1) : max(0, end // _STRIDE + 1)] = 0
    window = int(scores_W.argmax())
    line = window * _STRIDE
    start = int(breaks_L[line - 1]) if line else 0
    stop = line + N_LINES_SHOWN - 1
    return _Window(segment, start, int(breaks_L[stop]) if stop < len(breaks_L) else len(ids_T), float(scores_W[window]))
