"""One middle, or several to choose from: the project's memory, the model, filters, syntax gate, and mending."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import replace

from midspan_lsp.backends.base import InfillBackend
from midspan_lsp.context.shape import Shape
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine.judging import Judge, Judged
from midspan_lsp.engine.mending import Mender, Mending
from midspan_lsp.engine.outcome import STOPPED, Mended, Outcome, Silence, Tally
from midspan_lsp.engine.recall import Recall
from midspan_lsp.types import (
    CancellationToken,
    Candidate,
    InfillRequest,
    InfillResponse,
    Source,
    StepObserver,
    Verdict,
)

LEAST_CHOICE = 0.01
"""The least probability of what is shown beside the best where somebody wants to choose."""
LEAST_MENDED = 0.05
"""The least probability of what is mended, and of what is shown then, however little is asked for."""


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
        request = await self.informed(request, snapshot, offset)
        if token.cancelled():  # while the memory was asked
            return STOPPED

        def ask(asked: InfillRequest) -> Awaitable[InfillResponse]:
            return self.ask(asked, token, on_step)

        response = await ask(request)
        if token.cancelled() or not response.candidates:
            return replace(STOPPED, stats=response.stats, later=response.later)
        judge = Judge(request, snapshot, offset)
        drafted, *rivals = response.candidates
        first = await judge.judge(drafted)
        least = request.least or self._least
        outcome = _outcome(request, first, least, response)
        if outcome.silence in {Silence.BLANK, Silence.UNSURE}:
            shown = await self._first_shown(rivals, request, judge, least, response)
            return shown or (replace(outcome, text=drafted.text) if outcome.silence is Silence.BLANK else outcome)
        if outcome.silence is Silence.BROKEN and outcome.probability >= LEAST_MENDED:
            asked = replace(request, least=max(least, LEAST_MENDED))
            mender = Mender(judge, ask if self.can_remask else None)
            outcome = _mended(outcome, await mender.mend(first, rivals, asked, token), asked)
            if token.cancelled():
                return replace(STOPPED, stats=outcome.stats)
        if request.n_candidates > 1 and outcome.silence is None:
            found = [_outcome(request, await judge.judge(one), LEAST_CHOICE, InfillResponse()) for one in rivals]
            return replace(outcome, others=_others(outcome, found, request.n_candidates - 1))
        return outcome

    async def better(
        self, outcome: Outcome, request: InfillRequest, snapshot: DocumentSnapshot, offset: int
    ) -> Outcome | None:
        """What comes of the answer that was still to come with an outcome; None if it would not be shown."""
        response = await outcome.later if outcome.later is not None else InfillResponse()
        judge, least = Judge(request, snapshot, offset), request.least or self._least
        found = await self._first_shown(response.candidates, request, judge, least, response)
        return found if found is not None and found.text != outcome.text else None

    async def _first_shown(
        self,
        candidates: Sequence[Candidate],
        request: InfillRequest,
        judge: Judge,
        least: float,
        response: InfillResponse,
    ) -> Outcome | None:
        """What comes of the first that is likely enough, not blank and not broken."""
        for candidate in candidates:
            if candidate.probability >= least:
                found = _outcome(request, await judge.judge(candidate), least, response)
                if found.silence is None:
                    return found
        return None

    @property
    def can_remask(self) -> bool:
        """Whether the backend takes drafts."""
        return self._backend.capabilities.can_remask

    async def informed(self, request: InfillRequest, snapshot: DocumentSnapshot, offset: int) -> InfillRequest:
        """The request with what the project's memory knows of its place."""
        shape = Shape(request.max_lines, request.min_indent)
        proposals, neighbour = await asyncio.gather(
            self._recall.drafts(snapshot, offset, shape), self._recall.neighbour(snapshot, offset)
        )
        ahead = self._recall.ahead(snapshot, offset, shape)
        return replace(request, proposals=proposals, neighbour=neighbour, ahead=ahead)

    async def ask(
        self, request: InfillRequest, token: CancellationToken, on_step: StepObserver | None = None
    ) -> InfillResponse:
        """The backend's answer as it is, counted even if nobody waits for it any more: its token ends it.

        Raises:
            InfillError: the backend failed or is not ready.
        """

        def count(done: asyncio.Task[InfillResponse]) -> None:
            if not done.cancelled() and done.exception() is None:
                self._tally.count(done.result().stats, cancelled=token.cancelled())

        task = asyncio.get_running_loop().create_task(self._backend.infill(request, token, on_step))
        task.add_done_callback(count)
        return await asyncio.shield(task)


def _outcome(request: InfillRequest, judged: Judged, least: float, response: InfillResponse) -> Outcome:
    """What comes of a candidate as it is."""
    candidate, verdict, silence = judged.candidate, judged.report.verdict, None
    if not candidate.text:
        silence = Silence.BLANK
    elif candidate.probability < least:
        silence = Silence.UNSURE
    elif verdict is Verdict.BROKEN:
        silence = Silence.BROKEN
    source, stats, later = _source(request, candidate), response.stats, response.later
    return Outcome(candidate.text, candidate.probability, verdict, silence, stats, source, later)


def _mended(broken: Outcome, mending: Mending, request: InfillRequest) -> Outcome:
    """What comes of a broken one; it stays what it is if there is nothing valid."""
    stats = broken.stats + mending.stats
    if mending.best is None:
        return replace(broken, stats=stats, n_rounds=mending.n_rounds)
    outcome = _outcome(request, mending.best, request.least, InfillResponse(stats=stats, later=broken.later))
    source = outcome.source if mending.how is Mended.RIVAL else broken.source
    return replace(outcome, source=source, mended=mending.how, n_rounds=mending.n_rounds)


def _others(best: Outcome, found: list[Outcome], most: int) -> tuple[Outcome, ...]:
    """What may be shown beside the best, the likely first: nothing twice, and nothing less surely valid."""
    verdicts = {best.verdict, Verdict.VALID}
    ranked = sorted(found, key=lambda one: one.probability, reverse=True)
    by_text = {one.text: one for one in reversed(ranked) if one.silence is None and one.verdict in verdicts}
    return tuple(one for one in ranked if by_text.get(one.text) is one and one.text != best.text)[:most]


def _source(request: InfillRequest, candidate: Candidate) -> Source | None:
    if candidate.proposal is None:
        return None
    proposal = request.proposals[candidate.proposal]
    return Source(proposal.source_path, proposal.source_line)
