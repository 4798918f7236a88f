"""Typing: look-ahead and drafts change the number of forwards and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from midspan_model.denoising.constraints import Constraints
from midspan_model.tokenizer import Tokenizer
from midspan_model.typewriter import LookAhead, Typed, TypeForward, Typewriter
from tiny_model import MODEL, Stop

END, MASK = MODEL.end_id, MODEL.mask_id


@pytest.fixture(scope="module")
def constraints(tiny_checkpoint: Path) -> Constraints:
    return Constraints(Tokenizer(tiny_checkpoint / "tokenizer.json", MODEL.n_special), MODEL)


class Reader:
    """A model that says a text, whatever it reads; masks it reads as that text with some places wrong.

    Where a token that it reads is not the text's, it says something else from there on: a draft must not be believed.
    """

    def __init__(self, text_ids: list[int], wrong: frozenset[int] = frozenset(), other: int = 200) -> None:
        self.text_ids, self.wrong, self.other, self.read = [*text_ids, END], wrong, other, [0] * 200
        self.widths: list[int] = []

    def __call__(self, path: Sequence[int], n_new: int) -> torch.Tensor:
        ids, n_known = list(path[-n_new:]), len(path) - n_new
        self.widths.append(len(ids))
        self.read[n_known : n_known + len(ids)] = ids
        logits_TV = torch.zeros(len(ids), MODEL.vocab_size)
        for row in range(len(ids)):
            place = n_known + row
            seen = self.read[1 : place + 1]
            right = all(token in (want, MASK) for token, want in zip(seen, self.text_ids, strict=False))
            guesses = MASK in seen
            token_id = self.text_ids[place] if place < len(self.text_ids) else END
            logits_TV[row, token_id if right and not (guesses and place in self.wrong) else self.other] = 9
        return logits_TV


def type_all(forward: TypeForward, constraints: Constraints, draft: list[int] = [], n_masks: int = 0) -> Typed:  # noqa: B006
    return Typewriter(forward, constraints, 65, b"").type(Stop(), ahead=LookAhead(n_masks), draft=draft)


def score(text_ids: list[int], scored_ids: list[int], constraints: Constraints) -> Typed:
    logits_TV = Reader(text_ids)([65, *scored_ids], 1 + len(scored_ids))
    return Typewriter(Reader(text_ids), constraints, 65, b"").score(logits_TV, scored_ids)


texts = st.lists(st.integers(100, 180), min_size=1, max_size=12)


@given(texts, st.frozensets(st.integers(0, 12)), st.integers(0, 5))
@settings(deadline=None)
def test_looking_ahead_changes_nothing_but_the_forwards(
    constraints: Constraints, text_ids: list[int], wrong: frozenset[int], n_masks: int
) -> None:
    plain = type_all(Reader(text_ids), constraints)
    ahead = type_all(Reader(text_ids, wrong), constraints, n_masks=n_masks)
    assert plain.token_ids == ahead.token_ids == text_ids
    assert plain.n_forwards == len(text_ids) + 1
    assert ahead.n_forwards <= plain.n_forwards
    assert ahead.confidences == pytest.approx(plain.confidences)
    assert ahead.confidence == pytest.approx(plain.confidence)
    assert plain.ended
    assert ahead.ended


@given(texts, st.lists(st.integers(100, 180), max_size=6), st.integers(0, 12), st.integers(0, 4))
@settings(deadline=None)
def test_a_draft_changes_nothing_but_the_forwards(
    constraints: Constraints, text_ids: list[int], tail: list[int], n_right: int, n_masks: int
) -> None:
    drafted = type_all(Reader(text_ids), constraints, [*text_ids[:n_right], *tail], n_masks)
    assert drafted.token_ids == text_ids
    assert drafted.confidence == pytest.approx(type_all(Reader(text_ids), constraints).confidence)


def test_a_right_draft_costs_one_forward(constraints: Constraints) -> None:
    assert type_all(Reader([101, 102, 103]), constraints, [101, 102, 103]).n_forwards == 1


def test_right_guesses_are_kept(constraints: Constraints) -> None:
    text_ids = list(range(101, 113))
    reader = Reader(text_ids)
    assert type_all(reader, constraints, n_masks=3).n_forwards == 4  # 1, then 4 at a time, and the end
    assert reader.widths == [4, 7, 7, 7]
    nothing_right = Reader(text_ids, frozenset(range(20)))
    assert type_all(nothing_right, constraints, n_masks=3).n_forwards == len(text_ids) + 1


@given(texts)
@settings(deadline=None)
def test_a_score_is_what_typing_says(constraints: Constraints, text_ids: list[int]) -> None:
    typed = type_all(Reader(text_ids), constraints)
    scored = score(text_ids, text_ids, constraints)
    assert scored.n_forwards == 0
    assert scored.confidences == pytest.approx(typed.confidences)
    assert scored.confidence == pytest.approx(typed.confidence)
    wrong = score(text_ids, [*text_ids[:-1], 190], constraints)
    assert wrong.confidence < 0.01 * scored.confidence


def test_it_ends_with_the_line_the_length_or_the_floor(constraints: Constraints, tiny_checkpoint: Path) -> None:
    newline = Tokenizer(tiny_checkpoint / "tokenizer.json", MODEL.n_special).encode("\n")[0]
    two_lines = [101, 102, newline, 103]
    one = type_all(Reader(two_lines), constraints)
    assert (one.token_ids, one.ended) == ([101, 102], True)
    both = Typewriter(Reader(two_lines), constraints, 65, b"", n_lines=2).type(Stop())
    assert both.token_ids == two_lines
    short = Typewriter(Reader([101] * 20), constraints, 65, b"", max_tokens=5).type(Stop(), ahead=LookAhead(4))
    assert (short.token_ids, short.ended) == ([101] * 5, False)
    unsure = Typewriter(Reader([101] * 20), constraints, 65, b"").type(Stop(), floor=0.95)
    assert unsure.token_ids == [101] * 2
    assert Typewriter(Reader([101]), constraints, 65, b"").type(Stop(cancel_after=0)).n_forwards == 0


def test_an_empty_middle_is_none(constraints: Constraints) -> None:
    typed = type_all(Reader([]), constraints)
    assert typed.token_ids
    assert typed.confidence < 0.1
