"""Drafts for a cursor from what stands elsewhere: places are found, what follows them is grouped and ranked."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from midspan_lsp.memory.continuations import N_BEHIND, Continuation, Cursor, continuation, indent_step, n_needed
from midspan_lsp.memory.index import TokenIndex
from midspan_lsp.memory.matching import MAX_DEPTH, Place, find_places
from midspan_lsp.memory.naming import by_words
from midspan_lsp.memory.scoring import Evidence, scores
from midspan_lsp.memory.secrets import holds_secret
from midspan_lsp.memory.segments import Document, Segment
from midspan_lsp.memory.tokens import BLANK, KIND_MASK, LINE, NUMBER, WORD, kind_of, last_line, lex
from midspan_lsp.memory.vocabulary import Ids, Vocabulary

MOST_PLACES, FEW_PLACES = 120, 24  # the few where somebody asks between two forwards
_MOST_DRAFTS = 4
_LEAST_RENAMED = 6  # tokens: names are not renamed if that is inconsistent already within so few
_LOOK_BACK = 100  # tokens before a place that are looked at for its line and the one above
_NAMES_A_BLOCK = frozenset(
    {"class", "def", "enum", "fn", "func", "function", "impl", "interface", "struct", "trait", "type"}
)


@dataclass(frozen=True)
class RetrievedDraft:
    """A middle that stands, with the same tokens before it, elsewhere in the project.

    Attributes:
        text: what would be inserted.
        match_tokens: tokens before the cursor that agree there, white space between them not counted.
        n_places: places with a match of about that length whose continuation fits.
        n_agreeing: those of them that go on with this text.
        is_same_file: whether it stands in the document itself.
        distance_lines: lines between it and the cursor in the same file; 0 in others.
        suffix_agrees: tokens behind it that agree with those behind the cursor, white space not counted.
        renamed: whether names were put in the place of others.
        source_path: file it is from, or its uri where it has no file.
        source_line: line there, from 0, on which it begins.
        score: 0 to 1, greater is better: about the chance that this was wanted (fitted on other repositories).
    """

    text: str
    match_tokens: int
    n_places: int
    n_agreeing: int
    is_same_file: bool
    distance_lines: int
    suffix_agrees: int
    renamed: bool
    source_path: str
    source_line: int
    score: float


@dataclass(frozen=True)
class _Found:
    """A place, and what would be inserted from it; depths in tokens, `depth` with names renamed."""

    place: Place
    document: Document
    continuation: Continuation
    depth: int
    n_names: int
    renamed: bool
    same_step: bool


def find_drafts(
    index: TokenIndex, document: Document | None, family: str, offset: int, cursor: Cursor, most: int = MOST_PLACES
) -> list[RetrievedDraft]:
    """The best few drafts for a cursor, best first.

    Args:
        index: what is searched.
        document: the cursor's own, if it is in the index.
        family: of its language.
        offset: of the cursor in it.
        cursor: what stands around it.
        most: places that are looked at.
    """
    segments = index.segments(family)
    own = range(0)
    if document is None:
        segments = [Segment(), *segments]
    else:
        segments = [document.segment, *(segment for segment in segments if segment is not document.segment)]
        first, end = index.place_of(document, offset)
        own = range(document.start + first, document.start + end)
    tail = np.array([index.vocabulary.find(token) for token in cursor.tail[-MAX_DEPTH:]], np.int32)
    places = find_places(segments, own, tail, cursor.heal, index.vocabulary, most)
    found = [one for place in places if (one := _read(index.vocabulary, segments, place, own, cursor)) is not None]
    breaks = np.flatnonzero((segments[0].ids & KIND_MASK) == LINE)
    here = int(np.searchsorted(breaks, own.start, side="right"))

    def distance(one: _Found) -> int:
        """Lines between a place of the cursor's document and the cursor; runs of blank lines count as one."""
        return (
            abs(int(np.searchsorted(breaks, one.place.end - 1, side="right")) - here) if one.place.segment == 0 else 0
        )

    drafts: list[RetrievedDraft] = []
    for best, evidence, n_places, chance in _ranked(found, cursor, distance):
        if not _is_secret(index.vocabulary, segments, best, cursor):
            drafts.append(_draft(index, segments, best, evidence, n_places, chance, document))
        if len(drafts) == _MOST_DRAFTS:
            break
    return drafts


def _read(
    vocabulary: Vocabulary, segments: Sequence[Segment], place: Place, own: range, cursor: Cursor
) -> _Found | None:
    """What follows a place, with the names of the cursor's scope."""
    ids = segments[place.segment].ids
    stop = place.end + n_needed(cursor)
    if place.segment == 0 and place.end <= own.start:
        stop = min(stop, own.start)  # the cursor's own line is no draft for itself
    following = ids[place.end : stop]
    ends = np.flatnonzero((following & KIND_MASK) == LINE)[: cursor.max_lines]
    if len(ends) == cursor.max_lines:
        following = following[: ends[-1] + N_BEHIND]
    tokens = _strings(vocabulary, following)
    document = segments[place.segment].document_at(place.end - 1)
    before = ids[max(document.start, place.end - _LOOK_BACK) : place.end]
    breaks = np.flatnonzero((before & KIND_MASK) == LINE)[-2:]
    lines = [last_line(vocabulary.string(token)) for token in before[breaks].tolist()]
    there = lines[-1] if lines else ""
    names, depth = _names(vocabulary, ids, place, cursor)
    one = continuation(tokens, there, names | by_words(names, tokens, vocabulary), cursor)
    if one is None:
        return None
    literal = continuation(tokens, there, {}, cursor) if names else one
    renamed = literal is None or one.text != literal.text
    return _Found(place, document, one, depth, len(names), renamed, indent_step(lines) == cursor.step)


