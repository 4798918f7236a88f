"""The embedded middle at once; the server's where it is better and in time; and what comes later is not lost."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

import pytest
from midspan_lsp.backend_settings import BackendSettings
from midspan_lsp.backends.base import Capabilities, LoadProgress, ReportProgress
from midspan_lsp.backends.cascade import CascadeBackend
from midspan_lsp.backends.notices import Notices
from midspan_lsp.backends.opening import open_backend
from midspan_lsp.config import CompletionSettings, Settings
from midspan_lsp.context.window import context_settings
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine.pipeline import Engine
from midspan_lsp.errors import BackendTimeout, BackendUnavailable, BadResponse, ConfigError, InfillError
from midspan_lsp.types import (
    CancellationToken,
    Candidate,
    Draft,
    InfillRequest,
    InfillResponse,
    InfillStats,
    StepObserver,
    Trigger,
)

BEFORE, AFTER = "def f(height):\n    return ", "\n"
PATIENCE_S = 0.2


@dataclass
class Scripted:
    """Answers when it is let; records what it was asked and whether it was cancelled."""

    name: str
    answer: Candidate | InfillError | None
    gives_probability: bool = True
    load_error: InfillError | None = None
    ready: bool = True
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    requests: list[InfillRequest] = field(default_factory=list)
    n_cancelled: int = 0

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(self.name, self.name == "local", self.gives_probability)

    async def load(self, report: ReportProgress) -> None:
        if self.load_error:
            raise self.load_error
        self.ready = True

    async def infill(
        self, request: InfillRequest, token: CancellationToken, on_step: StepObserver | None = None
    ) -> InfillResponse:
        self.requests.append(request)
        stopped, loop = asyncio.Event(), asyncio.get_running_loop()
        token.when_cancelled(lambda: loop.call_soon_threadsafe(stopped.set))
        waiting = [asyncio.create_task(self.gate.wait()), asyncio.create_task(stopped.wait())]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self.n_cancelled += 1
            raise
        finally:
            for task in waiting:
                task.cancel()
        if token.cancelled():
            self.n_cancelled += 1
            return InfillResponse()
        if isinstance(self.answer, InfillError):
            raise self.answer
        return InfillResponse(() if self.answer is None else (self.answer,), InfillStats(n_forwards=1))

    async def prepare(self, request: InfillRequest, token: CancellationToken) -> InfillStats:
        return InfillStats(n_encoded_tokens=7)

    async def aclose(self) -> None:
        self.gate.set()


def known(text: str, probability: float) -> Candidate:
    return Candidate(text, probability, confidences=(probability,))


def unknown(text: str) -> Candidate:
    return Candidate(text, 0.5)


@dataclass
class World:
    """A cascade, an engine around it, and what the user was told."""

    local: Scripted
    remote: Scripted
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.local.gate.set()
        notices = Notices()
        notices.listen(self.told.append)
        self.cascade = CascadeBackend(self.local, self.remote, notices, PATIENCE_S)
        self.engine = Engine(self.cascade, Settings(completion=CompletionSettings(timeout_ms=1500)))

    async def shown(self, typed: str = "", trigger: Trigger = Trigger.AUTOMATIC) -> list[str]:
        text = BEFORE + typed + AFTER
        snapshot = DocumentSnapshot("file:///a.py", "python", 1, text)
        found = await self.engine.complete(snapshot, len(BEFORE + typed), trigger)
        return [one.text for one in found]


async def turns() -> None:
    for _ in range(50):
        await asyncio.sleep(0)
    await asyncio.sleep(0.1)  # the gate's thread


async def test_a_sure_embedded_middle_does_not_wait() -> None:
    world = World(Scripted("local", known("height", 0.9)), Scripted("remote", known("height * 2", 0.95)))
    assert await world.shown() == ["height"]
    assert world.remote.n_cancelled == 0
    await world.engine.aclose()


async def test_a_server_that_cannot_be_the_surer_one_is_not_waited_for_at_all() -> None:
    remote = Scripted("remote", unknown("height * 2"), gives_probability=False)
    world = World(Scripted("local", known("height", 0.9)), remote)
    assert await world.shown() == ["height"]
    await turns()
    assert remote.n_cancelled == 1
    await world.engine.aclose()


async def test_an_unsure_one_waits_and_the_better_one_is_shown() -> None:
    for better in (known("height * 2", 0.65), unknown("height * 2")):
        world = World(Scripted("local", known("height", 0.55)), Scripted("remote", better))
        asking = asyncio.create_task(world.shown())
        await asyncio.sleep(0.02)
        world.remote.gate.set()
        assert await asking == ["height * 2"]
        await world.engine.aclose()


async def test_a_worse_one_is_not() -> None:
    world = World(Scripted("local", known("height", 0.6)), Scripted("remote", known("height * 2", 0.4)))
    world.remote.gate.set()
    assert await world.shown() == ["height"]
    await world.engine.aclose()


async def test_what_does_not_pass_the_gate_is_replaced_by_the_other() -> None:
    world = World(Scripted("local", known("height", 0.55)), Scripted("remote", unknown("height) * (2")))
    world.remote.gate.set()
    assert await world.shown() == ["height"]
    world = World(Scripted("local", known("height)", 0.69)), Scripted("remote", known("height * 2", 0.6)))
    world.remote.gate.set()
    assert await world.shown() == ["height * 2"]
    await world.engine.aclose()


async def test_no_longer_than_its_patience_and_what_comes_later_is_shown_to_who_types_on() -> None:
    world = World(Scripted("local", known("height", 0.55)), Scripted("remote", unknown("height * 2")))
    began_s = time.monotonic()
    assert await world.shown() == ["height"]
    assert PATIENCE_S * 0.9 < time.monotonic() - began_s < 1.4
    world.remote.gate.set()
    await turns()
    assert await world.shown("hei") == ["ght * 2"]
    assert await world.shown() == ["height * 2"]
    assert len(world.local.requests) == len(world.remote.requests) == 1
    await world.engine.aclose()


async def test_who_goes_on_with_the_first_one_keeps_it() -> None:
    world = World(Scripted("local", known("height", 0.55)), Scripted("remote", unknown("hello")))
    assert await world.shown() == ["height"]
    world.remote.gate.set()
    await turns()
    assert await world.shown("hei") == ["ght"]
    assert await world.shown("hel") == ["lo"]
    await world.engine.aclose()


async def test_what_comes_later_must_pass_the_gate_too() -> None:
    world = World(Scripted("local", known("height", 0.55)), Scripted("remote", unknown("height) * (2")))
    assert await world.shown() == ["height"]
    world.remote.gate.set()
    await turns()
    assert await world.shown() == ["height"]
    await world.engine.aclose()


async def test_a_new_question_ends_the_waiting_for_an_old_one() -> None:
    world = World(Scripted("local", known("height", 0.55)), Scripted("remote", unknown("height * 2")))
    await world.shown()
    assert world.remote.n_cancelled == 0
    await world.shown("other")
    assert world.remote.n_cancelled == 1
    await world.engine.aclose()
    await turns()
    assert world.remote.n_cancelled == 2


async def test_mending_is_the_same_question() -> None:
    world = World(Scripted("local", known("height", 0.55)), Scripted("remote", unknown("height * 2")))
    first = await world.cascade.infill(InfillRequest(BEFORE, AFTER), CancellationToken(5))
    draft = Draft((1,), (0.5,), frozenset({0}))
    await world.cascade.infill(InfillRequest(BEFORE, AFTER, draft=draft), CancellationToken(5))
    world.remote.gate.set()
    assert first.later is not None
    assert [one.text for one in (await first.later).candidates] == ["height * 2"]


async def test_cancelling_ends_both() -> None:
    world = World(Scripted("local", known("height", 0.55)), Scripted("remote", unknown("x")))
    world.local.gate.clear()
    token = CancellationToken(5)
    asking = asyncio.create_task(world.cascade.infill(InfillRequest(BEFORE, AFTER), token))
    await turns()
    token.cancel()
    assert (await asking).candidates == ()
    await turns()
    assert (world.local.n_cancelled, world.remote.n_cancelled) == (1, 1)


async def test_a_newer_key_ends_the_waiting_for_the_server() -> None:
    world = World(Scripted("local", known("height", 0.55)), Scripted("remote", unknown("x")))
    token = CancellationToken(5)
    asking = asyncio.create_task(world.cascade.infill(InfillRequest(BEFORE, AFTER), token))
    await turns()
    began_s = time.monotonic()
    token.cancel()
    await asking
    assert time.monotonic() - began_s < PATIENCE_S / 2
    await turns()
    assert world.remote.n_cancelled == 1


async def test_the_requests_own_time_counts_over_its_patience() -> None:
    world = World(Scripted("local", known("height", 0.55)), Scripted("remote", unknown("x")))
    world.cascade = CascadeBackend(world.local, world.remote, Notices(), 60)
    began_s = time.monotonic()
    response = await world.cascade.infill(InfillRequest(BEFORE, AFTER), CancellationToken(0.2))
    assert time.monotonic() - began_s < 2
    assert [one.text for one in response.candidates] == ["height"]


@pytest.mark.parametrize(
    "error", [BackendUnavailable("it is down", retryable=True), BackendTimeout("it is slow"), BadResponse("nonsense")]
)
async def test_a_server_that_fails_is_told_of_once_and_done_without(error: InfillError) -> None:
    world = World(Scripted("local", known("height", 0.55)), Scripted("remote", error))
    world.remote.gate.set()
    for typed in ("", "a", "ab"):
        assert await world.shown(typed) == ["height"]
    assert world.told == [f"{error}\nThe embedded model answers alone meanwhile."]
    await world.engine.aclose()


async def test_while_the_embedded_model_loads_the_server_answers_alone() -> None:
    world = World(Scripted("local", known("height", 0.9), ready=False), Scripted("remote", unknown("height * 2")))
    world.local.gate.clear()  # whoever asks it waits for its loading
    assert world.engine.ready
    asking = asyncio.create_task(world.shown())
    await asyncio.sleep(2 * PATIENCE_S)  # there is nothing else to show: it is waited for longer
    world.remote.gate.set()
    assert await asking == ["height * 2"]
    world.remote.answer = BadResponse("nonsense")
    assert await world.shown("other") == []
    assert "not loaded" not in str(world.told)
    assert world.local.requests == []


async def test_an_embedded_model_that_fails_is_an_error_if_there_is_nothing_else() -> None:
    world = World(Scripted("local", BadResponse("broken")), Scripted("remote", None))
    world.remote.gate.set()
    with pytest.raises(BadResponse, match="broken"):
        await world.shown()
    world.remote.answer = unknown("height")
    assert await world.shown("h") == ["height"]


def ignore(progress: LoadProgress) -> None:
    pass


async def test_one_of_the_two_is_enough() -> None:
    missing = BackendUnavailable("torch is not installed")
    refused = BackendUnavailable("the key is not there")
    world = World(Scripted("local", None, load_error=missing, ready=False), Scripted("remote", None))
    await world.cascade.load(ignore)
    assert world.told == ["torch is not installed\nremote answers alone."]
    world = World(Scripted("local", known("height", 0.6)), Scripted("remote", None, load_error=refused, ready=False))
    await world.cascade.load(ignore)
    assert world.told == ["the key is not there\nThe embedded model answers alone."]
    assert await world.shown() == ["height"]
    assert world.remote.requests == []
    both = Scripted("local", None, load_error=missing, ready=False), Scripted("remote", None, load_error=refused)
    with pytest.raises(BackendUnavailable, match="torch"):
        await World(*both).cascade.load(ignore)


def test_settings_that_lack_something_leave_the_embedded_model() -> None:
    told: list[str] = []
    notices = Notices()
    notices.listen(told.append)
    local = Scripted("local", None)
    for url in ("", "nonsense"):
        settings = Settings(backend=BackendSettings(kind="cascade", dialect="openai", model="m", url=url))
        assert open_backend(settings, notices, build_local=lambda _: local) is local
    assert len(told) == 2
    assert all("The embedded model answers alone" in text for text in told)
    with pytest.raises(ConfigError):
        open_backend(Settings(backend=BackendSettings(kind="http")), notices)


@pytest.mark.parametrize(
    "request_",
    [InfillRequest("", "", is_private=True), InfillRequest("", "", draft=Draft((1,), (0.5,), frozenset({0})))],
)
async def test_private_documents_and_drafts_stay_here(request_: InfillRequest) -> None:
    world = World(Scripted("local", known("height", 0.2)), Scripted("remote", unknown("x")))
    response = await world.cascade.infill(request_, CancellationToken(5))
    assert [one.text for one in response.candidates] == ["height"]
    assert world.remote.requests == []
    world.local.ready = False
    world.local.gate.clear()  # whoever asks it waits for its loading
    response = await world.cascade.infill(InfillRequest("", "", is_private=True), CancellationToken(5))
    assert response == InfillResponse()


async def test_a_command_waits_for_the_better_one() -> None:
    world = World(Scripted("local", known("height", 0.55)), Scripted("remote", unknown("height * 2")))
    snapshot = DocumentSnapshot("file:///a.py", "python", 1, BEFORE + AFTER)
    asking = asyncio.create_task(world.engine.infill(snapshot, len(BEFORE), CancellationToken()))
    await asyncio.sleep(2 * PATIENCE_S)
    world.remote.gate.set()
    assert (await asking).text == "height * 2"


async def test_nothing_is_prepared_elsewhere() -> None:
    world = World(Scripted("local", None), Scripted("remote", None))
    stats = await world.cascade.prepare(InfillRequest("", ""), CancellationToken())
    assert stats.n_encoded_tokens == 7
    assert world.remote.requests == []


def test_a_server_is_shown_more_of_what_follows() -> None:
    assert context_settings(Settings()).suffix_tokens == Settings().context.suffix_tokens
    remote = Settings(backend=BackendSettings(kind="cascade"))
    assert context_settings(remote).suffix_tokens == BackendSettings().suffix_tokens


@pytest.mark.parametrize("answer", ["height * 2", None])
async def test_an_embedded_model_that_has_something_else_to_do_is_not_waited_for_beyond_the_time(
    answer: str | None,
) -> None:
    world = World(Scripted("local", known("height", 0.9)), Scripted("remote", unknown(answer) if answer else None))
    world.local.gate.clear()
    world.remote.gate.set()
    async with asyncio.timeout(10):
        response = await world.cascade.infill(InfillRequest(BEFORE, AFTER), CancellationToken(0.05))
    assert [one.text for one in response.candidates] == ([answer] if answer else [])
    assert world.local.n_cancelled == 0
    await world.engine.aclose()
