"""The ways of answering that are compared, and what each costs."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from midspan_model.config import DenoiseConfig
from midspan_model.evaluation.holes import Hole
from midspan_model.evaluation.typewriter import NeverStop, type_lines
from midspan_model.infilling import Infiller, Question

CONTROL = "typing"
"""Name of the control."""
NEVER_SURE = 2.0
"""A threshold no confidence reaches: one token a forward, from left to right."""

_SHOWN_LENGTH = 4000
"""Code points on either side that are given; more than the context holds."""


@dataclass(frozen=True)
class Completion:
    """One answer and what it cost.

    Attributes:
        middle: its text.
        confidence: for ranking; no probability of being right.
        n_tokens: tokens of the text, 1 at least.
        n_forwards: forwards behind the encoding of the context.
        elapsed_ms: wall time, the encoding of the context included.
    """

    middle: str
    confidence: float
    n_tokens: int
    n_forwards: int
    elapsed_ms: float


Way = Callable[[Hole], Completion]
"""Answers a hole; of the hole it knows the texts around it and the shape wanted, not the middle."""


def ways_of(infiller: Infiller, thresholds: Sequence[float], *, control: bool, without_suffix: bool) -> dict[str, Way]:
    """The ways by name: the control, then denoising with each threshold, then the first of these without the suffix.

    The control alone is told how many lines the middle has: it cannot see where the text behind begins.
    """
    ways: dict[str, Way] = {}
    if control:
        ways[CONTROL] = lambda hole: _timed(
            infiller,
            lambda: type_lines(infiller, hole.prefix[-_SHOWN_LENGTH:], hole.middle.count("\n") + 1),
        )
    for threshold in thresholds:
        ways[threshold_name(threshold)] = _denoising(infiller, threshold, suffix=True)
    if without_suffix:
        ways["no suffix"] = _denoising(infiller, thresholds[0], suffix=False)
    return ways


def threshold_name(threshold: float) -> str:
    """Name of denoising with a threshold."""
    return "one at a time" if threshold > 1 else f"denoising {threshold:g}"


def _denoising(infiller: Infiller, threshold: float, *, suffix: bool) -> Way:
    config: DenoiseConfig = dataclasses.replace(infiller.config, threshold=threshold)
    ours = Infiller(infiller.trunk, infiller.denoiser, infiller.tokenizer, config)

    def fill(hole: Hole) -> tuple[str, float, int]:
        after = hole.suffix[:_SHOWN_LENGTH] if suffix else ""
        question = Question(hole.prefix[-_SHOWN_LENGTH:], after, hole.max_lines, hole.min_indent)
        middle = ours.infill(question, NeverStop())
        if middle is None:  # nobody stopped it: nothing that is allowed heals the cut before the cursor
            return "", 0.0, 1
        return middle.text, middle.confidence, middle.n_forwards

    return lambda hole: _timed(ours, lambda: fill(hole))


def _timed(infiller: Infiller, fill: Callable[[], tuple[str, float, int]]) -> Completion:
    """Answer with no context kept from an earlier hole, so that every way and every hole costs the same."""
    infiller.contexts.clear()
    began_s = time.perf_counter()
    middle, confidence, n_forwards = fill()
    elapsed_ms = 1e3 * (time.perf_counter() - began_s)
    n_tokens = max(1, len(infiller.tokenizer.encode(middle)))
    return Completion(middle, confidence, n_tokens, n_forwards, elapsed_ms)
