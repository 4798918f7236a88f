"""When work on an automatic request begins. Delays are so long that a test which waited for one would not end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from midspan_lsp.config import CompletionSettings, Settings
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine.pacing import Pace, Rhythm, adaptive_delay_ms, next_latency_ms, next_rhythm
from midspan_lsp.engine.pipeline import Engine
from midspan_lsp.types import CancellationToken, Suggestion, Trigger
from scripted_backend import ScriptedBackend, candidate

NEVER = Settings(CompletionSettings(pacing="fixed", delay_ms=5000, timeout_ms=600_000))
STEADY = Rhythm(200.0, 10.0)


def rhythm_of(gaps_ms: Sequence[float]) -> Rhythm | None:
    rhythm = None
    for gap_ms in gaps_ms:
        rhythm = next_rhythm(rhythm, gap_ms)
    return rhythm


def test_the_rhythm_follows_the_keys() -> None:
    steady, uneven = rhythm_of([200.0] * 40), rhythm_of([100.0, 300.0] * 20)
    assert steady is not None
    assert uneven is not None
    assert steady.gap_ms == pytest.approx(200)
    assert uneven.gap_ms == pytest.approx(200, rel=0.1)
    assert 200 < steady.pause_ms < 230
    assert uneven.pause_ms > 280
    slower = rhythm_of([200.0] * 40 + [400.0] * 40)
    assert slower is not None
    assert slower.gap_ms == pytest.approx(400, rel=0.02)


def test_pauses_and_what_an_editor_changes_by_itself_are_no_gaps_between_keys() -> None:
    assert rhythm_of([200.0, 200.0, 0.5, 60_000.0]) == rhythm_of([200.0, 200.0])
    assert rhythm_of([5.0, 60_000.0]) is None


def test_the_latency_is_that_of_answers_and_at_least_what_was_given_up() -> None:
    assert next_latency_ms(None, 300, cancelled=False) == 300
    assert next_latency_ms(300, 100, cancelled=False) == 250
    assert next_latency_ms(300, 100, cancelled=True) == 300
    assert next_latency_ms(300, 500, cancelled=True) == 350
    assert next_latency_ms(None, 190, cancelled=True) == 190


@pytest.mark.parametrize(
    ("rhythm", "latency_ms", "most_ms", "wanted"),
    [
        (None, 500.0, 400, 0.0),
        (STEADY, None, 400, 0.0),
        (STEADY, 150.0, 400, 0.0),
        (STEADY, 210.0, 400, 0.0),
        (STEADY, 500.0, 400, 220.0),
        (STEADY, 500.0, 219, 0.0),
        (STEADY, 500.0, 0, 0.0),
        (Rhythm(200.0, 80.0), 500.0, 400, 280.0),
    ],
)
def test_waiting_is_for_those_who_type_faster_than_the_model_answers(
    rhythm: Rhythm | None, latency_ms: float | None, most_ms: float, wanted: float
) -> None:
    assert adaptive_delay_ms(rhythm, latency_ms, most_ms) == wanted


class Hands:
    """Types at gaps told, each of which the model's last work lasts.

    Attributes:
        time_s: the clock's.
    """

    def __init__(self) -> None:
        self.time_s = 100.0
        self.pace = Pace(lambda: self.time_s)

    def type(self, gaps_ms: Sequence[float], *, work_ms: float, cancelled: bool) -> None:
        token = CancellationToken()
        if cancelled:
            token.cancel()
        for gap_ms in gaps_ms:
            self.pace.edited()
            with self.pace.work(token):
                self.time_s += work_ms / 1e3
            self.time_s += (gap_ms - work_ms) / 1e3


def test_the_pace_learns_from_what_happens() -> None:
    adaptive = CompletionSettings(pacing="adaptive", delay_ms=400)
    hands = Hands()
    assert hands.pace.delay_ms(adaptive) == 0
    hands.type([200.0] * 20, work_ms=190, cancelled=True)
    assert hands.pace.delay_ms(adaptive) == 0, "nobody knows how long they would have taken"
    hands.type([600.0], work_ms=600, cancelled=False)
    hands.type([200.0] * 20, work_ms=190, cancelled=True)
    assert 200 < hands.pace.delay_ms(adaptive) < 250
    hands.type([1000.0] * 10, work_ms=100, cancelled=False)
    assert hands.pace.delay_ms(adaptive) == 0
    assert hands.pace.delay_ms(CompletionSettings(pacing="fixed", delay_ms=70)) == 70
    assert hands.pace.delay_ms(CompletionSettings(delay_ms=70)) == 0
    assert hands.pace.delay_ms(CompletionSettings(pacing="adaptive", delay_ms=0)) == 0


async def test_what_the_editor_has_waited_counts_and_time_that_is_up_ends_it() -> None:
    hands, token = Hands(), CancellationToken()
    hands.pace.edited()
    hands.time_s += 5.0
    await asyncio.wait_for(hands.pace.wait(NEVER.completion, token), 2)
    for spent in (CancellationToken(0.0), CancellationToken()):
        if spent.remaining_s is None:
            spent.cancel()
        await asyncio.wait_for(hands.pace.wait(NEVER.completion, spent), 2)
    again = asyncio.create_task(hands.pace.wait(NEVER.completion, token))  # only the cursor has moved
    await asyncio.sleep(0)
    assert not again.done()
    token.cancel()
    await asyncio.wait_for(again, 2)


class Desk:
    """An engine that waits for long, and somebody who types in one document."""

    def __init__(self, *answers: str, settings: Settings = NEVER) -> None:
        self.backend = ScriptedBackend([candidate(answer) for answer in answers])
        self.engine = Engine(self.backend, settings)
        self.text = "x = "
        self.engine.opened(self.snapshot)

    @property
    def snapshot(self) -> DocumentSnapshot:
        return DocumentSnapshot("file:///a.txt", "plaintext", None, self.text)

    def type(self, text: str) -> None:
        self.text += text
        self.engine.changed(self.snapshot)

    def ask(self, trigger: Trigger = Trigger.AUTOMATIC) -> asyncio.Task[list[Suggestion]]:
        return asyncio.create_task(self.engine.complete(self.snapshot, len(self.text), trigger))

    async def waiting(self, trigger: Trigger = Trigger.AUTOMATIC) -> asyncio.Task[list[Suggestion]]:
        """A request that waits."""
        task = self.ask(trigger)
        for _ in range(20):
            await asyncio.sleep(0)
        assert not task.done()
        return task

    async def shown(self, trigger: Trigger = Trigger.AUTOMATIC) -> str:
        """What is shown at once."""
        found = await asyncio.wait_for(self.ask(trigger), 2)
        return found[0].text if found else ""


async def test_who_asks_by_hand_does_not_wait_and_what_is_known_is_told_at_once() -> None:
    desk = Desk("value + 1")
    assert await desk.shown(Trigger.INVOKED) == "value + 1"
    assert await desk.shown() == "value + 1"
    desk.type("va")
    assert await desk.shown() == "lue + 1"
    assert await desk.shown(Trigger.MENU) == "lue + 1"
    assert len(desk.backend.requests) == 1


async def test_newer_requests_take_the_place_of_one_that_waits_and_nothing_is_computed() -> None:
    desk = Desk("done")
    older: list[asyncio.Task[list[Suggestion]]] = []
    for character in "total of":
        desk.type(character)
        older.append(await desk.waiting())
    assert await asyncio.gather(*older[:-1]) == [[]] * 7
    assert desk.backend.requests == []
    assert await desk.shown(Trigger.INVOKED) == "done"
    assert await asyncio.wait_for(older[-1], 2) == []
    assert len(desk.backend.requests) == 1
    assert desk.engine.tally.n_wasted_forwards == 0


async def test_a_menu_that_waits_does_not_hold_up_who_asks_by_hand() -> None:
    desk = Desk("done")
    menu = await desk.waiting(Trigger.MENU)
    assert await desk.shown(Trigger.INVOKED) == "done"
    assert not menu.done()
    await desk.engine.aclose()
    assert await asyncio.wait_for(menu, 2) == []


async def test_ghost_text_and_menu_wait_together() -> None:
    desk = Desk("done", settings=replace(NEVER, completion=replace(NEVER.completion, delay_ms=30)))
    found = await asyncio.gather(desk.ask(), desk.ask(Trigger.MENU))
    assert [one.text for answer in found for one in answer] == ["done", "done"]
    assert len(desk.backend.requests) == 1


ENDS: dict[str, Callable[[Desk, asyncio.Task[list[Suggestion]]], object]] = {
    "the editor cancels": lambda _desk, task: task.cancel(),
    "an edit": lambda desk, _task: desk.type("y"),
    "closing": lambda desk, _task: desk.engine.forget(desk.snapshot.uri),
    "shutdown": lambda desk, _task: asyncio.ensure_future(desk.engine.aclose()),
    "other settings": lambda desk, _task: asyncio.ensure_future(desk.engine.apply(NEVER)),
}


@pytest.mark.parametrize("end", ENDS)
async def test_whatever_ends_a_request_ends_its_waiting(end: str) -> None:
    desk = Desk("done")
    task = await desk.waiting()
    ENDS[end](desk, task)
    (ended,) = await asyncio.wait_for(asyncio.gather(task, return_exceptions=True), 2)
    assert ended == [] or isinstance(ended, asyncio.CancelledError)
    assert desk.backend.requests == []


async def test_a_gateway_s_callers_do_not_wait() -> None:
    desk = Desk("done")
    answer = desk.engine.answer(desk.snapshot, len(desk.text), CancellationToken())
    assert (await asyncio.wait_for(answer, 2)).text == "done"


def test_uneven_gaps_of_the_benchmark_have_the_mean_that_is_asked_for() -> None:
    from midspan_lsp.bench.replay import gaps_s

    even, uneven = gaps_s(5, 0.0, 1), gaps_s(5, 0.5, 1)
    assert [next(even) for _ in range(3)] == [0.2] * 3
    drawn = [next(uneven) for _ in range(4000)]
    assert sum(drawn) / len(drawn) == pytest.approx(0.2, rel=0.05)
    assert any(first != second for first, second in pairwise(drawn))
