"""What is measured of answers. Pure."""

from __future__ import annotations

import ast
import difflib
import random
from collections.abc import Sequence
from dataclasses import dataclass

from midspan_model.evaluation.holes import Hole

_N_RESAMPLES = 2000


@dataclass(frozen=True)
class Answer:
    """One answer to a hole.

    Attributes:
        hole: what was asked.
        middle: what was answered.
        confidence: for ranking.
        n_tokens: tokens of the middle.
        n_forwards: forwards it took.
        elapsed_ms: wall time.
    """

    hole: Hole
    middle: str
    confidence: float
    n_tokens: int
    n_forwards: int
    elapsed_ms: float

    @property
    def exact(self) -> bool:
        """The same as what stood there, white space at the end aside."""
        return self.middle.rstrip() == self.hole.middle.rstrip()

    @property
    def similarity(self) -> float:
        """Edit similarity, 0 to 1."""
        return difflib.SequenceMatcher(None, self.middle, self.hole.middle, autojunk=False).ratio()

    @property
    def parses(self) -> bool:
        """Whether the file is Python with the answer in it."""
        try:
            ast.parse(self.hole.prefix + self.middle + self.hole.suffix)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
        return True


def mean(values: Sequence[float]) -> float:
    """Mean; 0 of nothing."""
    return sum(values) / len(values) if values else 0.0


def interval(values: Sequence[float], seed: int = 0) -> tuple[float, float]:
    """95 % bootstrap interval of the mean (percentile method)."""
    choose = random.Random(seed)  # noqa: S311  (no secret)
    means = sorted(mean(choose.choices(values, k=len(values))) for _ in range(_N_RESAMPLES))
    return means[int(0.025 * _N_RESAMPLES)], means[int(0.975 * _N_RESAMPLES) - 1]


def precision_at(answers: Sequence[Answer], share: float) -> float:
    """Exact share of the surest part of the answers."""
    ranked = sorted(answers, key=lambda answer: -answer.confidence)
    return mean([answer.exact for answer in ranked[: max(1, int(share * len(ranked)))]])


def summarise(answers: Sequence[Answer]) -> dict[str, float | list[float]]:
    """All figures of one way of answering."""
    exact = [float(answer.exact) for answer in answers]
    n_forwards = sum(answer.n_forwards for answer in answers)
    return {
        "exact": mean(exact),
        "exact_interval": list(interval(exact)),
        "similarity": mean([answer.similarity for answer in answers]),
        "parses": mean([answer.parses for answer in answers]),
        "empty": mean([not answer.middle.strip() for answer in answers]),
        "precision_10": precision_at(answers, 0.10),
        "precision_25": precision_at(answers, 0.25),
        "precision_50": precision_at(answers, 0.50),
        "forwards": n_forwards / len(answers),
        "tokens_per_forward": sum(answer.n_tokens for answer in answers) / max(1, n_forwards),
        "median_ms": sorted(answer.elapsed_ms for answer in answers)[len(answers) // 2],
    }
