"""The middles that compete for one question, and which of them is the likeliest to be right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from midspan_model.calibration import BEHIND, Calibrator, Features, features_of_middle
from midspan_model.denoising.block import Finish
from midspan_model.growth import Growth
from midspan_model.questions import Proposal

_LEAST_SCORE, _MOST_SCORE = 0.01, 0.99
_LEAST_BEHIND = -4.0
WORTH_CHOOSING = 0.01
"""Who wants to choose is not offered a middle that is less likely to be right."""
WORTH_TYPING, WORTH_READING = 0.2, 0.05
"""A middle so much less likely than the best may still win by what stands behind it; typing it costs more."""


@dataclass
class Candidate:
    """One middle.

    Attributes:
        growth: its tokens, with the probabilities that typing gives them.
        finish: why it ends.
        is_typed: it is what the model types.
        proposal: which proposal it is, if it is one.
        behind: log probability of the text behind it, if it was read on from (`reading_on.py`).
    """

    growth: Growth
    finish: Finish
    is_typed: bool = False
    proposal: int | None = None
    behind: float | None = None

    @property
    def is_done(self) -> bool:
        """Whether it came to its end, and not to that of time or patience."""
        return self.finish in {Finish.END, Finish.LINE, Finish.LENGTH}


@dataclass
class Candidates:
    """All of one question.

    Attributes:
        place: features of the question's place.
        proposals: of the question.
        calibrator: says how likely each is; without one its confidence does.
    """

    place: Features
    proposals: Sequence[Proposal]
    calibrator: Calibrator | None
    found: list[Candidate] = field(default_factory=list[Candidate])

    def add(self, candidate: Candidate) -> None:
        """One more; if the same tokens are there already, both are one."""
        for other in self.found:
            if other.growth.token_ids == candidate.growth.token_ids:
                other.is_typed = other.is_typed or candidate.is_typed
                other.proposal = candidate.proposal if other.proposal is None else other.proposal
                return
        self.found.append(candidate)

    def best(self) -> Candidate | None:
        """The likeliest; one that came to its end before one that did not."""
        return max(self.found, key=lambda one: (one.is_done, self.probability(one)), default=None)

    def probability(self, candidate: Candidate) -> float:
        """Of being right."""
        calibrator = self.calibrator
        if calibrator is None:
            return candidate.growth.confidence
        if candidate.behind is not None and calibrator.read_on is not None:
            calibrator = calibrator.read_on
        return calibrator.probability(self.features(candidate))

    def ranked(self) -> list[Candidate]:
        """Those that came to their end, the likeliest first."""
        return sorted((one for one in self.found if one.is_done), key=self.probability, reverse=True)

    def open(self, least: float, sure: float) -> list[Candidate]:
        """Those between which the text behind may decide; none where that cannot change what is shown.

        Args:
            least: what is less likely is not shown.
            sure: what is as likely needs no further look.
        """
        ranked = self.ranked()
        if not ranked or self.calibrator is None or self.calibrator.read_on is None:
            return []
        best = self.probability(ranked[0])
        if not WORTH_TYPING * least <= best < sure:
            return []
        return [one for one in ranked if self.probability(one) >= WORTH_READING * best]

    def want_more(self, floor: float, sure: float) -> bool:
        """Whether a middle that is denoised may be likelier than the best so far, and still be wanted."""
        best = self.best()
        return best is not None and best.is_done and floor < best.growth.confidence < sure

    def features(self, candidate: Candidate) -> dict[str, float]:
        """What is known of a candidate, and of its rivals."""
        growth = candidate.growth
        origin = self._origin(candidate.proposal, is_typed=candidate.is_typed)
        sure = features_of_middle(growth.confidence, growth.confidences, is_typed=candidate.is_typed)
        return {**self.place, **sure, **origin, BEHIND: self._behind(candidate)}

    def least_confidence(self, probability: float) -> float:
        """A confidence below which nothing that is typed has this probability of being right."""
        if self.calibrator is None:
            return probability
        typed = {**self.place, **self._origin(None, is_typed=True)}
        return self.calibrator.least_confidence(probability, typed)

    def _behind(self, candidate: Candidate) -> float:
        if candidate.behind is None:
            return 0.0
        best = max(one.behind for one in self.found if one.behind is not None)
        return max(_LEAST_BEHIND, candidate.behind - best)

    def _origin(self, proposal: int | None, *, is_typed: bool) -> dict[str, float]:
        odds = [_odds(one.score) for one in self.proposals]
        rivals = [score for index, score in enumerate(odds) if index != proposal]
        return {
            "typed": float(is_typed),
            "proposed": float(proposal is not None),
            "proposed_odds": 0.0 if proposal is None else odds[proposal],
            "rival_odds": max(rivals, default=_odds(0)),
        }


def _odds(score: float) -> float:
    """Logarithm of the odds of a probability, bounded."""
    score = min(_MOST_SCORE, max(_LEAST_SCORE, score))
    return math.log(score / (1 - score))
