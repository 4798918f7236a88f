"""One middle: the project's memory, the model, filters, syntax gate, and one mending if the gate says no."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace

from midspan_lsp.backends.base import InfillBackend
from midspan_lsp.context.shape import Shape
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine.filters import apply_filters
from midspan_lsp.engine.outcome import STOPPED, Outcome, Silence, Tally
from midspan_lsp.engine.recall import Recall
from midspan_lsp.syntax.repair import Remask, Truncate, plan
from midspan_lsp.syntax.validate import validate
from midspan_lsp.types import (
    CancellationToken,
    Candidate,
    Draft,
    InfillRequest,
    InfillResponse,
    InfillStats,
    Source,
    Span,
    StepObserver,
    SyntaxReport,
    Verdict,
)


class Filler:
    """Fills middles and judges them.

    Args:
        backend: the model.
        recall: the project's memory.
        tally: where all backend calls are counted.
        least: the least probability of what is shown where a request asks for all there is.
    """

    def __init__(self, backend: InfillBackend, recall: Recall, tally: Tally, least: float) -> None:
        self._backend, self._recall, self._tally, self._least = backend, recall, tally, least

    async def fill(
        self,
        request: InfillRequest,
        snapshot: DocumentSnapshot,
        offset: int,
        token: CancellationToken,
        on_step: StepObserver | None = None,
    ) -> Outcome:
        """Fill the middle and judge it, and mend it if it would break the syntax.

        Cancelling the task that awaits this cancels `token`.

        Raises:
            InfillError: the backend failed or is not ready.
        """
        try:
            return await self._fill_and_mend(request, snapshot, offset, token, on_step)
        except asyncio.CancelledError:
            token.cancel()
            raise

    async def _fill_and_mend(
        self,
        request: InfillRequest,
        snapshot: DocumentSnapshot,
        offset: int,
        token: CancellationToken,
        on_step: StepObserver | None,
    ) -> Outcome:
        shape = Shape(request.max_lines, request.min_indent)
        proposals, neighbour = await asyncio.gather(
            self._recall.drafts(snapshot, offset, shape), self._recall.neighbour(snapshot, offset)
        )
        request = replace(request, proposals=proposals, neighbour=neighbour)
        outcome, candidate, report = await self._ask(request, snapshot, offset, token, on_step)
        if candidate is None or outcome.silence is not Silence.BROKEN:
            return outcome

        def valid(text: str) -> bool:
            return _judge(snapshot, offset, text).verdict is not Verdict.BROKEN

        may_remask = self._backend.capabilities.can_remask and not token.expired()
        action = await asyncio.to_thread(plan, report, candidate, valid, may_remask)
        if isinstance(action, Truncate):
            return replace(outcome, text=candidate.text[: action.end], verdict=Verdict.VALID, silence=None)
        if isinstance(action, Remask):
            draft = Draft(candidate.token_ids, candidate.confidences, action.slots)
            request = replace(request, draft=draft, proposals=())
            mended, _, _ = await self._ask(request, snapshot, offset, token, on_step)
            best = mended if mended.silence is None else outcome
            stats = _sum(outcome.stats, mended.stats)
            outcome = replace(best, stats=stats, source=outcome.source, later=outcome.later)
        return outcome

    async def _ask(
        self,
        request: InfillRequest,
        snapshot: DocumentSnapshot,
        offset: int,
        token: CancellationToken,
        on_step: StepObserver | None,
    ) -> tuple[Outcome, Candidate | None, SyntaxReport]:
        """Ask the backend once and judge its best middle: the outcome, and the filtered candidate with its report."""
        report = SyntaxReport(Verdict.NO_OPINION)
        if token.cancelled():  # while the memory was asked
            return STOPPED, None, report
        response = await self._counted(self._backend.infill(request, token, on_step), token)
        if token.cancelled() or not response.candidates:
            return replace(STOPPED, stats=response.stats, later=response.later), None, report
        return await self._first_that_passes(response, request, snapshot, offset)

    async def _first_that_passes(
        self, response: InfillResponse, request: InfillRequest, snapshot: DocumentSnapshot, offset: int
    ) -> tuple[Outcome, Candidate | None, SyntaxReport]:
        """The first candidate that is to be shown; else the first that is broken, for mending; else the first."""
        judged: list[tuple[Outcome, Candidate, SyntaxReport]] = []
        for drafted in response.candidates:
            one = await self._judged(drafted, response, request, snapshot, offset)
            if one[0].silence is None:
                return one
            judged.append(one)
        return next((one for one in judged if one[0].silence is Silence.BROKEN), judged[0])

    async def _judged(
        self,
        drafted: Candidate,
        response: InfillResponse,
        request: InfillRequest,
        snapshot: DocumentSnapshot,
        offset: int,
    ) -> tuple[Outcome, Candidate, SyntaxReport]:
        """A candidate's outcome, and the candidate filtered, with its report."""
        report = SyntaxReport(Verdict.NO_OPINION)
        candidate = replace(drafted, text=apply_filters(drafted.text, request.prefix, request.suffix))
        silence = None
        if not candidate.text:
            silence = Silence.BLANK
        elif candidate.probability < (request.least or self._least):
            silence = Silence.UNSURE
        if candidate.text:
            report = await asyncio.to_thread(_judge, snapshot, offset, candidate.text)
        if silence is None and report.verdict is Verdict.BROKEN:
            silence = Silence.BROKEN
        text, source = candidate.text or drafted.text, _source(request, candidate)
        outcome = Outcome(
            text, candidate.probability, report.verdict, silence, response.stats, source, later=response.later
        )
        return outcome, candidate, report

    async def better(
        self, outcome: Outcome, request: InfillRequest, snapshot: DocumentSnapshot, offset: int
    ) -> Outcome | None:
        """What comes of the answer that was still to come with an outcome; None if it would not be shown."""
        response = await outcome.later if outcome.later is not None else InfillResponse()
        if not response.candidates:
            return None
        judged, _, _ = await self._first_that_passes(response, request, snapshot, offset)
        return judged if judged.silence is None and judged.text != outcome.text else None

    async def _counted(self, call: Coroutine[None, None, InfillResponse], token: CancellationToken) -> InfillResponse:
        """The same, counted even if nobody waits for it any more: its token ends it."""

        def count(done: asyncio.Task[InfillResponse]) -> None:
            if not done.cancelled() and done.exception() is None:
                self._tally.count(done.result().stats, cancelled=token.cancelled())

        task = asyncio.get_running_loop().create_task(call)
        task.add_done_callback(count)
        return await asyncio.shield(task)


def _judge(snapshot: DocumentSnapshot, offset: int, middle: str) -> SyntaxReport:
    return validate(snapshot.text, Span(offset, offset), middle, snapshot.language_id, snapshot.uri)


def _source(request: InfillRequest, candidate: Candidate) -> Source | None:
    if candidate.proposal is None:
        return None
    proposal = request.proposals[candidate.proposal]
    return Source(proposal.source_path, proposal.source_line)


def _sum(first: InfillStats, second: InfillStats) -> InfillStats:
    return InfillStats(
        first.n_forwards + second.n_forwards,
        first.n_encoded_tokens + second.n_encoded_tokens,
        first.n_cached_tokens + second.n_cached_tokens,
        first.elapsed_ms + second.elapsed_ms,
    )
