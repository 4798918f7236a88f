"""What is got ready, when, and what ends it; by what the backend is asked, never by time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from midspan_lsp.config import CompletionSettings, Settings
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine.edits import end_of_edit
from midspan_lsp.engine.pipeline import Engine
from midspan_lsp.errors import BadResponse
from midspan_lsp.types import CancellationToken, InfillRequest, InfillStats, Trigger
from scripted_backend import ScriptedBackend, candidate, document
from test_pipeline import turns

TEXT = "def f(x):\n    return x\n\n\nprint(f(1))\n"
EDITED = TEXT.replace("return x", "return x + ")
END = EDITED.index("x + ") + 4


@pytest.mark.parametrize(
    ("before", "after", "end"),
    [
        ("", "", 0),
        ("", "ab", 2),
        ("ac", "abc", 2),
        ("aa", "aaa", 3),
        ("xab", "xaab", 3),
        ("abc", "ac", 1),
        ("xaab", "xab", 2),
        ("one two", "one 2", 5),
        ("abc", "abc", 3),
        ("abc", "", 0),
    ],
)
def test_the_end_of_an_edit(before: str, after: str, end: int) -> None:
    assert end_of_edit(before, after) == end


@given(st.text("ab\n"), st.text("ab\n"), st.text("ab\n"), st.text("ab\n"))
def test_what_stands_behind_the_end_of_an_edit_is_as_it_was(head: str, old: str, new: str, tail: str) -> None:
    before, after = f"{head}{old}|{tail}", f"{head}{new}|{tail}"
    end = end_of_edit(before, after)
    assert before.endswith(after[end:])
    assert end <= len(head + new) or old == new


def snapshot(text: str, version: int = 1) -> DocumentSnapshot:
    return DocumentSnapshot("file:///a.py", "python", version, text)


async def settle(quiet: Callable[[], bool]) -> None:
    """Until it holds; an engine with `quiet_s=0` needs some turns of the loop."""
    async with asyncio.timeout(10):
        while not quiet():  # noqa: ASYNC110
            await asyncio.sleep(0)


def engine_of(backend: ScriptedBackend, settings: Settings | None = None) -> Engine:
    return Engine(backend, settings or Settings(), quiet_s=0)


async def test_an_edit_has_its_place_prepared_once_and_then_nothing_runs() -> None:
    backend = ScriptedBackend([])
    engine = engine_of(backend)
    engine.opened(snapshot(TEXT))
    await turns()
    assert backend.prepared == [], "where the cursor is, nobody knows yet"
    engine.changed(snapshot(EDITED, 2))
    await settle(lambda: engine.tally.n_prefilled_tokens > 0)
    await turns()
    (request,) = backend.prepared
    assert (request.prefix, request.suffix) == (EDITED[:END], EDITED[END:])
    assert len(asyncio.all_tasks()) == 1, "nothing runs"
    engine.changed(snapshot(EDITED, 3))
    await turns()
    assert len(backend.prepared) == 1, "the same text is no edit"


async def test_only_the_last_of_many_edits_is_prepared() -> None:
    backend = ScriptedBackend([])
    engine = engine_of(backend)
    engine.opened(snapshot(TEXT))
    for n in range(1, 5):
        engine.changed(snapshot(TEXT.replace("return x", "return x" + "y" * n), n))
    await settle(lambda: engine.tally.n_prefilled_tokens > 0)
    await turns()
    assert [request.prefix[-5:] for request in backend.prepared] == ["xyyyy"]


@pytest.mark.parametrize("what", ["request", "edit", "aclose"])
async def test_whatever_comes_stops_what_is_being_prepared(what: str) -> None:
    backend = ScriptedBackend([candidate("1")], gate=asyncio.Event())
    engine = engine_of(backend)
    engine.opened(snapshot(TEXT))
    engine.changed(snapshot(EDITED, 2))
    await settle(lambda: bool(backend.prepared))
    (token,) = backend.tokens
    assert not token.cancelled()
    if what == "request":
        asking = asyncio.create_task(engine.complete(snapshot(EDITED, 2), END, Trigger.AUTOMATIC))
        await settle(lambda: bool(backend.requests))
    elif what == "edit":
        engine.changed(snapshot(TEXT, 3))
    else:
        await engine.aclose()
    assert token.cancelled()
    assert backend.gate is not None
    backend.gate.set()
    if what == "request":
        assert [one.text for one in await asking] == ["1"]
        await turns()
        assert len(backend.prepared) == 1, "a request has encoded its context itself"


async def test_while_the_model_loads_the_place_is_kept() -> None:
    backend = ScriptedBackend([], ready=False)
    engine = engine_of(backend)
    assert await engine.complete(snapshot(EDITED), END, Trigger.AUTOMATIC) == []
    await turns()
    assert backend.prepared == []
    await engine.load(lambda _progress: None)
    await settle(lambda: engine.tally.n_prefilled_tokens > 0)
    assert backend.prepared[0].prefix == EDITED[:END]


async def test_what_time_was_too_short_for_is_made_up_for() -> None:
    backend = ScriptedBackend([candidate("1", 0.1)])
    engine = engine_of(backend)
    token = CancellationToken(0.0)
    assert await engine.complete(snapshot(EDITED), END, Trigger.AUTOMATIC, token) == []
    await settle(lambda: engine.tally.n_prefilled_tokens > 0)


async def test_what_cannot_be_prepared_is_no_trouble() -> None:
    class Failing(ScriptedBackend):
        async def prepare(self, request: InfillRequest, token: CancellationToken) -> InfillStats:
            await super().prepare(request, token)
            raise BadResponse("no")

    backend = Failing([candidate("1")])
    engine = engine_of(backend)
    engine.changed(snapshot(EDITED))
    await settle(lambda: bool(backend.prepared))
    assert [one.text for one in await engine.complete(snapshot(EDITED), END, Trigger.AUTOMATIC)] == ["1"]


async def test_an_edit_ends_the_requests_for_the_old_text() -> None:
    backend = ScriptedBackend([candidate("1")], gate=asyncio.Event())
    engine = engine_of(backend)
    engine.opened(snapshot(EDITED))
    asking = asyncio.create_task(engine.complete(snapshot(EDITED), END, Trigger.AUTOMATIC))
    await settle(lambda: bool(backend.requests))
    engine.changed(snapshot(EDITED.replace("x + ", "x + 7"), 2))
    assert backend.tokens[0].cancelled()
    assert backend.gate is not None
    backend.gate.set()
    assert await asking == []


async def test_a_repeated_request_and_one_typed_through_do_not_reach_the_backend() -> None:
    backend = ScriptedBackend([candidate("first(1)")])
    engine = engine_of(backend)
    before, offset = document("def f(x):\n    return x + ‸\n\n\nprint(f(1))\n")
    texts: list[str] = []
    for n_typed in (0, 0, 1, 6, 0):
        typed = "first(1)"[:n_typed]
        text = before.text[:offset] + typed + before.text[offset:]
        found = await engine.complete(replace(before, text=text), offset + n_typed, Trigger.AUTOMATIC)
        texts += [one.text for one in found]
    assert texts == ["first(1)", "first(1)", "irst(1)", "1)", "first(1)"]
    assert len(backend.requests) == 1
    assert (engine.tally.n_requests, engine.tally.n_repeated, engine.tally.n_typed_through) == (5, 2, 2)


async def test_an_answer_by_hand_is_not_an_automatic_silence() -> None:
    backend = ScriptedBackend([candidate("1", 0.4), candidate("1", 0.4)])
    engine = engine_of(backend, Settings(completion=CompletionSettings(eagerness="medium")))
    asked = [Trigger.AUTOMATIC, Trigger.AUTOMATIC, Trigger.INVOKED, Trigger.AUTOMATIC]
    shown = [await engine.complete(snapshot(EDITED), END, trigger) for trigger in asked]
    assert [bool(one) for one in shown] == [False, False, True, True]
    assert len(backend.requests) == 2


async def test_a_cancelled_request_is_counted_and_not_kept() -> None:
    backend = ScriptedBackend([candidate("1"), candidate("2")], gate=asyncio.Event())
    engine = engine_of(backend)
    asking = asyncio.create_task(engine.complete(snapshot(EDITED), END, Trigger.AUTOMATIC))
    await settle(lambda: bool(backend.requests))
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert backend.gate is not None
    backend.gate.set()
    await settle(lambda: engine.tally.n_forwards == engine.tally.n_wasted_forwards == 3)
    assert [one.text for one in await engine.complete(snapshot(EDITED), END, Trigger.AUTOMATIC)] == ["2"]
