"""The story of one request: cursor, context, the project's memory, model, filters, syntax gate, suggestion."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from enum import Enum

from midspan_lsp.backends.base import InfillBackend, ReportProgress
from midspan_lsp.config import LEAST_PROBABILITY, Eagerness, MemorySettings, Settings
from midspan_lsp.context.shape import Shape, middle_shape
from midspan_lsp.context.window import window
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine.filters import apply_filters
from midspan_lsp.engine.latest import LatestWins
from midspan_lsp.engine.recall import Recall
from midspan_lsp.syntax.repair import Remask, Truncate, plan
from midspan_lsp.syntax.validate import validate
from midspan_lsp.types import (
    CancellationToken,
    Candidate,
    Draft,
    InfillRequest,
    InfillStats,
    Source,
    Span,
    StepObserver,
    Suggestion,
    SyntaxReport,
    Trigger,
    Verdict,
)


class Silence(Enum):
    """Why nothing is shown."""

    STOPPED = "cancelled, or time was up"
    BLANK = "nothing to insert"
    UNSURE = "not sure enough"
    BROKEN = "would break the syntax"


@dataclass(frozen=True)
class Outcome:
    """All that is known of one answer, shown or not.

    Attributes:
        text: the middle; where it is not shown, what was drafted.
        probability: of the draft's being right.
        verdict: the gate's, of `text`.
        silence: why it is not to be shown; None if it is.
        stats: cost of all backend calls.
        source: where in the project it is from, even if it was mended since; None: the model's own.
    """

    text: str
    probability: float
    verdict: Verdict
    silence: Silence | None
    stats: InfillStats
    source: Source | None = None


class Engine:
    """Answers requests from one backend. Belongs to one event loop.

    Attributes:
        recall: the project's memory, which is to be told what happens in the editor.
    """

    def __init__(self, backend: InfillBackend, settings: Settings, recall: Recall | None = None) -> None:
        self.recall = recall or Recall(MemorySettings(enabled=False))
        self._backend = backend
        self._settings = settings
        self._latest = LatestWins()

    @property
    def ready(self) -> bool:
        """True once the backend is loaded."""
        return self._backend.ready

    async def load(self, report: ReportProgress) -> None:
        """Get the backend ready; `report` may be called from any thread.

        Raises:
            InfillError: it cannot; the hint says what to do.
        """
        await self._backend.load(report)

    async def complete(
        self,
        snapshot: DocumentSnapshot,
        offset: int,
        trigger: Trigger,
        token: CancellationToken | None = None,
    ) -> list[Suggestion]:
        """What to show at a cursor, best first; often nothing.

        A newer request of the same kind for the same document ends an older one, which then answers nothing; so does
        the cancelling of the task that awaits this.

        Raises:
            InfillError: the backend failed.
        """
        if not self.ready:
            return []
        token = token or self._new_token(trigger)
        kind = "menu" if trigger is Trigger.MENU else "ghost text"  # an editor may ask for both at once
        self._latest.start(snapshot.uri, kind, token)
        try:
            outcome = await self.infill(snapshot, offset, token, least=self._least(trigger))
        finally:
            self._latest.finish(snapshot.uri, kind, token)
        if outcome.silence is not None:
            return []
        self.recall.shown(snapshot, from_project=outcome.source is not None)
        place, stats = Span(offset, offset), outcome.stats
        return [Suggestion(outcome.text, place, outcome.probability, outcome.verdict, stats, outcome.source)]

    async def infill(
        self,
        snapshot: DocumentSnapshot,
        offset: int,
        token: CancellationToken,
        on_step: StepObserver | None = None,
        *,
        least: float | None = None,
    ) -> Outcome:
        """Fill the middle at a cursor and judge it, whether or not it is to be shown.

        Work may stop as soon as the middle is less likely to be right than `least`; None: it goes on to the end, and
        the outcome says what an automatic request would show.

        Raises:
            InfillError: the backend failed or is not ready.
        """
        try:
            request = self._request(snapshot, offset, least or 0.0)
            return await self._infill(request, snapshot, offset, token, on_step)
        except asyncio.CancelledError:
            token.cancel()
            raise

    def forget(self, uri: str) -> None:
        """A document was closed."""
        self._latest.cancel(uri)
        self.recall.closed(uri)

    async def aclose(self) -> None:
        """End all requests, the memory and the backend."""
        self._latest.cancel_all()
        await asyncio.gather(self.recall.aclose(), self._backend.aclose())

    def _least(self, trigger: Trigger) -> float:
        """The least probability of what is shown; who asks by hand sees more."""
        least = LEAST_PROBABILITY[Eagerness(self._settings.completion.eagerness)]
        return min(least, LEAST_PROBABILITY[Eagerness.HIGH]) if trigger is Trigger.INVOKED else least

    def _new_token(self, trigger: Trigger) -> CancellationToken:
        settings = self._settings.completion
        invoked = trigger is Trigger.INVOKED
        return CancellationToken((settings.invoked_timeout_ms if invoked else settings.timeout_ms) / 1e3)

    def _request(self, snapshot: DocumentSnapshot, offset: int, least: float) -> InfillRequest:
        prefix, suffix = window(snapshot.text, offset, self._settings.context)
        shape = middle_shape(prefix, suffix, self._settings.completion.max_lines)
        return InfillRequest(prefix, suffix, snapshot.language_id, shape.max_lines, shape.min_indent, least)

    async def _infill(
        self,
        request: InfillRequest,
        snapshot: DocumentSnapshot,
        offset: int,
        token: CancellationToken,
        on_step: StepObserver | None,
    ) -> Outcome:
        proposals = await self.recall.drafts(snapshot, offset, Shape(request.max_lines, request.min_indent))
        request = replace(request, proposals=proposals)
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
            outcome = replace(best, stats=_sum(outcome.stats, mended.stats), source=outcome.source)
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
            return Outcome("", 0.0, report.verdict, Silence.STOPPED, InfillStats()), None, report
        response = await self._backend.infill(request, token, on_step)
        if token.cancelled() or not response.candidates:
            return Outcome("", 0.0, report.verdict, Silence.STOPPED, response.stats), None, report
        drafted = response.candidates[0]
        candidate = replace(drafted, text=apply_filters(drafted.text, request.prefix, request.suffix))
        silence = None
        if not candidate.text:
            silence = Silence.BLANK
        elif candidate.probability < (request.least or self._least(Trigger.AUTOMATIC)):
            silence = Silence.UNSURE
        if candidate.text:
            report = await asyncio.to_thread(_judge, snapshot, offset, candidate.text)
        if silence is None and report.verdict is Verdict.BROKEN:
            silence = Silence.BROKEN
        text = candidate.text or drafted.text
        source = _source(request, candidate)
        return Outcome(text, candidate.probability, report.verdict, silence, response.stats, source), candidate, report


def _judge(snapshot: DocumentSnapshot, offset: int, middle: str) -> SyntaxReport:
    return validate(snapshot.text, Span(offset, offset), middle, snapshot.language_id)


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