def _names(vocabulary: Vocabulary, ids: Ids, place: Place, cursor: Cursor) -> tuple[dict[str, str], int]:
    """Names there and what they are called here, as far back as that is consistent; and how many tokens agree so."""
    names: dict[str, str] = {}
    if place.renamed == place.literal:
        return names, place.literal
    depth = 0
    for back in range(place.reach):
        token_id = int(ids[place.end - 1 - back])
        kind, there, here = token_id & KIND_MASK, vocabulary.string(token_id), cursor.tail[-1 - back]
        if kind == WORD and (names.get(there, here) != here or (there not in names and here in names.values())):
            if depth < _LEAST_RENAMED:
                return {}, place.literal
            break
        if kind == WORD:
            names[there] = here
        depth += kind != BLANK
    return {there: here for there, here in names.items() if there != here}, depth


def _ranked(
    found: Sequence[_Found], cursor: Cursor, distance: Callable[[_Found], int]
) -> list[tuple[_Found, Evidence, int, float]]:
    """The best place of each text, what speaks for the text, among how many places, and its score; best first."""
    groups: dict[str, list[_Found]] = {}
    for one in found:
        groups.setdefault(one.continuation.text, []).append(one)
    levels = sorted(one.depth - one.n_names for one in found)
    ranked: list[tuple[_Found, Evidence, int]] = []
    for group in groups.values():
        best = max(group, key=_strength)
        level = best.depth - best.n_names
        n_places = len(levels) - bisect_left(levels, level)
        n_agreeing = sum(one.depth - one.n_names >= level for one in group)
        words = [token for token in lex(cursor.heal + best.continuation.text) if kind_of(token) in (WORD, NUMBER)]
        evidence = Evidence(
            literal=best.place.literal,
            n_names=best.n_names,
            behind=levels[-1] - level,
            n_suffix=max(one.continuation.n_suffix for one in group),
            share=n_agreeing / n_places,
            n_agreeing=n_agreeing,
            same_file=any(one.place.segment == 0 for one in group),
            repeats=best.continuation.text.strip() == cursor.next_line,
            names_block=best.continuation.text.split(" ", 1)[0] in _NAMES_A_BLOCK,
            same_step=best.same_step,
            at_line_start=bool(cursor.tail) and cursor.tail[-1][0] in "\r\n" and not cursor.heal,
            n_heal=len(cursor.heal),
            n_words=len(words),
            n_unknown=sum(word not in cursor.near_words for word in words),
            distance=distance(best),
        )
        ranked.append((best, evidence, n_places))
    chances = scores([evidence for _, evidence, _ in ranked])
    order = sorted(range(len(ranked)), key=lambda number: (-chances[number], ranked[number][0].continuation.text))
    return [(*ranked[number], chances[number]) for number in order]


def _strength(one: _Found) -> tuple[int, int, int, bool, bool, bool, str, int]:
    """Which place of the same text is named: the best match, then the cursor's file, then what is open."""
    n_suffix = one.continuation.n_suffix
    depth = one.depth - one.n_names + min(4, n_suffix)
    own, is_open = one.place.segment == 0, one.document.text is not None
    at = one.place.end - one.document.start
    return depth, one.place.literal, n_suffix, own, one.same_step, is_open, one.document.key, at


def _draft(
    index: TokenIndex,
    segments: Sequence[Segment],
    best: _Found,
    evidence: Evidence,
    n_places: int,
    chance: float,
    document: Document | None,
) -> RetrievedDraft:
    line = index.line_number(segments[best.place.segment], best.document, best.place.end)
    return RetrievedDraft(
        text=best.continuation.text,
        match_tokens=best.depth,
        n_places=n_places,
        n_agreeing=evidence.n_agreeing,
        is_same_file=best.document is document,
        distance_lines=evidence.distance,
        suffix_agrees=evidence.n_suffix,
        renamed=best.renamed,
        source_path=best.document.path or best.document.key,
        source_line=line,
        score=chance,
    )


def _is_secret(vocabulary: Vocabulary, segments: Sequence[Segment], found: _Found, cursor: Cursor) -> bool:
    """Whether the lines a draft is from, or those it would make, look as if they held a secret."""
    ids, end = segments[found.place.segment].ids, found.place.end
    before = last_line(vocabulary.text(ids[max(found.document.start, end - 4 * _LOOK_BACK) : end]))
    following = ids[end : end + n_needed(cursor)]
    breaks = np.flatnonzero((following & KIND_MASK) == LINE)
    taken = following[: breaks[cursor.max_lines - 1]] if len(breaks) >= cursor.max_lines else following
    here = last_line("".join(cursor.tail)) + cursor.heal + found.continuation.text + cursor.rest
    return holds_secret(before + "".join(_strings(vocabulary, taken))) or holds_secret(here)


def _strings(vocabulary: Vocabulary, ids: Ids) -> list[str]:
    """The strings of ids, up to their document's end."""
    numbers = ids.tolist()
    if 0 in numbers:
        del numbers[numbers.index(0) :]
    return [vocabulary.string(number) for number in numbers]
