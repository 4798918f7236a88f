"""The loss and what is read off the same logits. Pure. Shapes: P slots with a loss, V vocabulary."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

_SURE = 0.9


def cross_entropy(logits_PV: Tensor, targets_P: Tensor, weights_P: Tensor) -> Tensor:
    """Weighted mean."""
    losses_P = F.cross_entropy(logits_PV.float(), targets_P, reduction="none")
    return (losses_P * weights_P).sum() / weights_P.sum()


@dataclass(frozen=True)
class Counts:
    """Sums over slots that hold a middle or its end; adding two gives the sums over both.

    Attributes:
        loss: weighted, of all slots.
        weight: of all slots.
        slots: with full weight.
        right: those whose best guess is right.
        sure: those whose best guess has a probability of 0.9 or more.
        sure_right: those of them that are right.
        first: the leftmost masked slots of samples of which nothing is known.
        first_right: those that are right.
        typed: of causal samples, slots whose left side is known.
        typed_right: those that are right.
        ahead: of causal samples, slots with one mask to their left.
        ahead_right: those that are right.
    """

    loss: float = 0.0
    weight: float = 0.0
    slots: int = 0
    right: int = 0
    sure: int = 0
    sure_right: int = 0
    first: int = 0
    first_right: int = 0
    typed: int = 0
    typed_right: int = 0
    ahead: int = 0
    ahead_right: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))

    def rates(self) -> dict[str, float]:
        """Mean loss and shares, by the names of the log's columns."""
        return {
            "heldout_loss": self.loss / max(self.weight, 1e-9),
            "heldout_right": self.right / max(self.slots, 1),
            "heldout_first_right": self.first_right / max(self.first, 1),
            "heldout_typed_right": self.typed_right / max(self.typed, 1),
            "heldout_ahead_right": self.ahead_right / max(self.ahead, 1),
            "heldout_sure": self.sure / max(self.slots, 1),
            "heldout_sure_right": self.sure_right / max(self.sure, 1),
        }


def count(
    logits_PV: Tensor, targets_P: Tensor, weights_P: Tensor, first_P: Tensor, typed_P: Tensor, ahead_P: Tensor
) -> Counts:
    """Loss and hits; the last three say which slots are of the kinds that `Counts` tells apart."""
    probability_P, guess_P = logits_PV.float().softmax(-1).max(-1)
    whole_P = weights_P == 1
    right_P, sure_P = (guess_P == targets_P) & whole_P, (probability_P >= _SURE) & whole_P
    sums = [whole_P, right_P, sure_P, right_P & sure_P]
    for kind_P in (first_P & whole_P, typed_P & whole_P, ahead_P & whole_P):
        sums += [kind_P, right_P & kind_P]
    weight = float(weights_P.sum())
    with torch.no_grad():
        loss = float(cross_entropy(logits_PV, targets_P, weights_P)) * weight
    return Counts(loss, weight, *(int(mask.sum()) for mask in sums))
