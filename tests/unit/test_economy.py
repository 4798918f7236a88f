"""What keystrokes cost with a real model at tiny size: forwards and tokens are counted, never seconds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from midspan_lsp.backends.local import LocalBackend
from midspan_lsp.config import CompletionSettings, Settings
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine.pipeline import Engine
from midspan_lsp.types import CancellationToken, InfillRequest, Proposal, Trigger

BEFORE = "def area(width, height):\n    return width * height\n\n\n" * 12 + "def double(value):\n    "
AFTER = "\n\n\nprint(double(2))\n"
TYPED = "total = value + value; return total  # twice of it"  # 50 characters, and as many of the tiny tokens


class Desk:
    """A real engine with a tiny model and somebody who types."""

    def __init__(self, engine: Engine, backend: LocalBackend) -> None:
        self.engine, self.backend, self.text = engine, backend, BEFORE
        engine.opened(self._snapshot())

    def _snapshot(self) -> DocumentSnapshot:
        return DocumentSnapshot("file:///a.txt", "plaintext", None, self.text + AFTER)

    def type(self, text: str) -> None:
        self.text += text
        self.engine.changed(self._snapshot())

    def forget(self) -> None:
        """Nothing has been read."""
        assert self.backend._infiller is not None
        self.backend._infiller.contexts.clear()

    async def ask(self, token: CancellationToken | None = None) -> str:
        found = await self.engine.complete(self._snapshot(), len(self.text), Trigger.AUTOMATIC, token)
        return found[0].text if found else ""


@pytest.fixture
async def desk(tiny_checkpoint: Path) -> AsyncIterator[Desk]:
    settings = replace(
        Settings(),
        model=replace(Settings().model, path=str(tiny_checkpoint), threads=1),
        completion=CompletionSettings(eagerness="always", timeout_ms=600_000),
    )
    backend = LocalBackend(settings)
    engine = Engine(backend, settings, quiet_s=3600)
    await engine.load(lambda _progress: None)
    infiller = backend._infiller
    assert infiller is not None
    # a next block's context has the block before it, which random weights never end
    infiller.config = replace(infiller.config, max_blocks=1, max_line_blocks=1)
    yield Desk(engine, backend)
    await engine.aclose()


async def test_typing_encodes_what_is_typed_and_little_else(desk: Desk) -> None:
    await desk.ask()
    first = desk.engine.tally.n_encoded_tokens
    for character in TYPED:
        desk.type(character)
        await desk.ask()
    spent = desk.engine.tally.n_encoded_tokens - first
    assert first > 200
    assert 0 < spent <= len(TYPED) + 5


async def test_stepping_back_and_typing_again_encodes_little(desk: Desk) -> None:
    desk.type(TYPED)
    await desk.ask()
    first = desk.engine.tally.n_encoded_tokens
    for _ in range(10):
        desk.text = desk.text[:-1]
        desk.engine.changed(desk._snapshot())
        await desk.ask()
    desk.type(TYPED[-10:])
    await desk.ask()
    assert desk.engine.tally.n_encoded_tokens - first <= 10 + 5


async def test_a_request_that_repeats_and_typing_what_is_shown_cost_nothing(desk: Desk) -> None:
    shown = await desk.ask()
    assert len(shown) > 2
    before = replace(desk.engine.tally)
    for character in shown[:-1]:
        assert await desk.ask() == shown
        desk.type(character)
        shown = shown[1:]
        if not shown.strip():
            break
        assert await desk.ask() == shown
    after = desk.engine.tally
    assert (after.n_forwards, after.n_encoded_tokens) == (before.n_forwards, before.n_encoded_tokens)
    assert after.n_typed_through > before.n_typed_through


class CancelAfter(CancellationToken):
    """Is cancelled once it has been asked so many times."""

    def __init__(self, n_questions: int) -> None:
        super().__init__()
        self._n_left = n_questions

    def cancelled(self) -> bool:
        self._n_left -= 1
        if self._n_left < 0:
            self.cancel()
        return super().cancelled()


async def test_a_cancel_wastes_one_forward_at_most(desk: Desk) -> None:
    desk.type("x = ")
    await desk.ask()  # the context is encoded: from here on all is forwards
    for n_questions in range(6):
        desk.type("y")
        await asyncio.to_thread(lambda: None)
        token = CancelAfter(n_questions)
        before = desk.engine.tally.n_forwards
        assert await desk.ask(token) == ""
        assert desk.engine.tally.n_forwards - before <= n_questions
    before = desk.engine.tally.n_forwards
    token = CancellationToken()
    token.cancel()
    assert await desk.ask(token) == ""
    assert desk.engine.tally.n_forwards == before


async def test_an_automatic_request_costs_what_one_question_costs(desk: Desk) -> None:
    desk.type("x = ")
    alone = await desk.backend.infill(InfillRequest(desk.text, AFTER, "plaintext", least=1e-9), CancellationToken())
    desk.forget()
    before = desk.engine.tally.n_forwards
    assert await desk.ask()
    assert desk.engine.tally.n_forwards - before == alone.stats.n_forwards
    desk.forget()
    several = InfillRequest(desk.text, AFTER, "plaintext", n_candidates=3)
    assert (await desk.backend.infill(several, CancellationToken())).stats.n_forwards > alone.stats.n_forwards


async def test_what_was_read_before_a_cancel_is_not_read_again(desk: Desk) -> None:
    """A key that only adds to what is healed leaves the context, and with it all that was read behind it."""
    request = InfillRequest(desk.text, AFTER, "plaintext")
    whole = (await desk.backend.infill(request, CancellationToken())).stats.n_forwards
    desk.forget()
    spent, n_questions = 0, 0
    while not (response := await desk.backend.infill(request, CancelAfter(n_questions))).candidates:
        spent += response.stats.n_forwards
        n_questions += 5
    assert n_questions > 10
    assert spent + response.stats.n_forwards == whole


async def test_what_is_prepared_need_not_be_encoded_again(desk: Desk) -> None:
    desk.type("x")
    request = InfillRequest(desk.text, AFTER, "python")
    stats = await desk.backend.prepare(request, CancellationToken())
    assert stats.n_encoded_tokens > 200
    assert stats.n_forwards == 0
    assert (await desk.backend.prepare(request, CancellationToken())).n_encoded_tokens == 0
    await desk.ask()
    assert desk.engine.tally.n_encoded_tokens == 0


async def test_preparing_stops_within_one_chunk(desk: Desk) -> None:
    infiller = desk.backend._infiller
    assert infiller is not None
    request = InfillRequest(desk.text, AFTER, "python")
    suffix = len(AFTER.encode()) + 1
    for n_chunks in range(4):
        infiller.contexts.clear()
        stats = await desk.backend.prepare(request, CancelAfter(1 + n_chunks))
        assert stats.n_encoded_tokens <= suffix + n_chunks * infiller.config.prefill_chunk
    assert stats.n_encoded_tokens > suffix


async def test_long_files_keep_their_context_while_one_types(desk: Desk) -> None:
    """The window's far end moves in strides: 300 keys through some of them encode a few times the window."""
    desk.text = BEFORE * 12
    await desk.ask()
    first = desk.engine.tally.n_encoded_tokens
    n_jumps = 0
    for character in "value = double(value)\n    " * 12:
        before = desk.engine.tally.n_encoded_tokens
        desk.type(character)
        await desk.ask(CancelAfter(12))
        n_jumps += desk.engine.tally.n_encoded_tokens - before > 20
    assert n_jumps <= 2
    assert desk.engine.tally.n_encoded_tokens - first <= 12 * 26 + 2 * 512 + 60


