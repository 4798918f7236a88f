"""Unmasking policies as the loop asks them: with what they remember from forward to forward.

Shapes: as in `policies.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

import torch
from torch import Tensor

from midspan_model.config import DenoiseConfig
from midspan_model.denoising import policies

Choice = tuple[Tensor, Sequence[int]]
"""commit_M, bool, never all false; and which of the written slots to mask again."""


@dataclass(frozen=True)
class Outlook:
    """What a policy sees of one forward.

    Attributes:
        slots: the masked ones.
        probability_MV: of their tokens.
        confidence_M: of their best tokens.
        written: slots committed earlier in this run that may be masked again.
        confidence_W: of theirs, predicted without seeing them if the policy is `blind`, else as they were committed.
    """

    slots: Sequence[int]
    probability_MV: Tensor
    confidence_M: Tensor
    written: Sequence[int]
    confidence_W: Tensor


class Policy(Protocol):
    """Chooses after each forward; made anew for each block."""

    @property
    def blind(self) -> bool:
        """Whether written slots are to be predicted once more, without seeing them."""
        ...

    def __call__(self, outlook: Outlook) -> Choice:
        """What to commit and what to mask again."""
        ...


class PolicyName(StrEnum):
    """The policies that a setting can choose."""

    THRESHOLD = "threshold"
    FACTOR = "factor"
    ENTROPY = "entropy"
    MARGIN = "margin"
    KLASS = "klass"
    WINO = "wino"
    REMDM = "remdm"


@dataclass(frozen=True)
class Committing:
    """A policy that remembers nothing and masks nothing again."""

    choose: Callable[[Outlook], Tensor]
    blind: bool = False

    def __call__(self, outlook: Outlook) -> Choice:
        """What to commit."""
        return self.choose(outlook), ()


@dataclass
class Klass:
    """KLASS: what is sure and did not change over the last forwards.

    Attributes:
        threshold: least confidence.
        bound: of a divergence, in nats; its authors' for LLaDA on code (`families/spec.py` has the others').
        n_forwards: over which a slot has to be stable; theirs too.
    """

    threshold: float
    bound: float = 0.01
    n_forwards: int = 2
    blind: bool = False
    _earlier: dict[int, Tensor] = field(default_factory=dict[int, Tensor])
    _history: dict[int, list[float]] = field(default_factory=dict[int, list[float]])

    def __call__(self, outlook: Outlook) -> Choice:
        """What to commit."""
        rows = dict(zip(outlook.slots, outlook.probability_MV, strict=True))
        for slot, probability_V in rows.items():
            if slot in self._earlier:
                changed = float(policies.divergence(probability_V[None], self._earlier[slot][None]))
                self._history.setdefault(slot, []).append(changed)
        self._earlier = rows
        divergence_MH = torch.full((len(rows), self.n_forwards), torch.inf)
        for row, slot in enumerate(outlook.slots):
            recent = self._history.get(slot, [])[-self.n_forwards :]
            divergence_MH[row, : len(recent)] = torch.tensor(recent)
        confidence_M = outlook.confidence_M
        return policies.klass(confidence_M, divergence_MH.to(confidence_M.device), self.threshold, self.bound), ()


@dataclass
class Wino:
    """WINO: draft wide, and in the next forward verify what was written.

    Attributes:
        threshold: of the draft.
        doubt: of the verification.
    """

    threshold: float = 0.7
    doubt: float = 0.9
    blind: bool = True
    _n_last: int = 0

    def __call__(self, outlook: Outlook) -> Choice:
        """What to commit and what to mask again."""
        commit_M = policies.draft_wide(outlook.confidence_M, self.threshold)
        n_committed = int(commit_M.sum())
        remask = list[int]()
        if n_committed > 1 and outlook.written:  # a step that gets on by one slot must not go back
            remask_W = policies.verify(outlook.confidence_W, self.doubt, self._n_last - 1)
            remask = [slot for slot, again in zip(outlook.written, remask_W.tolist(), strict=True) if again]
        self._n_last = n_committed
        return commit_M, remask


@dataclass
class Remdm:
    """ReMDM in its loop form: the surest slots are committed, and for some forwards written ones are masked again.

    Attributes:
        threshold: of what is committed.
        eta: cap of the chance to be masked again.
        n_forwards: after so many nothing is masked again, so that it comes to an end.
        seed: of the draws.
    """

    threshold: float
    eta: float = 0.1
    n_forwards: int = 16
    seed: int = 0
    blind: bool = False
    _n_done: int = 0

    def __call__(self, outlook: Outlook) -> Choice:
        """What to commit and what to mask again."""
        commit_M = policies.confident(outlook.confidence_M, self.threshold)
        n_all = len(outlook.slots) + len(outlook.written)
        self._n_done += 1
        if not outlook.written or self._n_done > self.n_forwards:
            return commit_M, ()
        alpha_t = len(outlook.written) / n_all
        alpha_s = (len(outlook.written) + int(commit_M.sum())) / n_all
        chance_W = policies.remask_chances(outlook.confidence_W, policies.remask_rate(alpha_t, alpha_s, self.eta))
        draws = torch.rand(len(chance_W), generator=torch.Generator().manual_seed(self.seed + self._n_done))
        again_W = draws < chance_W.cpu()
        return commit_M, [slot for slot, again in zip(outlook.written, again_W.tolist(), strict=True) if again]


def policy_for(config: DenoiseConfig, *, leftmost: bool) -> Policy:
    """The policy that a configuration names."""
    return policy_of(config.policy, config.threshold, leftmost=leftmost, bound=config.policy_bound)


def policy_of(name: str, threshold: float, *, leftmost: bool, bound: float | None = None) -> Policy:
    """A policy by its name.

    Args:
        name: of `PolicyName`.
        threshold: least confidence, or lead.
        leftmost: where no slot is sure, take the leftmost and not the best.
        bound: instead of it, of those that have another number: the factor, the entropies in nats, WINO's low threshold
            for drafts; besides it KLASS's divergence in nats; None: the papers'.

    Raises:
        ValueError: there is no such policy.
    """
    match PolicyName(name):
        case PolicyName.THRESHOLD:
            choose = policies.threshold if leftmost else policies.confident
            return Committing(lambda outlook: choose(outlook.confidence_M, threshold))
        case PolicyName.FACTOR:
            factor = 1.0 if bound is None else bound
            return Committing(lambda outlook: policies.factor(outlook.confidence_M, factor))
        case PolicyName.ENTROPY:
            nats = _ENTROPY_BOUND if bound is None else bound
            return Committing(lambda outlook: policies.entropy_bounded(outlook.probability_MV, nats))
        case PolicyName.MARGIN:
            return Committing(lambda outlook: policies.margin(outlook.probability_MV, threshold))
        case PolicyName.KLASS:
            return Klass(threshold) if bound is None else Klass(threshold, bound)
        case PolicyName.WINO:
            return Wino() if bound is None else Wino(bound)
        case PolicyName.REMDM:
            return Remdm(threshold)


_ENTROPY_BOUND = 0.35
"""Nats; SDAR's choice."""
