"""Between the server's values and the model's, both ways, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from midspan_lsp.backends.worker import Worker
from midspan_lsp.types import CancellationToken, Candidate, InfillRequest, InfillStats, Span

if TYPE_CHECKING:
    from midspan_model.context_encoding import Cost
    from midspan_model.questions import Middle, Question


def question_of(request: InfillRequest) -> Question:
    """What the model is asked."""
    from midspan_model.growth import Draft  # noqa: PLC0415  (imports torch)
    from midspan_model.questions import Proposal, Question  # noqa: PLC0415

    draft = request.draft
    return Question(
        prefix=request.prefix,
        suffix=request.suffix,
        max_lines=request.max_lines,
        min_indent=request.min_indent,
        least=request.least,
        language_id=request.language_id,
        proposals=tuple(Proposal(one.text, one.score) for one in request.proposals),
        neighbour=request.neighbour,
        draft=draft and Draft(draft.token_ids, draft.confidences, draft.remask, draft.banned, draft.unfinished),
        n_candidates=request.n_candidates,
        ahead=request.ahead,
    )


def candidate_of(middle: Middle) -> Candidate:
    """What the model answered."""
    return Candidate(
        text=middle.text,
        probability=middle.probability,
        token_ids=middle.token_ids,
        token_spans=tuple(Span(start, end) for start, end in middle.spans),
        confidences=middle.confidences,
        finish_reason=middle.finish.value,
        proposal=middle.proposal,
    )


def stats_of(cost: Cost, elapsed_ms: float) -> InfillStats:
    """What it cost."""
    return InfillStats(cost.n_forwards, cost.n_encoded, cost.n_cached, elapsed_ms)


@dataclass(frozen=True)
class WhileIdle:
    """A stop signal for what nobody waits for: it is over as soon as somebody waits for something else."""

    token: CancellationToken
    worker: Worker

    def cancelled(self) -> bool:
        """As the token says, or because there is something better to do."""
        return self.token.cancelled() or self.worker.is_wanted

    def expired(self) -> bool:
        """As the token says."""
        return self.token.expired()
