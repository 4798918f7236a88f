"""Mending as a loop, and several middles to choose from, with a backend that answers as told."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest
from midspan_lsp.config import CompletionSettings, Settings
from midspan_lsp.engine.outcome import Mended, Outcome, Silence
from midspan_lsp.engine.pipeline import Engine
from midspan_lsp.engine.requests import N_CANDIDATES
from midspan_lsp.syntax.repair import MOST_ROUNDS
from midspan_lsp.types import CancellationToken, Candidate, Draft, InfillRequest, Proposal, Trigger, Verdict
from scripted_backend import ScriptedBackend, candidate, document

CURSOR = "def f(x):\n    return x + ‸\n\n\nprint(f(1))\n"
ALL = Settings(CompletionSettings(eagerness="always"))


async def fill(backend: ScriptedBackend, marked: str = CURSOR, token: CancellationToken | None = None) -> Outcome:
    snapshot, offset = document(marked)
    return await Engine(backend, ALL).infill(snapshot, offset, token or CancellationToken())


def drafts(backend: ScriptedBackend) -> list[Draft]:
    return [request.draft for request in backend.requests if request.draft is not None]


async def test_a_valid_middle_costs_one_call() -> None:
    backend = ScriptedBackend([(candidate("g(1)"), candidate("g(2)", 0.5))])
    outcome = await fill(backend)
    assert (outcome.text, outcome.mended, outcome.n_rounds, outcome.others) == ("g(1)", None, 0, ())
    assert (len(backend.requests), outcome.stats.n_forwards) == (1, 3)
    assert backend.requests[0].n_candidates == 1


async def test_a_valid_rival_costs_no_forward() -> None:
    backend = ScriptedBackend([(candidate("g(1]", 0.5), candidate("g(1}", 0.2), candidate("g(2)", 0.12))])
    outcome = await fill(backend)
    assert (outcome.text, outcome.mended) == ("g(2)", Mended.RIVAL)
    assert outcome.probability == pytest.approx(0.12 / 0.3), "of what was not refused"
    assert len(backend.requests) == 1


async def test_rounds_go_on_until_a_middle_is_valid_and_bans_add_up() -> None:
    backend = ScriptedBackend([candidate("g(1]", 0.5), candidate("g(1}", 0.2), candidate("g(1)", 0.12)])
    outcome = await fill(backend)
    assert (outcome.text, outcome.verdict) == ("g(1)", Verdict.VALID)
    assert outcome.probability == pytest.approx(0.12 / 0.3)
    assert (outcome.mended, outcome.n_rounds, outcome.stats.n_forwards) == (Mended.REMASKED, 2, 9)
    first, second = drafts(backend)
    assert first.remask == {2, 3, 4}
    assert second.remask == {0, 1, 2, 3, 4}
    assert dict(first.banned) == {3: {103}}
    assert dict(second.banned) == {3: {103}}


async def test_what_was_rejected_stays_banned_where_it_was() -> None:
    answers = [candidate("g(1]"), candidate("h]2)"), candidate("k(3]"), candidate("m(4}")]
    backend = ScriptedBackend([Candidate(one.text, 0.9, tuple(map(ord, one.text)), one.token_spans) for one in answers])
    outcome = await fill(backend)
    assert (outcome.silence, outcome.n_rounds) == (Silence.BROKEN, MOST_ROUNDS)
    assert [dict(draft.banned) for draft in drafts(backend)] == [
        {3: {ord("]")}},
        {3: {ord("]")}, 1: {ord("]")}},
        {3: {ord("]")}, 1: {ord("]")}},
    ]


async def test_a_middle_that_lacks_its_end_has_to_go_on() -> None:
    backend = ScriptedBackend([candidate("g(1"), candidate("g(1)")])
    outcome = await fill(backend)
    assert outcome.text == "g(1)"
    (draft,) = drafts(backend)
    assert (draft.unfinished, dict(draft.banned)) == ({3}, {})


async def test_when_time_is_up_nothing_more_is_asked_and_what_is_there_is_cut() -> None:
    token = CancellationToken(timeout_s=0.0)
    backend = ScriptedBackend([candidate("first + x)")])
    outcome = await fill(backend, token=token)
    assert (outcome.text, outcome.mended, outcome.n_rounds) == ("first + x", Mended.SHORTER, 0)
    assert len(backend.requests) == 1


async def test_a_cut_middle_is_as_likely_as_the_backend_has_it_not_as_its_draft_was() -> None:
    for told, believed in ((0.02, 0.2), (0.3, 0.7)):
        backend = ScriptedBackend([candidate("great)", 0.7), *[candidate("g(1]", 0.2)] * 3, candidate("great", told)])
        outcome = await fill(backend)
        assert (outcome.text, outcome.mended) == ("great", Mended.SHORTER)
        assert outcome.probability == pytest.approx(believed), "of what was not refused"
        assert outcome.stats.n_forwards == 15
        asked = drafts(backend)[-1]
        assert (asked.token_ids, asked.remask) == (candidate("great").token_ids, frozenset())


async def test_a_cut_middle_of_which_nobody_can_be_asked_is_no_likelier_than_its_end_may_be() -> None:
    outcome = await fill(ScriptedBackend([candidate("first + x)", 0.6)]), token=CancellationToken(timeout_s=0.0))
    assert (outcome.text, outcome.mended) == ("first + x", Mended.SHORTER)
    assert outcome.probability == pytest.approx(0.6), "all that is left, and no more than the draft was"
    unsure = replace(candidate("first + x)", 0.2), confidences=(0.9,) * 9 + (0.8,))
    outcome = await fill(ScriptedBackend([unsure]), token=CancellationToken(timeout_s=0.0))
    assert outcome.probability == pytest.approx(0.2 / 0.8 * 0.2 / 0.8)


async def test_the_rounds_end_with_the_time() -> None:
    class Clock(CancellationToken):
        is_up = False

        def expired(self) -> bool:
            return self.is_up

    def meanwhile(n: int, token: CancellationToken) -> None:
        assert isinstance(token, Clock)
        token.is_up = n == 2

    backend = ScriptedBackend([candidate("g(1]"), candidate("g(1}")], meanwhile=meanwhile)
    outcome = await fill(backend, token=Clock())
    assert (outcome.silence, outcome.n_rounds, len(backend.requests)) == (Silence.BROKEN, 1, 2)


@pytest.mark.parametrize("n", [1, 2, 3])
async def test_a_cancel_ends_it_and_counts_what_was_done(n: int) -> None:
    def meanwhile(call: int, token: CancellationToken) -> None:
        if call == n:
            token.cancel()

    backend = ScriptedBackend([candidate("g(1]"), candidate("g(1}"), candidate("g(1]")], meanwhile=meanwhile)
    outcome = await fill(backend)
    assert (outcome.silence, outcome.text, outcome.stats.n_forwards) == (Silence.STOPPED, "", 3 * n)
    assert len(backend.requests) == n


async def test_a_whole_middle_goes_before_a_cut_one_and_a_likely_before_an_unlikely() -> None:
    settings = Settings(CompletionSettings(eagerness="medium"))
    snapshot, offset = document(CURSOR)
    for mended, expected in ((0.3, "g(1)"), (0.1, "great")):
        backend = ScriptedBackend([candidate("great)", 0.6), candidate("g(1)", mended), candidate("great", 0.3)])
        outcome = await Engine(backend, settings).infill(snapshot, offset, CancellationToken())
        assert (outcome.text, outcome.silence) == (expected, None)


async def test_a_valid_one_that_is_too_unlikely_is_told_but_not_shown() -> None:
    settings = Settings(CompletionSettings(eagerness="medium"))
    snapshot, offset = document(CURSOR)
    backend = ScriptedBackend(
        [(candidate("1 ]", 0.6), candidate("3", 0.05)), candidate("1 )", 0.2), candidate("2", 0.04)]
    )
    outcome = await Engine(backend, settings).infill(snapshot, offset, CancellationToken())
    assert (outcome.text, outcome.silence) == ("2", Silence.UNSURE)


async def test_nothing_is_believed_more_than_what_was_refused_or_than_it_was() -> None:
    for refused, mended, believed in ((0.6, 0.39, 0.6), (0.6, 0.7, 0.7), (0.95, 0.02, 0.2)):
        outcome = await fill(ScriptedBackend([candidate("g(1]", refused), candidate("g(1)", mended)]))
        assert outcome.probability == pytest.approx(believed)


async def test_a_mended_middle_may_be_the_less_likely_the_more_was_refused() -> None:
    """By itself, so that the backend does not give up what will be likely enough."""
    settings = Settings(CompletionSettings(eagerness="medium"))
    snapshot, offset = document(CURSOR)
    backend = ScriptedBackend([candidate("g(1]", 0.6), candidate("g(1}", 0.2), candidate("g(1)", 0.15)])
    (shown,) = await Engine(backend, settings).complete(snapshot, offset, Trigger.AUTOMATIC)
    assert shown.probability == pytest.approx(0.6)
    assert [request.least for request in backend.requests] == pytest.approx([0.5, 0.5 * 0.4, 0.5 * 0.2])


async def test_an_unsure_middle_is_not_mended() -> None:
    settings = Settings(CompletionSettings(eagerness="medium"))
    snapshot, offset = document(CURSOR)
    backend = ScriptedBackend([candidate("g(1]", 0.3)])
    outcome = await Engine(backend, settings).infill(snapshot, offset, CancellationToken())
    assert (outcome.silence, len(backend.requests)) == (Silence.UNSURE, 1)


@pytest.mark.parametrize("reason", ["unsure", "deadline"])
async def test_what_was_given_up_is_not_taken_and_ends_the_rounds(reason: Literal["unsure", "deadline"]) -> None:
    given_up = Candidate("g", 0.9, (100,), candidate("g").token_spans, (0.1,), finish_reason=reason)
    backend = ScriptedBackend([candidate("g(1]"), given_up])
    outcome = await fill(backend)
    assert (outcome.silence, len(backend.requests)) == (Silence.BROKEN, 2)


async def test_no_opinion_is_not_valid_where_there_was_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    from midspan_lsp.engine import judging
    from midspan_lsp.types import Span, SyntaxReport

    def validate(_text: str, _place: object, middle: str, _language: str, _uri: str) -> SyntaxReport:
        if middle == "g(1]":
            return SyntaxReport(Verdict.BROKEN, (Span(3, 4),))
        return SyntaxReport(Verdict.NO_OPINION)

    monkeypatch.setattr(judging, "validate", validate)
    backend = ScriptedBackend([(candidate("g(1]"), candidate("g(2)", 0.8)), candidate("g(1)")])
    outcome = await fill(backend)
    assert (outcome.silence, outcome.text) == (Silence.BROKEN, "g(1]")
    assert len(backend.requests) == 2


async def test_spans_are_those_of_what_the_filters_leave() -> None:
    """The fault is found in the filtered text; the slots that are masked are those of the whole draft."""
    backend = ScriptedBackend([candidate("return x + g(1]"), candidate("return x + g(1)")])
    outcome = await fill(backend)
    assert outcome.text == " g(1)"
    (draft,) = drafts(backend)
    assert len(draft.token_ids) == len("return x + g(1]")
    assert set(draft.banned) == {14}


async def test_a_request_by_hand_has_several_to_choose_from() -> None:
    found = (
        candidate("1", 0.6),
        candidate("g(1]", 0.3),
        candidate("2", 0.2),
        candidate("1 "),
        candidate("3", 0.08),
    )
    backend = ScriptedBackend([found])
    snapshot, offset = document(CURSOR)
    shown = await Engine(backend, Settings()).complete(snapshot, offset, Trigger.INVOKED)
    assert [(one.text, one.probability) for one in shown] == [("1", 0.6), ("2", 0.2), ("3", 0.08)]
    assert backend.requests[0].n_candidates == N_CANDIDATES


async def test_the_most_unlikely_are_not_offered() -> None:
    backend = ScriptedBackend([(candidate("1", 0.6), candidate("2", 0.005))])
    snapshot, offset = document(CURSOR)
    (shown,) = await Engine(backend, Settings()).complete(snapshot, offset, Trigger.INVOKED)
    assert shown.text == "1"


async def test_what_the_gate_has_no_opinion_of_is_not_offered_beside_what_is_valid(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from midspan_lsp.engine import judging
    from midspan_lsp.types import SyntaxReport

    opinions = {"1": Verdict.VALID, "2": Verdict.NO_OPINION, "3": Verdict.VALID}
    monkeypatch.setattr(judging, "validate", lambda _text, _place, middle, *_: SyntaxReport(opinions[middle]))
    snapshot, offset = document(CURSOR)
    for best, others in (("1", ["3"]), ("2", ["1", "3"])):
        found = [candidate(best, 0.6), *(candidate(text, 0.3) for text in opinions if text != best)]
        engine = Engine(ScriptedBackend([tuple(found)]), Settings())
        assert [one.text for one in await engine.complete(snapshot, offset, Trigger.INVOKED)] == [best, *others]


async def test_what_is_chosen_and_begun_is_known_without_asking() -> None:
    backend = ScriptedBackend([(candidate("first(1)", 0.6), candidate("second(2)", 0.3), candidate("sec", 0.2))])
    engine = Engine(backend, Settings())
    snapshot, offset = document(CURSOR)
    assert len(await engine.complete(snapshot, offset, Trigger.INVOKED)) == 3
    for typed, rest in (("sec", ["ond(2)"]), ("s", ["econd(2)", "ec"]), ("fir", ["st(1)"])):
        begun, at = document(CURSOR.replace("‸", typed + "‸"))
        assert [one.text for one in await engine.complete(begun, at, Trigger.AUTOMATIC)] == rest
    assert len(backend.requests) == 1


async def test_who_asks_by_hand_is_not_answered_by_what_there_was_no_choice_of() -> None:
    backend = ScriptedBackend([candidate("1"), (candidate("1"), candidate("2", 0.3))])
    engine = Engine(backend, Settings())
    snapshot, offset = document(CURSOR)
    assert len(await engine.complete(snapshot, offset, Trigger.AUTOMATIC)) == 1
    assert len(await engine.complete(snapshot, offset, Trigger.INVOKED)) == 2
    assert len(await engine.complete(snapshot, offset, Trigger.AUTOMATIC)) == 2, "known by now"


async def test_what_competes_is_told_with_a_draft() -> None:
    """How likely a mended middle is depends on it."""
    from midspan_lsp.context.shape import Shape
    from midspan_lsp.engine.filling import Filler
    from midspan_lsp.engine.outcome import Tally
    from midspan_lsp.engine.recall import Recall

    class Remembering(Recall):
        async def drafts(self, snapshot: object, offset: int, shape: Shape) -> tuple[Proposal, ...]:
            return (Proposal("h(1]", 0.4, "b.py", 3),)

    backend = ScriptedBackend([candidate("g(1]"), candidate("g(1)")])
    snapshot, offset = document(CURSOR)
    filler = Filler(backend, Remembering(ALL.memory), Tally(), 0.0)
    await filler.fill(InfillRequest(snapshot.text[:offset], "", "python"), snapshot, offset, CancellationToken())
    assert [len(request.proposals) for request in backend.requests] == [1, 1]
