"""Work goes on while what it has drafted is being typed, and ends at once where something else is."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest
from midspan_lsp.backends.base import Capabilities, ReportProgress
from midspan_lsp.config import CompletionSettings, Settings
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine.carrying import CarriedToken, agree, begun
from midspan_lsp.engine.pipeline import Engine
from midspan_lsp.errors import BackendUnavailable
from midspan_lsp.types import (
    CancellationToken,
    InfillRequest,
    InfillResponse,
    InfillStats,
    SlotView,
    StepObserver,
    Suggestion,
    Trigger,
)
from scripted_backend import candidate

BEFORE, AFTER = "def f(x):\n    return ", "\n\n\nprint(f(1))\n"


@dataclass
class _Call:
    """One that the test answers."""

    request: InfillRequest
    token: CancellationToken
    on_step: StepObserver | None
    answer: asyncio.Future[str]

    def draft(self, text: str) -> None:
        assert self.on_step is not None
        self.on_step(1, (SlotView(text, fresh=True), SlotView(None, fresh=False)))


@dataclass
class HandBackend:
    """Drafts and answers as the test says; like the model it looks whether it is wanted once a forward."""

    calls: list[_Call] = field(default_factory=list[_Call])
    ready = True
    capabilities = Capabilities(name="by hand", can_remask=False)

    async def load(self, report: ReportProgress) -> None:
        pass

    async def infill(
        self, request: InfillRequest, token: CancellationToken, on_step: StepObserver | None = None
    ) -> InfillResponse:
        call = _Call(request, token, on_step, asyncio.get_running_loop().create_future())
        self.calls.append(call)
        while not call.answer.done() and not token.cancelled():  # noqa: ASYNC110  (as a model looks)
            await asyncio.sleep(0)
        if token.cancelled():
            return InfillResponse((), InfillStats(n_forwards=1))
        return InfillResponse((candidate(call.answer.result()),), InfillStats(n_forwards=3))

    async def prepare(self, request: InfillRequest, token: CancellationToken) -> InfillStats:
        return InfillStats()

    async def aclose(self) -> None:
        pass


class Desk:
    """Somebody who types, and an editor that asks at each key and drops the older request."""

    def __init__(self) -> None:
        self.backend = HandBackend()
        chosen = CompletionSettings(pacing="fixed", delay_ms=0)
        self.engine = Engine(self.backend, Settings(completion=chosen), quiet_s=3600)
        self.typed, self.version = "", 0
        self.engine.opened(self.snapshot())

    def snapshot(self) -> DocumentSnapshot:
        return DocumentSnapshot("file:///a.py", "python", self.version, BEFORE + self.typed + AFTER)

    async def key(self, text: str = "") -> asyncio.Task[list[Suggestion]]:
        if text:
            self.typed, self.version = self.typed + text, self.version + 1
            self.engine.changed(self.snapshot())
        offset = len(BEFORE + self.typed)
        task = asyncio.ensure_future(self.engine.complete(self.snapshot(), offset, Trigger.AUTOMATIC))
        await turns()
        return task


async def turns() -> None:
    for _ in range(60):
        await asyncio.sleep(0.001)


async def test_the_answer_that_is_being_typed_comes_at_a_later_key() -> None:
    desk = Desk()
    first = await desk.key()
    (call,) = desk.backend.calls
    call.draft("x +")
    second = await desk.key("x")
    third = await desk.key(" ")
    assert [await first, await second] == [[], []]
    assert not call.token.cancelled()
    call.answer.set_result("x + 1")
    (shown,) = await third
    assert shown.text == "+ 1"
    assert len(desk.backend.calls) == 1
    assert desk.engine.tally.n_wasted_forwards == 0
    assert desk.engine.tally.n_typed_through == 1


async def test_another_key_than_the_drafted_ends_the_work_and_begins_anew() -> None:
    desk = Desk()
    await desk.key()
    desk.backend.calls[0].draft("x + 1")
    second = await desk.key("y")
    assert desk.backend.calls[0].token.cancelled()
    assert len(desk.backend.calls) == 2
    desk.backend.calls[1].answer.set_result(" + 2")
    assert [shown.text for shown in await second] == [" + 2"]
    assert desk.engine.tally.n_wasted_forwards == 1


async def test_work_ends_once_its_draft_is_another_than_what_was_typed() -> None:
    desk = Desk()
    await desk.key()
    desk.backend.calls[0].draft("x")
    second = await desk.key("x.")
    assert len(desk.backend.calls) == 1, "it may still be right"
    desk.backend.calls[0].draft("x + 1")
    await turns()
    assert desk.backend.calls[0].token.cancelled()
    assert len(desk.backend.calls) == 2, "the request that waited for it begins its own"
    desk.backend.calls[1].answer.set_result("y")
    assert [shown.text for shown in await second] == ["y"]


async def test_without_a_draft_a_key_begins_anew() -> None:
    desk = Desk()
    await desk.key()
    await desk.key("x")
    assert desk.backend.calls[0].token.cancelled()
    assert len(desk.backend.calls) == 2


async def test_an_answer_that_turns_out_to_be_another_is_not_shown() -> None:
    desk = Desk()
    await desk.key()
    desk.backend.calls[0].draft("x")
    second = await desk.key("x")
    desk.backend.calls[0].answer.set_result("y * 2")
    await turns()
    assert len(desk.backend.calls) == 2
    desk.backend.calls[1].answer.set_result(" + 1")
    assert [shown.text for shown in await second] == [" + 1"]


@pytest.mark.parametrize("how", ["editor", "cursor", "closed", "settings", "nobody"])
async def test_work_that_nobody_wants_ends(how: str) -> None:
    desk = Desk()
    first = await desk.key()
    (call,) = desk.backend.calls
    call.draft("x + 1")
    if how == "editor":
        first.cancel()
    elif how == "cursor":
        other = desk.engine.complete(desk.snapshot(), 3, Trigger.AUTOMATIC)
        task = asyncio.ensure_future(other)
        await turns()
        task.cancel()
    else:
        await desk.key("x")
        if how == "closed":
            desk.engine.forget("file:///a.py")
        elif how == "settings":
            await desk.engine.apply(Settings())
        else:
            desk.typed += " "
            desk.engine.changed(desk.snapshot())  # and no request follows
            await asyncio.sleep(0.6)
    await turns()
    assert call.token.cancelled()
    await desk.engine.aclose()


async def test_a_failure_reaches_whoever_waits() -> None:
    desk = Desk()
    await desk.key()
    desk.backend.calls[0].draft("x")
    second = await desk.key("x")
    desk.backend.calls[0].answer.set_exception(BackendUnavailable("gone"))
    with pytest.raises(BackendUnavailable):
        await second


def test_a_token_follows_its_original_until_it_is_carried() -> None:
    original, other = CancellationToken(), CancellationToken(timeout_s=0)
    follows, carried = CarriedToken(original), CarriedToken(original)
    carried.is_carried = True
    heard = list[str]()
    follows.when_cancelled(lambda: heard.append("follows"))
    carried.when_cancelled(lambda: heard.append("carried"))
    original.cancel()
    assert (follows.cancelled(), carried.cancelled(), heard) == (True, False, ["follows"])
    carried.cancel()
    assert heard == ["follows", "carried"]
    assert CarriedToken(other).expired()


@pytest.mark.parametrize(
    ("drafted", "typed", "agreed"),
    [("x + 1", "x", True), ("x", "x + 1", True), ("", "x", True), ("x", "y", False), ("ab", "ac", False)],
)
def test_agree(drafted: str, typed: str, agreed: bool) -> None:
    assert agree(drafted, typed) is agreed
    assert begun((SlotView(drafted, fresh=False), SlotView(None, fresh=False), SlotView("z", fresh=True))) == drafted
