"""The ways of answering that are compared, and what each costs."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from midspan_model.calibration import Features
from midspan_model.config import DenoiseConfig
from midspan_model.errors import ModelError
from midspan_model.evaluation.contexts import ContextStore
from midspan_model.evaluation.holes import Hole
from midspan_model.evaluation.typewriter import NeverStop, type_lines
from midspan_model.infilling import Infiller
from midspan_model.questions import Proposal, Question, Recalled
from midspan_model.tokenizer import Tokenizer

CONTROL = "control"
"""The trunk typing, blind to the suffix."""
MIDSPAN = "midspan"
"""What a user gets."""
NO_SUFFIX = "no-suffix"
"""Without the project's memory, and with nothing shown of the text behind."""
BLIND = "blind"
"""What a user gets, with nothing shown to the model of the text behind."""
COPY = "copy"
"""The best of what the project's memory proposes, and no model."""
ALONE = "alone"
"""Without the project's memory."""
CANDIDATES = "candidates"
"""What a user gets, but that all proposals are read and typing goes on to its end: for fitting the calibrator."""
UNGUESSED = "unguessed"
"""What a user gets, without guesses of how typing goes on: the same middles, in more forwards."""
_CHANGES: dict[str, dict[str, Any]] = {
    MIDSPAN: {},
    ALONE: {},
    CANDIDATES: {"exhaustive": True},
    NO_SUFFIX: {},
    BLIND: {},
    "denoised-too": {"denoising": True},
    "one-at-a-time": {"look_ahead": 0},
    UNGUESSED: {"guessed_tokens": 0},
}
_WITHOUT_PROJECT = frozenset({ALONE, NO_SUFFIX, "one-at-a-time"})
_AHEAD, _DENOISING = re.compile(r"ahead-(\d+)"), re.compile(r"(?:denoising|threshold)-(\d*\.?\d+)")
_LEAST = re.compile(r"least-(0?\.\d+)")
_POLICY = re.compile(r"(factor|entropy|margin|klass|wino|remdm)-(\d*\.?\d+)")
_BOUNDED = frozenset({"factor", "entropy", "wino"})
WAY_NAMES = (
    f"{', '.join((CONTROL, COPY, *_CHANGES))}, least-P (as midspan, but silent below this probability), "
    "ahead-N (typed with N masks), denoising-T (alone, with this threshold), and alone, by another policy with this "
    "number, factor-N, entropy-N, margin-N, klass-N, wino-N, remdm-N"
)
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
        n_tokens: tokens of the text, 1 at least; 0 for silence.
        n_forwards: forwards behind the encoding of the context.
        elapsed_ms: wall time, the encoding of the context included unless that was stored.
        others: text and features of the candidates that were less likely.
    """

    middle: str
    probability: float
    features: Features
    n_tokens: int
    n_forwards: int
    elapsed_ms: float
    others: tuple[tuple[str, Features], ...] = ()


Propose = Callable[[Hole], Recalled]
"""What stands elsewhere for a hole."""

Retrieve = Callable[[Path | None, Hole], Recalled]
"""The same, given the project's folder; None for a hole of no project."""

Way = Callable[[Hole], Completion]
"""Answers a hole; of the hole it knows the texts around it and the shape wanted, not the middle."""


def ways_of(
    infiller: Infiller, names: Sequence[str], contexts: ContextStore | None = None, propose: Propose | None = None
) -> dict[str, Way]:
    """The ways by name.

    The control alone is told how many lines the middle has: it cannot see where the text behind begins.

    Args:
        infiller: whose models answer.
        names: see `WAY_NAMES`.
        contexts: encoded once and read again, so that only what is behind that costs time.
        propose: asked by the ways that use the project.

    Raises:
        ModelError: there is no way of such a name.
    """
    ways: dict[str, Way] = {}
    for name in names:
        alone = name in _WITHOUT_PROJECT or any(way.fullmatch(name) for way in (_AHEAD, _DENOISING, _POLICY))
        ways[name] = _copying(propose) if name == COPY else _way(infiller, name, contexts, None if alone else propose)
    return ways