def test_the_worker_lets_requests_pass() -> None:
    from threading import Event

    from midspan_lsp.backends.worker import Worker

    worker, entered, gate, order = Worker("test"), Event(), Event(), list[str]()
    worker.submit(lambda: (entered.set(), gate.wait()))
    entered.wait()
    calls = [
        worker.submit(lambda name=name: order.append(name), can_wait=name.startswith("later"))
        for name in ("later 1", "now 1", "later 2", "now 2")
    ]
    worker.stop()
    gate.set()
    for call in calls:
        call.result(10)
    assert order == ["now 1", "now 2", "later 1", "later 2"]


async def test_a_cancel_wastes_one_forward_at_most_with_the_project_read_too(desk: Desk) -> None:
    """Proposals are read and judged by forwards of their own."""
    desk.type("x = ")
    request = InfillRequest(
        desk.text, AFTER, "python", proposals=(Proposal("value", 0.3, "", 0), Proposal("1", 0.2, "", 0))
    )
    whole = await desk.backend.infill(request, CancellationToken())
    assert whole.stats.n_forwards > 2
    desk.forget()
    for n_questions in range(8):
        response = await desk.backend.infill(request, CancelAfter(n_questions))
        assert response.stats.n_forwards <= n_questions
        assert response.candidates == ()
