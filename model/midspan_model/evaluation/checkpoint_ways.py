"""The ways of answering of a published checkpoint: each of its ways to a length with each of several policies.

None of them uses the project's memory: what is measured is the model.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from midspan_model.config import DenoiseConfig
from midspan_model.context_encoding import Cost
from midspan_model.errors import ModelError
from midspan_model.evaluation.holes import Hole
from midspan_model.evaluation.typewriter import NeverStop
from midspan_model.evaluation.ways import Completion, Way, config_of, n_tokens, question_of
from midspan_model.families.infiller import FamilyInfiller, FamilyOptions
from midspan_model.families.opening import Checkpoint, open_checkpoint
from midspan_model.families.spec import Family, Length
from midspan_model.families.weights import best_placement

DEFAULT_POLICY = "threshold-0.9"
POLICIES = (DEFAULT_POLICY, "factor-1", "entropy-0", "entropy-0.35", "margin-0.9", "klass-0.9", "wino-0.7", "remdm-0.9")
"""Those that are compared unless others are named. `entropy-0` commits one token a forward, that of least entropy."""


@dataclass(frozen=True)
class CheckpointRun:
    """A published checkpoint, ready to be measured.

    Attributes:
        ways: by length and policy, the default way first.
        where: device and number type.
    """

    ways: dict[str, Way]
    where: str


def open_run(
    folder: Path, lengths: Sequence[str], policies: Sequence[str], device: str = "", weights: str = ""
) -> CheckpointRun:
    """Open a checkpoint with its ways.

    Args:
        folder: of the checkpoint.
        lengths: by the values of `Length`; none: all that it has.
        policies: with their numbers, as in `POLICIES`; none: those.
        device: see `best_placement`.
        weights: see `best_placement`.

    Raises:
        ModelError: the checkpoint cannot be opened, has no such way to a length, or there is no such policy.
    """
    checkpoint = open_checkpoint(folder, best_placement(device, weights))
    where = f"{checkpoint.placement} {checkpoint.placement.gpu}".rstrip()
    return CheckpointRun(checkpoint_ways(checkpoint, lengths, policies or POLICIES), where)


def lengths_of(family: Family) -> list[Length]:
    """The ways to a length that a family has, its own first."""
    if family.block is not None:
        return [Length.OPEN]
    found = [Length.FIXED, Length.SEARCHED, Length.DENSITY, *([Length.ELASTIC] if family.expand_id is not None else [])]
    return sorted(found, key=lambda length: length is not family.length)


def checkpoint_ways(checkpoint: Checkpoint, lengths: Sequence[str], policies: Sequence[str]) -> dict[str, Way]:
    """By names such as `searched threshold-0.9`.

    Raises:
        ModelError: the checkpoint has no such way to a length, or there is no such policy.
    """
    known = lengths_of(checkpoint.family)
    if unknown := set(lengths) - {length.value for length in known}:
        raise ModelError(
            f"{checkpoint.family.name} has no length that is {', '.join(sorted(unknown))}",
            hint=f"It has {', '.join(length.value for length in known)}.",
        )
    wanted = [length for length in known if not lengths or length.value in lengths]
    configs = {policy: config_of(policy, DenoiseConfig()) for policy in policies}
    return {
        f"{length.value} {policy}": _way(FamilyInfiller(checkpoint, config, FamilyOptions(length=length)))
        for length in wanted
        for policy, config in configs.items()
    }


def _way(infiller: FamilyInfiller) -> Way:
    def answer(hole: Hole) -> Completion:
        infiller.contexts.clear()  # no context is kept from an earlier hole: every way and every hole costs the same
        cost, began_s = Cost(), time.perf_counter()
        middle = infiller.infill(question_of(hole), NeverStop(), cost=cost)
        elapsed_ms = 1e3 * (time.perf_counter() - began_s)
        if middle is None:  # nobody stopped it: nothing that is allowed heals the cut before the cursor
            return Completion("", 0.0, {}, 1, max(1, cost.n_forwards), elapsed_ms)
        n = n_tokens(infiller.tokenizer, middle.text)
        return Completion(middle.text, middle.probability, middle.features, n, cost.n_forwards, elapsed_ms)

    return answer
