"""What a bigger checkpoint answers: middles, and where another one may begin to differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from midspan_model.calibration import features_of_middle, features_of_place
from midspan_model.denoising.block import Finish
from midspan_model.ending import find_end
from midspan_model.growth import Draft, Growth
from midspan_model.questions import Middle, Question

_WHOLE = {Finish.END, Finish.LINE, Finish.LENGTH}


@dataclass(frozen=True)
class Grown:
    """A middle that has grown.

    Attributes:
        growth: its tokens.
        finish: why it ends.
        proposal: which proposal it is; None if it is the model's own.
        score: of the proposal.
    """

    growth: Growth
    finish: Finish
    proposal: int | None = None
    score: float = 0.0

    @property
    def probability(self) -> float:
        """The proposal's score, or the confidence of the least sure slot, the end included."""
        growth = self.growth
        if self.proposal is not None:
            return self.score
        if not growth.is_healed or not growth.token_ids:
            return 0.0
        return min([*growth.confidences, growth.end_confidence])

    @property
    def is_whole(self) -> bool:
        """Whether it came to its end and says something that stands behind the cursor."""
        return self.finish in _WHOLE and self.growth.is_healed and bool(self.growth.token_ids)


def other_ways(question: Question, best: Growth) -> Iterator[Draft]:
    """What is to be denoised for other middles: they leave the best where it was least sure, each at another slot."""
    ids, confidences = tuple(best.token_ids), tuple(best.confidences)
    text, spans = best.spell()
    until = len(_cut(question, text))
    with_text = [slot for slot, (start, end) in enumerate(spans) if start < min(end, until)]
    for slot in sorted(with_text, key=lambda slot: confidences[slot])[: question.n_candidates - 1]:
        behind = frozenset(range(slot, len(ids) + 1))
        yield Draft(ids, confidences, behind, {slot: frozenset({ids[slot]})})


def answer_of(question: Question, best: Grown, others: list[Grown], elapsed_ms: float) -> Middle:
    """The best, and what else was found that says something else, the likeliest first."""
    middle = _middle(question, best, elapsed_ms)
    ranked = sorted((one for one in others if one.is_whole), key=lambda one: one.probability, reverse=True)
    rivals = [_middle(question, one, elapsed_ms) for one in ranked]
    by_text = {one.text: one for one in reversed(rivals) if one.text and one.text != middle.text}
    return replace(middle, rivals=tuple(one for one in rivals if by_text.get(one.text) is one))


def _middle(question: Question, grown: Grown, elapsed_ms: float) -> Middle:
    growth = grown.growth
    text, spans = growth.spell()
    end = len(_cut(question, text))
    place = features_of_place(question.prefix, question.suffix, question.max_lines, question.language_id)
    return Middle(
        text=text[:end],
        confidence=growth.confidence,
        probability=grown.probability,
        features={**place, **features_of_middle(growth.confidence, growth.confidences, is_typed=False)},
        token_ids=tuple(growth.token_ids),
        spans=tuple((min(a, end), min(b, end)) for a, b in spans),
        confidences=tuple(growth.confidences),
        finish=grown.finish,
        proposal=grown.proposal,
        cost=growth.cost,
        elapsed_ms=elapsed_ms,
    )


def _cut(question: Question, text: str) -> str:
    return text[: find_end(text, question.max_lines, question.min_indent)]
