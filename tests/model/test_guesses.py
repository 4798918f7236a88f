"""Guesses of how typing goes on change the number of forwards and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from midspan_model.infilling import Infiller
from midspan_model.questions import Ahead, Middle, Question
from tiny_model import Stop, tiny_infiller

QUESTIONS = [
    Question("def first(a, b):\n    return a\n\n\ndef second(x):\n    return fi", "(x)\n"),
    Question("total = ", "\nprint(total)\n"),
    Question("    retu", "", max_lines=3, min_indent=4),
    Question("name = 'é", "'\n"),
]


@pytest.fixture(scope="module")
def infiller(tiny_checkpoint: Path) -> Infiller:
    return tiny_infiller(tiny_checkpoint, denoising=False)


def middle(infiller: Infiller, question: Question, ahead: Ahead | None = None) -> Middle:
    infiller.contexts.clear()
    found = infiller.infill(replace(question, ahead=ahead), Stop())
    assert found is not None
    return found


def knows(text: str) -> Ahead:
    """Knows the middle, and how it goes on from wherever it agrees."""
    return lambda begun: text[len(begun) :] if text.startswith(begun) else ""


@pytest.mark.parametrize("question", QUESTIONS)
def test_who_knows_the_middle_saves_forwards(infiller: Infiller, question: Question) -> None:
    alone = middle(infiller, question)
    told = middle(infiller, question, knows(alone.text))
    assert told.text == alone.text
    assert told.token_ids == alone.token_ids
    assert told.confidences == pytest.approx(alone.confidences, abs=1e-5)
    n_tokens = len(alone.token_ids)
    assert alone.cost.n_forwards >= n_tokens > 8
    assert told.cost.n_forwards <= alone.cost.n_forwards * 0.7


@given(st.sampled_from(QUESTIONS), st.lists(st.text("retun fis(x)\n", max_size=9), min_size=1, max_size=40))
@settings(deadline=None, max_examples=25)
def test_a_wrong_guess_costs_no_forward(infiller: Infiller, question: Question, guesses: list[str]) -> None:
    alone = middle(infiller, question)
    told = iter(guesses * 100)
    misled = middle(infiller, question, lambda _begun: next(told))
    assert (misled.text, misled.token_ids) == (alone.text, alone.token_ids)
    assert misled.cost.n_forwards <= alone.cost.n_forwards


def test_it_is_told_what_is_typed_and_only_that(infiller: Infiller) -> None:
    asked: list[str] = []

    def ahead(begun: str) -> str:
        asked.append(begun)
        return ""

    found = middle(infiller, QUESTIONS[0], ahead)
    assert asked
    assert all(found.text.startswith(begun) for begun in asked)
    assert sorted(asked, key=len) == asked


def test_it_can_be_switched_off(tiny_checkpoint: Path) -> None:
    silent = tiny_infiller(tiny_checkpoint, denoising=False, guessed_tokens=0)

    def never(_begun: str) -> str:
        raise AssertionError("asked")

    assert middle(silent, QUESTIONS[0], never).text