def config_of(name: str, default: DenoiseConfig) -> DenoiseConfig:
    """What a way other than the control changes; `threshold-T` is another name of `denoising-T`.

    Raises:
        ModelError: there is no way of such a name.
    """
    if name in _CHANGES or _LEAST.fullmatch(name):
        return replace(default, **_CHANGES.get(name, {}))
    if found := _AHEAD.fullmatch(name):
        return replace(default, look_ahead=int(found[1]))
    if found := _DENOISING.fullmatch(name):
        return replace(default, typing=False, threshold=float(found[1]))
    if found := _POLICY.fullmatch(name):
        changed = replace(default, typing=False, policy=found[1])
        number = float(found[2])
        return replace(changed, policy_bound=number) if found[1] in _BOUNDED else replace(changed, threshold=number)
    raise ModelError(f"no way is called {name}", hint=f"There are: {WAY_NAMES}.")


def _copying(propose: Propose | None) -> Way:
    def answer(hole: Hole) -> Completion:
        began_s = time.perf_counter()
        best = next(iter(propose(hole).proposals), Proposal("")) if propose else Proposal("")
        return Completion(
            best.text, best.score, {}, max(1, len(best.text) // 3), 0, 1e3 * (time.perf_counter() - began_s)
        )

    return answer


def _way(infiller: Infiller, name: str, contexts: ContextStore | None, propose: Propose | None) -> Way:
    config = infiller.config if name == CONTROL else config_of(name, infiller.config)
    ours = Infiller(infiller.trunk, infiller.denoiser, infiller.tokenizer, config, infiller.calibrator)

    def control(question: Question, n_lines: int) -> Completion:
        text, confidence, n_forwards = type_lines(ours, question.prefix, n_lines)
        return Completion(text, confidence, {}, n_tokens(ours.tokenizer, text), n_forwards, 0)

    def fill(question: Question) -> Completion:
        middle = ours.infill(question, NeverStop())
        if middle is None:  # nobody stopped it: nothing that is allowed heals the cut before the cursor
            return Completion("", 0.0, {}, 1, 1, 0)
        n_forwards = middle.cost.n_forwards
        if middle.probability < question.least:
            return Completion("", middle.probability, middle.features, 0, n_forwards, 0)
        n = n_tokens(ours.tokenizer, middle.text)
        return Completion(middle.text, middle.probability, middle.features, n, n_forwards, 0, middle.others)

    def answer(hole: Hole) -> Completion:
        # no context is kept from an earlier hole, so that every way and every hole costs the same
        ours.contexts.clear()
        began_s = time.perf_counter()
        recalled = propose(hole) if propose and name != CONTROL else Recalled()
        recall_s = time.perf_counter() - began_s
        question = replace(
            question_of(hole, name),
            proposals=recalled.proposals,
            neighbour=recalled.neighbour,
            ahead=recalled.ahead,
        )
        if contexts is not None:
            contexts.put_into(ours, question)
        began_s = time.perf_counter()
        completion = control(question, hole.middle.count("\n") + 1) if name == CONTROL else fill(question)
        return replace(completion, elapsed_ms=1e3 * (time.perf_counter() - began_s + recall_s))

    return answer


def n_tokens(tokenizer: Tokenizer, text: str) -> int:
    """Tokens of a text, 1 at least."""
    return max(1, len(tokenizer.encode(text)))


def question_of(hole: Hole, name: str = ALONE) -> Question:
    """What a way is asked."""
    suffix = "" if name in {CONTROL, NO_SUFFIX, BLIND} else hole.suffix[:_SHOWN_LENGTH]
    found = _LEAST.fullmatch(name)
    return Question(
        hole.prefix[-_SHOWN_LENGTH:],
        suffix,
        hole.max_lines,
        hole.min_indent,
        least=float(found[1]) if found else 0.0,
        language_id=hole.language_id,
    )
