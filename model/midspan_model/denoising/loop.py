"""The one denoising loop.

Shapes: M masked slots, from left to right; W written slots; A all that are asked for; V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from midspan_model.denoising.block import Block, Finish
from midspan_model.denoising.choosing import Outlook, Policy

Forward = Callable[[list[int], list[int]], Tensor]
"""(tokens of the block, slots) -> logits_MV in float32, whose row m predicts the m-th of the slots.

A slot that is not masked is predicted by one who does not see its token, though all others do (WINO's shadow,
arXiv 2507.18578); such slots come last, and only policies that are `blind` ask for them.
"""

OnStep = Callable[[int, Block, frozenset[int]], None]
"""Called after each forward with their number, the block and the slots just committed."""


class StopSignal(Protocol):
    """Asked before each forward."""

    def cancelled(self) -> bool:
        """The answer is not wanted any more."""
        ...

    def expired(self) -> bool:
        """Time is up: the best so far is wanted."""
        ...


def denoise(
    forward: Forward, block: Block, policy: Policy, stop: StopSignal, on_step: OnStep | None = None
) -> tuple[Finish, int]:
    """Denoise a block in place until it has no mask left, it is too unsure, time is up, or nobody waits for it.

    When time is up after a forward, that forward's guesses fill the masks.

    Returns:
        why it ended, and the number of forwards.
    """
    n_forwards = 0
    guesses: tuple[list[int], list[int], list[float]] = ([], [], [])  # slots, tokens, confidences
    while slots := block.masked:
        if stop.cancelled() or stop.expired():
            block.commit(*guesses)
            return Finish.CANCELLED if stop.cancelled() else Finish.DEADLINE, n_forwards
        heal = block.unhealed
        written = block.written
        asked = [*slots, *written] if policy.blind else slots
        logits_AV = forward(block.visible, asked)
        n_forwards += 1
        block.constraints.apply(logits_AV, asked, block.banned, heal)
        logits_MV = logits_AV[: len(slots)]
        if logits_MV[0].isneginf().all():  # nothing that is allowed heals the cut
            return Finish.UNSURE, n_forwards
        probability_MV = logits_MV.softmax(-1)
        if block.is_bare and not heal:  # an empty middle is none; what it was worth stays in the sum
            probability_MV[0, block.constraints.ends_at_once(block.max_lines)] = 0
        confidence_M, token_M = probability_MV.max(-1)
        if heal and not block.constraints.is_longer(int(token_M[0]), heal):
            slots, confidence_M, token_M = slots[:1], confidence_M[:1], token_M[:1]  # the others begin elsewhere
            probability_MV = probability_MV[:1]
        guesses = (slots, token_M.tolist(), confidence_M.tolist())
        confidence_W = _confidence_of(block, written, logits_AV[len(logits_MV) :])
        commit_M, remask = policy(Outlook(slots, probability_MV, confidence_M, written, confidence_W))
        chosen = [guess for guess, commit in zip(zip(*guesses, strict=True), commit_M.tolist(), strict=True) if commit]
        block.mask_again(remask)
        block.commit(*zip(*chosen, strict=True))
        if on_step is not None:
            on_step(n_forwards, block, frozenset(slot for slot, _, _ in chosen))
        if block.confidence < block.floor:
            return Finish.UNSURE, n_forwards
    return block.finish, n_forwards


def _confidence_of(block: Block, written: list[int], blind_WV: Tensor) -> Tensor:
    """Of written tokens: as they are predicted now, if they were, else as they were committed."""
    if not len(blind_WV):
        return torch.tensor([block.confidences[slot] for slot in written], device=blind_WV.device)
    tokens = torch.tensor([block.tokens[slot] for slot in written], device=blind_WV.device)
    return blind_WV.softmax(-1).gather(1, tokens[:, None])[:, 0]
