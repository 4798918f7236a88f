"""The ways of answering that are compared, and what each costs."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from midspan_model.calibration import Features
from midspan_model.config import DenoiseConfig
from midspan_model.errors import ModelError
from midspan_model.evaluation.contexts import ContextStore
from midspan_model.evaluation.holes import Hole
from midspan_model.evaluation.typewriter import NeverStop, type_lines
from midspan_model.infilling import Infiller
from midspan_model.questions import Question

CONTROL = "control"
"""The trunk typing, blind to the suffix."""
MIDSPAN = "midspan"
"""What a user gets."""
NO_SUFFIX = "no-suffix"
"""The same, with nothing shown of the text behind."""
_CHANGES: dict[str, dict[str, Any]] = {
    MIDSPAN: {},
    NO_SUFFIX: {},
    "typed": {"denoising": False},
    "one-at-a-time": {"denoising": False, "look_ahead": 0},
}
_AHEAD, _DENOISING = re.compile(r"ahead-(\d+)"), re.compile(r"denoising-(\d*\.?\d+)")
WAY_NAMES = f"{', '.join((CONTROL, *_CHANGES))}, ahead-N (typed with N masks), denoising-T (alone, with this threshold)"
"""For people."""

_SHOWN_LENGTH = 4000
"""Code points on either side that are given; more than the context holds."""


@dataclass(frozen=True)
class Completion:
    """One answer and what it cost.

    Attributes:
        middle: its text.
        probability: of being right; where nothing is calibrated, a confidence that only ranks.
        features: what a calibrator goes by; none for the control.
        n_tokens: tokens of the text, 1 at least.
        n_forwards: forwards behind the encoding of the context.
        elapsed_ms: wall time, the encoding of the context included unless that was stored.
    """

    middle: str
    probability: float
    features: Features
    n_tokens: int
    n_forwards: int
    elapsed_ms: float


Way = Callable[[Hole], Completion]
"""Answers a hole; of the hole it knows the texts around it and the shape wanted, not the middle."""


def ways_of(infiller: Infiller, names: Sequence[str], contexts: ContextStore | None = None) -> dict[str, Way]:
    """The ways by name.

    The control alone is told how many lines the middle has: it cannot see where the text behind begins.

    Args:
        infiller: whose models answer.
        names: see `WAY_NAMES`.
        contexts: encoded once and read again, so that only what is behind that costs time.

    Raises:
        ModelError: there is no way of such a name.
    """
    return {name: _way(infiller, name, contexts) for name in names}


def config_of(name: str, default: DenoiseConfig) -> DenoiseConfig:
    """What a way other than the control changes.

    Raises:
        ModelError: there is no way of such a name.
    """
    if name in _CHANGES:
        return replace(default, **_CHANGES[name])
    if found := _AHEAD.fullmatch(name):
        return replace(default, denoising=False, look_ahead=int(found[1]))
    if found := _DENOISING.fullmatch(name):
        return replace(default, typing=False, threshold=float(found[1]))
    raise ModelError(f"no way is called {name}", hint=f"There are: {WAY_NAMES}.")


def _way(infiller: Infiller, name: str, contexts: ContextStore | None) -> Way:
    config = infiller.config if name == CONTROL else config_of(name, infiller.config)
    ours = Infiller(infiller.trunk, infiller.denoiser, infiller.tokenizer, config, infiller.calibrator)

    def control(hole: Hole) -> tuple[str, float, Features, int]:
        text, confidence, n_forwards = type_lines(ours, hole.prefix[-_SHOWN_LENGTH:], hole.middle.count("\n") + 1)
        return text, confidence, {}, n_forwards

    def fill(hole: Hole) -> tuple[str, float, Features, int]:
        middle = ours.infill(_question(hole, name), NeverStop())
        if middle is None:  # nobody stopped it: nothing that is allowed heals the cut before the cursor
            return "", 0.0, {}, 1
        return middle.text, middle.probability, middle.features, middle.cost.n_forwards

    def answer(hole: Hole) -> Completion:
        # no context is kept from an earlier hole, so that every way and every hole costs the same
        ours.contexts.clear()
        if contexts is not None:
            shown = _question(hole, name)
            contexts.put_into(ours, shown.prefix, shown.suffix)
        began_s = time.perf_counter()
        middle, probability, features, n_forwards = control(hole) if name == CONTROL else fill(hole)
        elapsed_ms = 1e3 * (time.perf_counter() - began_s)
        n_tokens = max(1, len(ours.tokenizer.encode(middle)))
        return Completion(middle, probability, features, n_tokens, n_forwards, elapsed_ms)

    return answer


def _question(hole: Hole, name: str) -> Question:
    suffix = "" if name in {CONTROL, NO_SUFFIX} else hole.suffix[:_SHOWN_LENGTH]
    return Question(hole.prefix[-_SHOWN_LENGTH:], suffix, hole.max_lines, hole.min_indent, language_id=hole.language_id)
