"""Questions whose passes are put together have the answers that each has alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from midspan_model.context_encoding import Cost
from midspan_model.infilling import Infiller
from midspan_model.kv_cache import ContextPool
from midspan_model.prefill import prefill
from midspan_model.questions import Middle, Proposal, Question
from midspan_model.together import PassesTogether
from tiny_model import MODEL, Stop, tiny_infiller

N = 4
QUESTIONS = [
    Question("def f(x):\n    return x", "\n\nprint(f(1))\n", max_lines=4),
    Question("def f(x):\n    return y", "\n"),
    Question("class A:\n    def g(self):\n        ", "", max_lines=3),
    Question("x = 1\ny = ", "\nprint(y)\n", proposals=(Proposal("x + 1", 0.5), Proposal("defdef", 0.2))),
    Question("a" * 60, "b" * 30),
    Question("", "\nz = 1\n"),
]


@pytest.fixture
def alone(tiny_checkpoint: Path) -> Infiller:
    return tiny_infiller(tiny_checkpoint)


@pytest.fixture
def together(tiny_checkpoint: Path) -> Infiller:
    return tiny_infiller(tiny_checkpoint, n_together=N)


def at_once(calls: list[Callable[[], object]]) -> list[object]:
    """Each on a thread of its own, all begun at the same moment."""
    barrier = threading.Barrier(len(calls))

    def begin(call: Callable[[], object]) -> object:
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(begin, calls))


def test_answers_are_the_same_and_passes_are_fewer(
    alone: Infiller, together: Infiller, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = [alone.infill(question, Stop()) for question in QUESTIONS]
    widths: list[int] = []
    run_together = together.denoiser.run_together
    monkeypatch.setattr(
        together.denoiser, "run_together", lambda runs: (widths.append(len(runs)), run_together(runs))[1]
    )
    for _ in range(3):  # the second and third time from cached contexts
        found = at_once([lambda one=question: together.infill(one, Stop()) for question in QUESTIONS[:N]])
        found += at_once([lambda one=question: together.infill(one, Stop()) for question in QUESTIONS[N:]])
        for middle, other in zip(found, expected, strict=True):
            assert isinstance(middle, Middle)
            assert other is not None
            assert (middle.text, middle.token_ids, middle.finish) == (other.text, other.token_ids, other.finish)
            assert middle.confidences == pytest.approx(other.confidences, abs=1e-4)
    assert max(widths) > 1
    assert sum(widths) > 1.3 * len(widths)


def test_the_same_question_twice_at_once_does_not_write_to_one_cache(together: Infiller, alone: Infiller) -> None:
    expected = alone.infill(QUESTIONS[0], Stop())
    found = at_once([lambda: together.infill(QUESTIONS[0], Stop())] * N)
    assert expected is not None
    assert [middle.text for middle in found if isinstance(middle, Middle)] == [expected.text] * N


def test_one_that_is_cancelled_or_prefills_does_not_hold_up_the_others(together: Infiller, alone: Infiller) -> None:
    expected = alone.infill(QUESTIONS[0], Stop())
    calls: list[Callable[[], object]] = [
        lambda: together.infill(QUESTIONS[0], Stop()),
        lambda: together.infill(QUESTIONS[1], Stop(cancel_after=3)),
        lambda: prefill(together, QUESTIONS[4], Stop(), Cost()),
    ]
    whole, cancelled, is_encoded = at_once(calls)
    assert isinstance(whole, Middle)
    assert expected is not None
    assert whole.text == expected.text
    assert cancelled is None
    assert is_encoded is True


def test_who_works_alone_waits_for_nobody(together: Infiller) -> None:
    assert together.infill(QUESTIONS[0], Stop()) is not None
    assert together.trunk.logits(torch.zeros(2, MODEL.width)).shape == (2, MODEL.vocab_size)


def test_a_pass_that_fails_fails_for_those_who_wait_and_for_no_other(
    together: Infiller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_runs: object) -> None:
        raise MemoryError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(together.denoiser, "run_together", fail)
        with pytest.raises(MemoryError, match="no room"):
            together.infill(QUESTIONS[0], Stop())
    assert together.infill(QUESTIONS[0], Stop()) is not None


def test_a_member_that_only_thinks_is_waited_for() -> None:
    passes, entered, release = PassesTogether(), threading.Event(), threading.Event()

    def think() -> None:
        with passes.member():
            entered.set()
            release.wait(10)

    thread = threading.Thread(target=think)
    thread.start()
    assert entered.wait(10)
    with ThreadPoolExecutor(1) as pool, passes.member():
        asked = pool.submit(passes.logits, _Head(), torch.zeros(1, 2))  # type: ignore[arg-type]  # all that is called
        assert not asked.done()
        release.set()
        # this thread is a member too: it gives up its place only now
    thread.join()
    assert asked.result(10).shape == (1, 2)


class _Head:
    def logits_here(self, hidden_TC: torch.Tensor) -> torch.Tensor:
        return hidden_TC


def test_a_cache_is_lent_to_one_thread_at_a_time() -> None:
    pool = ContextPool(MODEL, 32, torch.float32, 2)
    with pool.lend([1, 2]) as first, pool.lend([1, 2]) as second, pool.lend([1, 2]) as third:
        assert len({id(first), id(second), id(third)}) == 3
    with pool.lend([1, 2]) as again:
        assert any(again is one for one in (first, second, third))
