"""What is measured of answers, each figure with a bootstrap interval. Pure.

Shapes: R resamples, N answers, K the surest of them.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from midspan_model.evaluation.holes import Hole
from midspan_model.evaluation.ways import Completion

_N_RESAMPLES = 2000
_SHARES_SHOWN = (0.10, 0.25, 0.50)
_SHARE_OF_FORWARDS = 0.25
_N_BINS = 10
_N_ERROR_RESAMPLES = 200

_Values = NDArray[np.float64]
_Indexes = NDArray[np.int64]


@dataclass(frozen=True)
class Answer:
    """One answer to a hole, judged.

    Attributes:
        hole: what was asked.
        completion: what was answered.
        parses: whether the file parses with it; None where that is not known.
        passed: whether the hole's check ran through; None where it was not run.
    """

    hole: Hole
    completion: Completion
    parses: bool | None = None
    passed: bool | None = None

    @property
    def exact(self) -> bool:
        """The same as what stood there, white space at the end aside."""
        return self.completion.middle.rstrip() == self.hole.middle.rstrip()

    @property
    def similarity(self) -> float:
        """Edit similarity, 0 to 1 (difflib's ratio)."""
        return difflib.SequenceMatcher(None, self.completion.middle, self.hole.middle, autojunk=False).ratio()

    @property
    def empty(self) -> bool:
        """Nothing but white space."""
        return not self.completion.middle.strip()


@dataclass(frozen=True)
class Estimate:
    """A figure and its 95 % bootstrap interval over the holes (percentile method)."""

    value: float
    low: float
    high: float


def summarise(answers: Sequence[Answer]) -> dict[str, Estimate | None]:
    """All figures of one way of answering; None where nothing is known."""
    answers = sorted(answers, key=lambda answer: -answer.completion.probability)
    exact = [answer.exact for answer in answers]
    completions = [answer.completion for answer in answers]
    n_forwards = [completion.n_forwards for completion in completions]
    n_tokens = [completion.n_tokens for completion in completions]
    n_shown = max(1, int(_SHARE_OF_FORWARDS * len(answers)))
    return {
        "exact": mean(exact),
        "similarity": mean([answer.similarity for answer in answers]),
        "parses": mean([answer.parses for answer in answers if answer.parses is not None]),
        "pass@1": mean([answer.passed for answer in answers if answer.passed is not None]),
        "empty": mean([answer.empty for answer in answers]),
        **{f"precision at {share:.0%}": precision(exact, share) for share in _SHARES_SHOWN},
        "calibration error": _error([completion.probability for completion in completions], exact),
        "forwards": mean(n_forwards),
        "tokens/forward": ratio(n_tokens, n_forwards),
        f"tokens/forward at {_SHARE_OF_FORWARDS:.0%}": ratio(n_tokens[:n_shown], n_forwards[:n_shown]),
        "median ms": median([completion.elapsed_ms for completion in completions]),
    }


def mean(values: Sequence[float]) -> Estimate | None:
    """The mean."""
    if not values:
        return None
    values_N = np.asarray(values, np.float64)
    return _estimate(values_N.mean(), values_N[_resamples(len(values))].mean(1))


def median(values: Sequence[float]) -> Estimate | None:
    """The median."""
    if not values:
        return None
    values_N = np.asarray(values, np.float64)
    return _estimate(np.median(values_N), np.median(values_N[_resamples(len(values))], axis=1))


def ratio(parts: Sequence[float], wholes: Sequence[float]) -> Estimate | None:
    """Sum of the parts by sum of the wholes; None if that is 0."""
    if not sum(wholes):
        return None
    parts_N, wholes_N = np.asarray(parts, np.float64), np.asarray(wholes, np.float64)
    index_RN = _resamples(len(parts))
    return _estimate(parts_N.sum() / wholes_N.sum(), parts_N[index_RN].sum(1) / wholes_N[index_RN].sum(1))


def precision(exact: Sequence[bool], share: float) -> Estimate | None:
    """Exact share of the surest part of the answers, which come with the surest first."""
    if not exact:
        return None
    exact_N = np.asarray(exact, np.float64)
    n_shown = max(1, int(share * len(exact)))
    surest_RK = np.sort(_resamples(len(exact)), axis=1)[:, :n_shown]
    return _estimate(exact_N[:n_shown].mean(), exact_N[surest_RK].mean(1))


@dataclass(frozen=True)
class Bin:
    """Answers of about the same probability.

    Attributes:
        said: their mean probability.
        found: the share of them that are exactly right.
        n: how many.
    """

    said: float
    found: float
    n: int


def reliability(probabilities: Sequence[float], right: Sequence[bool]) -> list[Bin]:
    """Bins of equal width that have an answer."""
    said_N, right_N = np.asarray(probabilities, np.float64), np.asarray(right, np.float64)
    bin_N = np.minimum((said_N * _N_BINS).astype(int), _N_BINS - 1)
    members = [bin_N == index for index in range(_N_BINS)]
    return [Bin(said_N[one].mean(), right_N[one].mean(), int(one.sum())) for one in members if one.any()]


def calibration_error(probabilities: Sequence[float], right: Sequence[bool]) -> float:
    """Expected calibration error (Naeini et al. 2015): mean distance of said and found, by answers."""
    return sum(abs(one.said - one.found) * one.n for one in reliability(probabilities, right)) / max(1, len(right))


def _error(probabilities: Sequence[float], right: Sequence[bool]) -> Estimate | None:
    """The calibration error; resampling adds to it, so that its interval lies rather high."""
    if not right:
        return None
    resampled = [
        calibration_error([probabilities[n] for n in index_N], [right[n] for n in index_N])
        for index_N in _resamples(len(right))[:_N_ERROR_RESAMPLES]
    ]
    return _estimate(calibration_error(probabilities, right), np.asarray(resampled))


def difference(ours: Sequence[Answer], theirs: Sequence[Answer]) -> Estimate | None:
    """Exact match of ours less theirs, resampled in pairs: both answered the same holes.

    Raises:
        ValueError: they did not.
    """
    if [answer.hole for answer in ours] != [answer.hole for answer in theirs]:
        raise ValueError("answers to different holes cannot be paired")
    return mean([float(our.exact) - float(their.exact) for our, their in zip(ours, theirs, strict=True)])


def _resamples(n: int) -> _Indexes:
    """index_RN, drawn with replacement; always the same for the same n."""
    return np.random.default_rng(0).integers(n, size=(_N_RESAMPLES, n))


def _estimate(value: float | np.floating, resampled_R: _Values) -> Estimate:
    low, high = np.quantile(resampled_R, (0.025, 0.975))
    return Estimate(float(value), float(low), float(high))
