"""The backend around a tiny real model: threads, cancels, errors."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from midspan_lsp.backends import local
from midspan_lsp.backends.base import LoadProgress
from midspan_lsp.backends.local import LocalBackend
from midspan_lsp.backends.worker import Worker
from midspan_lsp.config import Settings
from midspan_lsp.errors import BackendUnavailable
from midspan_lsp.types import CancellationToken, Draft, InfillRequest, Proposal, SlotView
from midspan_model.questions import Question

REQUEST = InfillRequest("def f(x):\n    return x", "\n\nprint(f(1))\n", "python", max_lines=20)


def settings_for(path: Path | str) -> Settings:
    return replace(Settings(), model=replace(Settings().model, path=str(path)))


@pytest.fixture
async def backend(tiny_checkpoint: Path) -> LocalBackend:
    backend = LocalBackend(settings_for(tiny_checkpoint))
    await backend.load(lambda _progress: None)
    return backend


async def test_an_answer_tells_its_tokens_and_their_places(backend: LocalBackend) -> None:
    response = await backend.infill(REQUEST, CancellationToken())
    (candidate,) = response.candidates
    assert len(candidate.token_ids) == len(candidate.token_spans) == len(candidate.confidences)
    assert candidate.token_spans[-1].end == len(candidate.text)
    assert 0 < candidate.probability <= 1
    assert response.stats.n_forwards > 0
    assert response.stats.n_encoded_tokens > 0


async def test_steps_are_seen_one_by_one(backend: LocalBackend) -> None:
    steps: list[tuple[int, tuple[SlotView, ...]]] = []
    response = await backend.infill(REQUEST, CancellationToken(), lambda n, slots: steps.append((n, slots)))
    assert sorted({n for n, _ in steps}) == list(range(1, response.stats.n_forwards + 1))
    assert sum(any(slot.fresh for slot in slots) for _, slots in steps) >= response.stats.n_forwards - 1
    last = "".join(slot.text or "" for slot in steps[-1][1])
    shown, answered = (re.sub(r"[^\x00-\x7f]", "", text) for text in (last, response.candidates[0].text))
    assert shown == answered  # a slot that is a part of a character cannot be shown alone


async def test_a_cancelled_request_has_no_candidates(backend: LocalBackend) -> None:
    token = CancellationToken()
    token.cancel()
    response = await backend.infill(REQUEST, token)
    assert response.candidates == ()
    assert response.stats.n_forwards == 0


async def test_a_draft_is_mended_where_it_is_masked(backend: LocalBackend) -> None:
    (first,) = (await backend.infill(REQUEST, CancellationToken())).candidates
    draft = Draft(first.token_ids, first.confidences, frozenset({1}), {1: frozenset({first.token_ids[1]})})
    (mended,) = (await backend.infill(replace(REQUEST, draft=draft), CancellationToken())).candidates
    assert mended.token_ids[0] == first.token_ids[0]
    assert mended.token_ids[1] != first.token_ids[1]


async def test_proposals_are_passed_on_and_the_chosen_one_is_named(
    backend: LocalBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    infiller = backend._infiller
    assert infiller is not None
    fill, asked = infiller.infill, []

    def choose(question: Question, *rest: object) -> object:
        asked.append(question)
        return replace(fill(question, *rest), proposal=1)  # type: ignore[arg-type]  # as the backend gives them

    monkeypatch.setattr(infiller, "infill", choose)
    proposals = (Proposal(" + 1", 0.2, "a.py", 3), Proposal(" - 1", 0.1, "b.py", 4))
    response = await backend.infill(replace(REQUEST, max_lines=1, proposals=proposals), CancellationToken())
    assert [(one.text, one.score) for one in asked[0].proposals] == [(" + 1", 0.2), (" - 1", 0.1)]
    assert response.candidates[0].proposal == 1


async def test_all_of_a_draft_and_how_many_are_wanted_is_passed_on_and_rivals_come_back(
    backend: LocalBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    infiller = backend._infiller
    assert infiller is not None
    fill, asked = infiller.infill, []

    def answer(question: Question, *rest: object) -> object:
        asked.append(question)
        middle = fill(question, *rest)  # type: ignore[arg-type]  # as the backend gives them
        assert middle is not None
        return replace(middle, rivals=(replace(middle, text="other", probability=0.25),))

    monkeypatch.setattr(infiller, "infill", answer)
    (first, *_) = (await backend.infill(REQUEST, CancellationToken())).candidates
    n = len(first.token_ids)
    draft = Draft(first.token_ids, first.confidences, frozenset({1, n}), {1: frozenset({101})}, frozenset({n}))
    asked.clear()
    response = await backend.infill(replace(REQUEST, draft=draft, n_candidates=3), CancellationToken())
    (question,) = asked
    assert question.n_candidates == 3
    assert question.draft is not None
    assert (question.draft.token_ids, question.draft.remask) == (draft.token_ids, draft.remask)
    assert (question.draft.banned, question.draft.unfinished) == (draft.banned, draft.unfinished)
    assert [one.text for one in response.candidates][1:] == ["other"]
    assert response.candidates[1].probability == 0.25


async def test_cancelling_the_task_sets_the_token(backend: LocalBackend) -> None:
    blocked, release = threading.Event(), threading.Event()
    backend._worker.submit(lambda: (blocked.set(), release.wait()))
    token = CancellationToken()
    task = asyncio.create_task(backend.infill(REQUEST, token))
    assert await asyncio.to_thread(blocked.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert token.cancelled()
    release.set()


async def test_before_loading_it_says_so() -> None:
    with pytest.raises(BackendUnavailable, match="not loaded"):
        await LocalBackend(Settings()).infill(REQUEST, CancellationToken())


async def test_a_folder_that_is_no_checkpoint_is_an_error_of_ours(tmp_path: Path) -> None:
    backend = LocalBackend(settings_for(tmp_path))
    with pytest.raises(BackendUnavailable, match=r"config\.json"):
        await backend.load(lambda _progress: None)
    assert not backend.ready


async def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local.importlib.util, "find_spec", lambda name: None if name == "torch" else object())
    with pytest.raises(BackendUnavailable, match="not installed: torch") as caught:
        await LocalBackend(Settings()).load(lambda _progress: None)
    assert "midspan[local]" in caught.value.hint


async def test_closing_breaks_off_a_download(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from midspan_model import embedded

    started = threading.Event()

    def endless(folder: Path, on_progress: object) -> Path:
        for n in range(1_000_000):
            on_progress("downloading", n, 1_000_000)  # type: ignore[operator]  # a callable
            started.set()
        raise AssertionError("nobody stopped it")

    monkeypatch.setenv("MIDSPAN_CACHE", str(tmp_path))
    monkeypatch.setattr(embedded.fetch_trunk, "__kwdefaults__", {"again": False, "get": endless, "convert": None})
    backend = LocalBackend(Settings())
    seen: list[LoadProgress] = []
    loading = asyncio.create_task(backend.load(seen.append))
    assert await asyncio.to_thread(started.wait, 10)
    await backend.aclose()
    with pytest.raises(BackendUnavailable, match="closed"):
        await loading
    assert len(seen) <= 101, "only what a person would see change"
    assert [path.name for path in tmp_path.iterdir()] == ["fetch.lock"]


def test_the_worker_goes_on_after_a_failure_and_skips_what_was_cancelled() -> None:
    worker = Worker("test")
    entered, gate = threading.Event(), threading.Event()

    def wait() -> None:
        entered.set()
        gate.wait()

    worker.submit(wait)
    entered.wait()
    skipped = worker.submit(lambda: sys.exit("never run"))
    failed = worker.submit(lambda: 1 / 0)
    done = worker.submit(threading.get_ident)
    assert skipped.cancel()
    gate.set()
    assert isinstance(failed.exception(5), ZeroDivisionError)
    assert done.result(5) != threading.get_ident()
    worker.stop()
