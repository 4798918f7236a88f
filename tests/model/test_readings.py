"""What was read behind a context is not read again, and no answer is another one for it."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from midspan_model.block_reader import BlockReader
from midspan_model.calibration import BEHIND, Calibrator
from midspan_model.canvas import Canvas
from midspan_model.context_encoding import Cost
from midspan_model.growth import Draft
from midspan_model.infilling import Infiller
from midspan_model.kv_cache import ContextCache
from midspan_model.questions import Middle, Proposal, Question
from midspan_model.readings import MOST_ROWS
from midspan_model.token_tree import TokenTree
from tiny_model import MODEL, Stop, tiny_infiller

BEFORE = "def first(a, b):\n    return a\n\n\n"
SUFFIXES = ["(x)\n\nprint(second(3))\n", ""]
KEYS = ["d", "de", "def", "def ", "def s"]
"""The first three are one token: they only add to what is healed."""
TEXTS = ["def second(x):", "def second(y):", "def first", "print(1)", "deffer = 2"]


@lru_cache
def calibrated(folder: Path, *, fresh: bool) -> Infiller:
    infiller = tiny_infiller(folder)
    read_on = Calibrator(0.0, {"log_confidence": 0.01, BEHIND: 0.2})
    infiller.calibrator = Calibrator(0.0, {"log_confidence": 0.01, "typed": 0.2}, read_on=read_on)
    return infiller


def ask(infiller: Infiller, question: Question) -> Middle:
    middle = infiller.infill(question, Stop())
    assert middle is not None
    return middle


@st.composite
def questions(draw: st.DrawFn) -> Question:
    typed = draw(st.sampled_from(KEYS))
    wanted = draw(st.lists(st.sampled_from(TEXTS), max_size=3, unique=True))
    proposals = [Proposal(text.removeprefix(typed), 0.3) for text in wanted if text.startswith(typed)]
    n_candidates, guess = draw(st.sampled_from([1, 1, 3])), draw(st.sampled_from(["", "ef second", "x"]))
    ahead = (lambda _begun: guess) if guess else None
    suffix = draw(st.sampled_from(SUFFIXES))
    return Question(
        BEFORE + typed, suffix, proposals=tuple(proposals), n_candidates=n_candidates, ahead=ahead, least=0.01
    )


@given(
    st.lists(st.tuples(questions(), st.none() | st.integers(0, 6)), min_size=2, max_size=5), st.none() | st.integers(0)
)
@settings(deadline=None, max_examples=12)
def test_who_has_read_answers_as_who_has_not(
    tiny_checkpoint: Path, asked: list[tuple[Question, int | None]], masked: int | None
) -> None:
    used, fresh = calibrated(tiny_checkpoint, fresh=False), calibrated(tiny_checkpoint, fresh=True)
    used.contexts.clear()
    for question, cancel_after in asked:
        if cancel_after is not None:
            used.infill(question, Stop(cancel_after))
        same_answer(used, fresh, question)
    if masked is not None:
        question = asked[-1][0]
        ids = ask(fresh, question).token_ids
        draft = Draft(ids, (0.5,) * len(ids), frozenset({masked % (len(ids) + 1)}))
        same_answer(used, fresh, replace(question, proposals=(), draft=draft))
        same_answer(used, fresh, question)


def same_answer(used: Infiller, fresh: Infiller, question: Question) -> None:
    fresh.contexts.clear()
    one, other = ask(used, question), ask(fresh, question)
    assert (one.text, one.finish, one.proposal) == (other.text, other.finish, other.proposal)
    assert one.confidences == pytest.approx(other.confidences, rel=1e-3)
    assert one.probability == pytest.approx(other.probability, rel=1e-3)
    assert [rival.text for rival in one.rivals] == [rival.text for rival in other.rivals]
    assert one.cost.n_forwards <= other.cost.n_forwards


def test_keys_within_a_token_need_no_forward_for_what_they_begin(tiny_checkpoint: Path) -> None:
    infiller = tiny_infiller(tiny_checkpoint)
    proposals = tuple(Proposal(text, 0.3) for text in TEXTS)
    first = ask(infiller, Question(BEFORE, SUFFIXES[0], proposals=proposals))
    assert first.cost.n_forwards > 0
    again = ask(infiller, Question(BEFORE, SUFFIXES[0], proposals=proposals))
    assert (again.text, again.cost.n_forwards, again.cost.n_encoded) == (first.text, 0, 0)
    begun = ask(infiller, Question(BEFORE + "d", SUFFIXES[0], proposals=(Proposal("ef second(x):", 0.3),), least=1.0))
    more = ask(infiller, Question(BEFORE + "de", SUFFIXES[0], proposals=(Proposal("f second(x):", 0.3),), least=1.0))
    assert begun.cost.n_forwards == 1
    assert more.cost.n_forwards == 0
    other = ask(infiller, Question(BEFORE + "de", SUFFIXES[1], proposals=(Proposal("f second(x):", 0.3),), least=1.0))
    assert other.cost.n_forwards == 1, "another suffix, another context"


def test_readings_are_bounded_and_kept_for_one_context(tiny_checkpoint: Path) -> None:
    infiller = tiny_infiller(tiny_checkpoint)
    rng, texts = random.Random(4), list[str]()
    for _ in range(4):
        texts.append("".join(rng.choices("abcxyz", k=38)))
    proposals = tuple(Proposal(text, 0.3) for text in texts)
    ask(infiller, Question(BEFORE, SUFFIXES[0], proposals=proposals))
    cache = infiller.contexts.take((*infiller.canvas(Question(BEFORE, "")).prefix_ids,))
    assert 0 < cache.readings.n_rows <= MOST_ROWS
    ask(infiller, Question("x = 1\ny = 2\n", ""))
    assert cache.readings.n_rows == 0


def test_reading_goes_on_behind_any_way(tiny_checkpoint: Path) -> None:
    infiller = tiny_infiller(tiny_checkpoint)
    canvas = infiller.canvas(Question(BEFORE, SUFFIXES[0]))
    ways = [[100, 101, 102], [100, 103, 104, 105], [106]]

    def reader() -> tuple[BlockReader, Cost]:
        cache, cost = ContextCache(MODEL, 128, torch.float32), Cost()
        infiller.trunk.encode_suffix(list(canvas.suffix_ids), cache)
        infiller.trunk.encode_prefix(list(canvas.prefix_ids[:-1]), cache)
        return BlockReader(infiller.denoiser, cache, canvas, cost), cost

    with torch.inference_mode():
        for way in ways:
            for n_kept in range(len(way) + 1):
                at_once, cost = reader()
                at_once.read_ways(ways)
                at_once.keep(way[:n_kept])
                path = [canvas.prefix_ids[-1], *way[:n_kept], 200, 201]
                alone = reader()[0].read(path, 2)
                assert torch.allclose(at_once.read(path, 2), alone, atol=1e-4)
                assert cost.n_forwards == 2
                assert torch.equal(at_once.read(path, 2), at_once.read(path, 2))
                assert cost.n_forwards == 2


def test_what_is_handed_out_may_be_changed(tiny_checkpoint: Path) -> None:
    infiller = tiny_infiller(tiny_checkpoint)
    canvas, cache = Canvas((6,), (5, 70, 71), b""), ContextCache(MODEL, 64, torch.float32)
    with torch.inference_mode():
        infiller.trunk.encode_prefix([5, 70], cache)
        reader = BlockReader(infiller.denoiser, cache, canvas, Cost())
        for read in (lambda: reader.read([71, 90], 2), lambda: reader.read_ways([[90]])[0]):
            before = read().clone()
            read().fill_(float("-inf"))
            assert torch.equal(read(), before)


@given(st.lists(st.lists(st.integers(0, 3), max_size=5), max_size=5))
def test_a_tree_holds_each_beginning_once(ways: list[list[int]]) -> None:
    tree = TokenTree.of(9, ways)
    paths = [tree.path(node) for node in range(len(tree.ids))]
    assert set(paths) == {(9, *way[:end]) for way in ways for end in range(len(way) + 1)} | {(9,)}
    assert len(set(paths)) == len(paths)
    assert [[tree.ids[node] for node in nodes] for nodes in tree.ways] == ways
    if ways:
        assert tree.ways[0] == list(range(1, 1 + len(ways[0])))
    seen = tree.seen().tolist()
    for node, path in enumerate(paths):
        assert sorted(paths[other] for other in range(len(paths)) if seen[node][other]) == sorted(
            path[: end + 1] for end in range(len(path))
        )
