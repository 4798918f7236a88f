"""Places: the best of all there are, found without a look at most of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from midspan_lsp.memory import matching
from midspan_lsp.memory.matching import MAX_DEPTH, Place, find_places
from midspan_lsp.memory.segments import Document, Segment
from midspan_lsp.memory.tokens import BLANK, LINE, WORD, kind_of, lex
from midspan_lsp.memory.vocabulary import Vocabulary

TEXT = st.lists(st.sampled_from(["x", "y", "zz", " ", "  ", "\n", "(", ")", "=", "if", "1"]), max_size=40).map("".join)


def segment(vocabulary: Vocabulary, *texts: str) -> Segment:
    made = Segment(sum(len(lex(text)) + 1 for text in texts) + 2)
    for text in texts:
        ids = vocabulary.take(lex(text))
        made.append(Document("", "", "", 0), ids)
    return made


def rank(place: Place) -> tuple[int, bool, bool]:
    return max(place.literal, place.renamed - 2), place.segment == 0, place.literal == place.renamed


def every_place(texts: list[list[str]], tail: list[str], heal: str) -> list[Place]:
    """All there are, token by token."""
    found: list[Place] = []
    for number, documents in enumerate(texts):
        start = 1
        for text in documents:
            tokens = lex(text)
            for end in range(len(tokens)):
                literal = renamed = reach = 0
                same = True
                for back, wanted in enumerate(tail[::-1][:MAX_DEPTH]):
                    there = tokens[end - back] if end >= back else ""
                    kind = kind_of(wanted)
                    alike = there == wanted or (bool(there) and kind in (LINE, BLANK) and kind_of(there) == kind)
                    if not alike and not (back and kind == WORD and there and kind_of(there) == WORD):
                        break
                    same, reach = same and alike, reach + 1
                    renamed += kind != BLANK
                    literal += same and kind != BLANK
                follows = tokens[end + 1] if end + 1 < len(tokens) else ""
                if renamed and follows.startswith(heal):
                    found.append(Place(number, start + end + 1, literal, renamed, reach))
            start += len(tokens) + 1
    return found


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.lists(TEXT, min_size=1, max_size=3), min_size=1, max_size=4),
    TEXT,
    st.sampled_from(["", "", "z", "i"]),
    st.sampled_from([1, 3, 1000]),
)
def test_the_best_of_all_places_are_found(texts: list[list[str]], tail: str, heal: str, most: int) -> None:
    vocabulary = Vocabulary()
    segments = [segment(vocabulary, *documents) for documents in texts]
    ids = np.array([vocabulary.find(token) for token in lex(tail)[-MAX_DEPTH:]], np.int32)
    found = find_places(segments, range(0), ids, heal, vocabulary, most)
    wanted = every_place(texts, lex(tail)[-MAX_DEPTH:], heal)
    assert set(found) <= set(wanted)
    assert len(found) == len(set(found)) == min(most, len(wanted))
    assert sorted(map(rank, found)) == sorted(map(rank, wanted))[-len(found) :] or not found


def test_a_large_project_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    vocabulary = Vocabulary()
    lines = "".join(f"    value_{number} = self.get(name_{number}, {number})\n" for number in range(500))
    segments = [segment(vocabulary, lines * 2) for _ in range(20)]
    tail = np.array(
        [vocabulary.find(token) for token in lex("    value_3 = self.get(name_3, 3)\n    value_4 = ")], np.int32
    )
    looked_at: list[int] = []
    measured = matching._measured
    monkeypatch.setattr(matching, "_measured", lambda *given: looked_at.append(len(given[1])) or measured(*given))
    found = find_places(segments, range(0), tail, "", vocabulary, 5)
    assert len(found) == 5
    assert {place.literal for place in found} == {13}
    assert sum(looked_at[3:]) <= 40, "of the 20,000 lines that are like the cursor's"
