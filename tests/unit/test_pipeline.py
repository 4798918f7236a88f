"""The engine's story, with a backend that answers as told."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from midspan_lsp.config import CompletionSettings, ContextSettings, MemorySettings, Settings
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine.outcome import Silence
from midspan_lsp.engine.pipeline import Engine
from midspan_lsp.syntax.repair import MOST_ROUNDS
from midspan_lsp.types import CancellationToken, Candidate, Span, Trigger, Verdict
from scripted_backend import ScriptedBackend, candidate, document


async def turns() -> None:
    """Turns of the loop, enough for whatever has been started to reach the backend."""
    for _ in range(20):
        await asyncio.sleep(0)


texts = st.lists(
    st.sampled_from([*"ab ()[]'\n", "\r\n", "    ", "\t", "if a:\n", "é", "😀", "foo(", "}"]), max_size=9
).map("".join)


@settings(max_examples=150, deadline=None)
@given(texts, texts, texts, st.sampled_from(["python", "javascript", "go", "cobol"]))
def test_the_text_around_the_cursor_is_never_changed(before: str, after: str, draft: str, language_id: str) -> None:
    """What is shown is only inserted: at the cursor, in place of nothing, and of the draft's own characters."""
    snapshot = DocumentSnapshot("file:///a", language_id, 1, before + after)
    engine = Engine(ScriptedBackend([candidate(draft)] * 5), Settings())
    for shown in asyncio.run(engine.complete(snapshot, len(before), Trigger.INVOKED)):
        place = shown.replace
        changed = snapshot.text[: place.start] + shown.text + snapshot.text[place.end :]
        assert place == Span(len(before), len(before))
        assert changed.startswith(before)
        assert changed.endswith(after)
        assert shown.verdict is not Verdict.BROKEN
        assert set(shown.text) <= set(draft) | set(" \t\r\n")


CURSOR = "def f(x):\n    return x + ‸\n\n\nprint(f(1))\n"


async def test_a_good_middle_is_suggested_at_the_cursor() -> None:
    backend = ScriptedBackend([candidate("1 ")])
    snapshot, offset = document(CURSOR)
    (suggestion,) = await Engine(backend, Settings()).complete(snapshot, offset, Trigger.AUTOMATIC)
    assert suggestion.text == "1"
    assert suggestion.replace == Span(offset, offset)
    assert suggestion.verdict is Verdict.VALID
    assert backend.requests[0].prefix.endswith("return x + ")
    assert backend.requests[0].max_lines == 1


@pytest.mark.parametrize(
    ("answer", "silence"),
    [
        (candidate("  "), Silence.BLANK),
        (candidate(""), Silence.BLANK),
        (candidate("1", 0.01), Silence.UNSURE),
    ],
)
async def test_why_nothing_is_shown(answer: Candidate, silence: Silence) -> None:
    snapshot, offset = document(CURSOR)
    engine = Engine(ScriptedBackend([answer]), Settings())
    outcome = await engine.infill(snapshot, offset, CancellationToken())
    assert outcome.silence is silence
    assert await Engine(ScriptedBackend([answer]), Settings()).complete(snapshot, offset, Trigger.INVOKED) == []


async def test_a_broken_middle_is_masked_again_under_its_fault() -> None:
    backend = ScriptedBackend([candidate("g(1]"), candidate("g(1)")])
    snapshot, offset = document(CURSOR)
    outcome = await Engine(backend, Settings()).infill(snapshot, offset, CancellationToken())
    assert (outcome.text, outcome.verdict, outcome.silence) == ("g(1)", Verdict.VALID, None)
    assert outcome.stats.n_forwards == 6
    draft = backend.requests[1].draft
    assert draft is not None
    assert draft.token_ids == (100, 101, 102, 103)
    assert 3 in draft.remask


async def test_a_middle_that_stays_broken_is_dropped() -> None:
    backend = ScriptedBackend([candidate(f"g(1{closer}") for closer in "]}]}"])
    snapshot, offset = document(CURSOR)
    engine = Engine(backend, Settings())
    assert await engine.complete(snapshot, offset, Trigger.AUTOMATIC) == []
    assert len(backend.requests) == 1 + MOST_ROUNDS


async def test_a_backend_that_cannot_remask_is_not_asked_twice() -> None:
    backend = ScriptedBackend([candidate("g(1]")], can_remask=False)
    snapshot, offset = document(CURSOR)
    outcome = await Engine(backend, Settings()).infill(snapshot, offset, CancellationToken())
    assert outcome.silence is Silence.BROKEN
    assert len(backend.requests) == 1


async def test_several_lines_are_trimmed_to_the_valid_ones() -> None:
    backend = ScriptedBackend([candidate("a = x + 1\n    return a +)")], can_remask=False)
    snapshot, offset = document("def f(x):\n    ‸\n\n\nprint(f(1))\n")
    outcome = await Engine(backend, Settings()).infill(snapshot, offset, CancellationToken())
    assert (outcome.text, outcome.silence) == ("a = x + 1", None)
    assert backend.requests[0].max_lines == Settings().completion.max_lines
    assert backend.requests[0].min_indent == 4


async def test_an_unknown_language_has_no_opinion_and_shows() -> None:
    backend = ScriptedBackend([candidate("g(1]")])
    snapshot, offset = document(CURSOR, language_id="klingon")
    (suggestion,) = await Engine(backend, Settings()).complete(snapshot, offset, Trigger.AUTOMATIC)
    assert suggestion.verdict is Verdict.NO_OPINION


