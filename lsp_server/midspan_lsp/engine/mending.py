"""Mending a middle that the gate refuses: others that are there already, masking again in rounds, a shorter one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from midspan_lsp.engine.judging import Judge, Judged
from midspan_lsp.engine.outcome import Mended
from midspan_lsp.syntax.repair import MOST_ROUNDS, cut_to, next_draft, shorten
from midspan_lsp.types import (
    CancellationToken,
    Candidate,
    Draft,
    InfillRequest,
    InfillResponse,
    InfillStats,
    SyntaxReport,
    Verdict,
)

_WHOLE = frozenset({"end", "line", "length"})
"""Finish reasons of middles that came to their end. Of others nobody knows how likely they are."""

_LEAST_LEFT = 0.1

Ask = Callable[[InfillRequest], Awaitable[InfillResponse]]
"""Asks the backend for this cursor."""


@dataclass(frozen=True)
class Mending:
    """What came of it.

    Attributes:
        best: the best valid middle; None if there is none.
        how: where it is from.
        n_rounds: of masking again.
        stats: what they cost.
    """

    best: Judged | None = None
    how: Mended | None = None
    n_rounds: int = 0
    stats: InfillStats = field(default_factory=InfillStats)


class Refuted:
    """How likely that was which the gate has refused. It is not right, so all else is the likelier for it.

    Args:
        first: the likeliest of it: what comes after it is not believed more than it was.
    """

    def __init__(self, first: Judged) -> None:
        self._most = first.candidate.probability
        self._by_text = {first.text: self._most}

    @property
    def left(self) -> float:
        """Probability of all that was not refused."""
        return max(_LEAST_LEFT, 1 - sum(self._by_text.values()))

    def add(self, judged: Judged) -> None:
        """One more was judged."""
        if judged.report.verdict is Verdict.BROKEN:
            self._by_text[judged.text] = judged.candidate.probability

    def believed(self, judged: Judged) -> Judged:
        """The same, as likely as it is now."""
        before = judged.candidate.probability
        now = min(before / self.left, max(before, self._most))
        return replace(judged, candidate=replace(judged.candidate, probability=now))


class Mender:
    """Mends middles of one cursor. What the gate has no opinion of is never taken for mended.

    Args:
        judge: of the cursor.
        ask: the backend; None if it cannot mask again.
    """

    def __init__(self, judge: Judge, ask: Ask | None) -> None:
        self._judge, self._ask = judge, ask

    async def mend(
        self, broken: Judged, rivals: Sequence[Candidate], request: InfillRequest, token: CancellationToken
    ) -> Mending:
        """The best valid middle instead of one that is broken, until time is up or nobody waits.

        First comes what costs no forward: the likeliest valid of the rivals. Then the fault is masked again, and only
        if nothing whole is likely enough, the middle is cut.

        Args:
            broken: the middle.
            rivals: what else the backend has found, best first.
            request: to which both are the answer; what is less likely than its `least` is not to be shown.
            token: of the request.

        Raises:
            InfillError: the backend failed.
        """
        refuted = Refuted(broken)
        rival = await self._first_valid(rivals, refuted)
        if rival is not None and rival.candidate.probability >= request.least:
            return Mending(rival, Mended.RIVAL)
        whole = await self._mask_again(broken, refuted, request, token)
        if rival is not None and (whole.best is None or _rank(rival) > _rank(whole.best)):
            whole = replace(whole, best=rival, how=Mended.RIVAL)
        if token.cancelled() or (whole.best is not None and whole.best.candidate.probability >= request.least):
            return whole
        return await self._cut(broken, whole, refuted, request, token)

    async def _cut(
        self, broken: Judged, whole: Mending, refuted: Refuted, request: InfillRequest, token: CancellationToken
    ) -> Mending:
        """What was found so far, or the middle's longest valid beginning if that is likelier.

        How likely a beginning is the backend tells: it is given back to it with nothing masked.
        """
        text = await asyncio.to_thread(shorten, broken.candidate, self._judge.is_valid)
        if not text:
            return whole
        shorter = cut_to(broken.candidate, text)
        if self._ask is not None and shorter.token_ids and not (token.expired() or token.cancelled()):
            draft = Draft(shorter.token_ids, shorter.confidences, frozenset())
            response = await self._ask(replace(request, draft=draft, least=0.0, n_candidates=1))
            whole = replace(whole, stats=whole.stats + response.stats)
            for told in response.candidates[:1]:
                if told.token_ids == shorter.token_ids:
                    shorter = replace(shorter, probability=told.probability)
        judged = refuted.believed(Judged(shorter, SyntaxReport(Verdict.VALID)))
        if whole.best is not None and _rank(whole.best) >= _rank(judged):
            return whole
        return replace(whole, best=judged, how=Mended.SHORTER)

    async def _first_valid(self, rivals: Sequence[Candidate], refuted: Refuted) -> Judged | None:
        for rival in rivals:
            judged = await self._judge.judge(rival)
            if judged.is_valid:
                return refuted.believed(judged)
            refuted.add(judged)
        return None

    async def _mask_again(
        self, broken: Judged, refuted: Refuted, request: InfillRequest, token: CancellationToken
    ) -> Mending:
        """Rounds until a middle is valid, too unsure, or nothing more can be done."""
        done, current, draft = Mending(), broken, None
        while self._ask is not None and done.n_rounds < MOST_ROUNDS and not (token.expired() or token.cancelled()):
            n_round = done.n_rounds + 1
            draft = next_draft(current.report.error_spans, current.candidate, draft, n_round)
            if draft is None:
                break
            asked = replace(request, draft=draft, least=request.least * refuted.left, n_candidates=1)
            response = await self._ask(asked)
            done = replace(done, n_rounds=n_round, stats=done.stats + response.stats)
            if not response.candidates:
                break
            current = await self._judge.judge(response.candidates[0])
            is_whole = current.candidate.finish_reason in _WHOLE
            if current.is_valid and is_whole:
                return replace(done, best=refuted.believed(current), how=Mended.REMASKED)
            if current.report.verdict is not Verdict.BROKEN or not is_whole:
                break
            refuted.add(current)
        return done


def _rank(judged: Judged) -> tuple[float, int]:
    """The most probable, then the longest."""
    return judged.candidate.probability, len(judged.text)