async def test_not_ready_answers_nothing() -> None:
    snapshot, offset = document(CURSOR)
    engine = Engine(ScriptedBackend([candidate("1")], ready=False), Settings())
    assert await engine.complete(snapshot, offset, Trigger.AUTOMATIC) == []


async def test_a_newer_request_of_the_document_ends_the_older() -> None:
    gate = asyncio.Event()
    backend = ScriptedBackend([candidate("1"), candidate("2")], gate=gate)
    engine = Engine(backend, Settings())
    snapshot, offset = document(CURSOR)
    older = asyncio.create_task(engine.complete(snapshot, offset, Trigger.AUTOMATIC))
    await turns()
    newer = asyncio.create_task(engine.complete(snapshot, offset, Trigger.AUTOMATIC))
    await turns()
    assert backend.tokens[0].cancelled()
    gate.set()
    assert await older == []
    assert [suggestion.text for suggestion in await newer] == ["2"]


async def test_ghost_text_and_menu_do_not_end_each_other_and_share_one_answer() -> None:
    backend = ScriptedBackend([candidate("1")], gate=asyncio.Event())
    engine = Engine(backend, Settings())
    snapshot, offset = document(CURSOR)
    kinds = (Trigger.AUTOMATIC, Trigger.MENU)
    tasks = [asyncio.create_task(engine.complete(snapshot, offset, kind)) for kind in kinds]
    await turns()
    assert backend.gate is not None
    backend.gate.set()
    assert [answer[0].text for answer in await asyncio.gather(*tasks)] == ["1", "1"]


async def test_who_waits_for_the_same_answer_asks_if_it_does_not_come() -> None:
    backend = ScriptedBackend([candidate("1"), candidate("2")], gate=asyncio.Event())
    engine = Engine(backend, Settings())
    snapshot, offset = document(CURSOR)
    kinds = (Trigger.AUTOMATIC, Trigger.MENU)
    ghost, menu = [asyncio.create_task(engine.complete(snapshot, offset, kind)) for kind in kinds]
    await turns()
    assert len(backend.requests) == 1
    ghost.cancel()
    await turns()
    assert backend.gate is not None
    backend.gate.set()
    assert [one.text for one in await menu] == ["2"]
    assert ghost.cancelled()


async def test_documents_do_not_disturb_each_other() -> None:
    backend = ScriptedBackend([candidate("1"), candidate("2")], gate=asyncio.Event())
    engine = Engine(backend, Settings())
    snapshot, offset = document(CURSOR)
    other = DocumentSnapshot("file:///b.py", "python", 1, snapshot.text)
    tasks = [asyncio.create_task(engine.complete(one, offset, Trigger.AUTOMATIC)) for one in (snapshot, other)]
    await turns()
    assert not any(token.cancelled() for token in backend.tokens)
    assert backend.gate is not None
    backend.gate.set()
    assert [answer[0].text for answer in await asyncio.gather(*tasks)] == ["1", "2"]


@pytest.mark.parametrize("end", ["cancel", "forget", "aclose"])
async def test_every_way_of_ending_reaches_the_worker(end: str) -> None:
    backend = ScriptedBackend([candidate("1")], gate=asyncio.Event())
    engine = Engine(backend, Settings())
    snapshot, offset = document(CURSOR)
    task = asyncio.create_task(engine.complete(snapshot, offset, Trigger.AUTOMATIC))
    await turns()
    if end == "cancel":
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    elif end == "forget":
        engine.forget(snapshot.uri)
    else:
        await engine.aclose()
    assert backend.tokens[0].cancelled()
    assert backend.gate is not None
    backend.gate.set()
    await asyncio.wait([task])


async def test_the_trigger_chooses_the_deadline() -> None:
    settings = Settings(completion=CompletionSettings(timeout_ms=1, invoked_timeout_ms=60_000))
    backend = ScriptedBackend([candidate("1"), candidate("1")])
    engine = Engine(backend, settings)
    snapshot, offset = document(CURSOR)
    await engine.complete(snapshot, offset, Trigger.AUTOMATIC)
    await engine.complete(snapshot, offset - 1, Trigger.INVOKED)
    await asyncio.sleep(0.005)
    assert [token.expired() for token in backend.tokens] == [True, False]


async def test_other_settings_count_at_once_and_the_model_s_later() -> None:
    backend = ScriptedBackend([Candidate("one()", 0.4)] * 3)
    engine = Engine(backend, Settings())
    document = DocumentSnapshot("file:///a.py", "python", 1, "x = ")
    assert await engine.complete(document, 4, Trigger.AUTOMATIC) == []
    eager = Settings(CompletionSettings(eagerness="high"), context=ContextSettings(prefix_tokens=16))
    assert not await engine.apply(eager)
    (shown,) = await engine.complete(document, 4, Trigger.AUTOMATIC)
    assert shown.text == "one()"
    long = DocumentSnapshot("file:///b.py", "python", 1, "x = 1\n" * 1000)
    await engine.infill(long, 5000, CancellationToken())
    assert len(backend.requests[-1].prefix) > 1000


async def test_another_memory_has_to_be_told_what_is_open() -> None:
    engine = Engine(ScriptedBackend([]), Settings())
    before = engine.recall
    assert await engine.apply(Settings(memory=MemorySettings(enabled=False)))
    assert engine.recall is not before
    assert not await engine.apply(Settings(memory=MemorySettings(enabled=False)))
