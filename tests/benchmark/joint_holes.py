"""Two holes of one text filled in one canvas: the masks of both stand in one block, what is between them is committed.

So a middle of several lines looks in training when a random part of it is masked: nothing here is new to the model but
that its masks stand far apart. How many there are it cannot tell by itself: that is given, as the length of a draft.

Shapes: T tokens of the block, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

import torch
from midspan_model.context_encoding import Cost, encode_context
from midspan_model.denoising import policies
from midspan_model.denoising.block import Block
from midspan_model.denoising.choosing import Committing
from midspan_model.denoising.loop import denoise
from midspan_model.infilling import Infiller
from midspan_model.questions import Question
from torch import Tensor


class Never:
    """Nobody stops it."""

    def cancelled(self) -> bool:
        return False

    def expired(self) -> bool:
        return False


def surest(confidence_M: Tensor, threshold: float) -> Tensor:
    """Commit the surest slot and all over the threshold, wherever they stand."""
    commit_M = confidence_M >= threshold
    commit_M[confidence_M.argmax()] = True
    return commit_M


class TwoHoles:
    """A text with two holes, each within a line.

    Args:
        infiller: the model.
        prefix: before the first hole.
        between: what stands between them.
        suffix: behind the second.

    Attributes:
        cost: of all fills so far.
    """

    def __init__(self, infiller: Infiller, prefix: str, between: str, suffix: str) -> None:
        self.cost = Cost()
        self._infiller, self._between = infiller, between
        self._canvas = infiller.canvas(Question(prefix, suffix))
        self._cache = infiller.contexts.take(self._canvas.prefix_ids)
        pieces = map(infiller.tokenizer.token_bytes, range(infiller.tokenizer.vocab_size))
        ends = {infiller.constraints.end_id}
        self._never = frozenset(ends.union(n for n, piece in enumerate(pieces) if b"\n" in piece))

    @torch.inference_mode()
    def fill(
        self, drafts: Sequence[str], policy: Callable[[Tensor, float], Tensor] = policies.threshold
    ) -> tuple[str, str] | None:
        """Both middles at once; None if what is known around them is not reproduced.

        Args:
            drafts: as many tokens as these have, each hole gets masks.
            policy: which slots a forward commits.
        """
        tokenizer, constraints, healed = self._infiller.tokenizer, self._infiller.constraints, self._canvas.healed
        head = healed + drafts[0].encode()
        begin = len(head) + len(self._between.encode())
        ids = tokenizer.encode((head + self._between.encode() + drafts[1].encode()).decode())
        ends = [0, *accumulate(len(tokenizer.token_bytes(token_id)) for token_id in ids)]
        n_first = next(n for n, end in enumerate(ends) if end >= len(head))
        second = max(n for n, end in enumerate(ends[:-1]) if end <= begin)
        lead = (head + self._between.encode())[ends[second] :]  # its first token may hold the space in front of it
        slots = [*range(n_first), *range(second, len(ids))]
        tokens = [self._canvas.prefix_ids[-1], *ids]
        banned = {slot + 1: self._never for slot in slots}
        if lead:
            others = (n for n in range(tokenizer.vocab_size) if not tokenizer.token_bytes(n).startswith(lead))
            banned[second + 1] = self._never.union(others)
        for slot in slots:
            tokens[slot + 1] = constraints.mask_id
        if not self._encode() or len(tokens) > self._cache.room:
            return None
        n_breaks = tokens.count(constraints.mask_id) + self._between.count("\n")
        block = Block(tokens, [1.0] * len(tokens), constraints, heal=healed, max_lines=n_breaks + 1, banned=banned)
        threshold = self._infiller.config.threshold
        denoise(self._forward, block, Committing(lambda seen: policy(seen.confidence_M, threshold)), Never())
        first, last = self._spell(block.tokens[1 : 1 + n_first]), self._spell(block.tokens[1 + second :])
        if block.masked or not first.startswith(healed) or not last.startswith(lead):
            return None
        return first[len(healed) :].decode("utf-8", "ignore"), last[len(lead) :].decode("utf-8", "ignore")

    def _forward(self, ids: list[int], slots: list[int]) -> Tensor:
        self.cost.n_forwards += 1
        denoiser = self._infiller.denoiser
        return denoiser.logits(denoiser.forward_block(ids, self._cache)[[slot - 1 for slot in slots]])

    def _encode(self) -> bool:
        prefix_ids, suffix_ids = self._canvas.prefix_ids[:-1], self._canvas.suffix_ids
        return encode_context(self._infiller.trunk, self._cache, prefix_ids, suffix_ids, 512, Never(), self.cost)

    def _spell(self, ids: Sequence[int]) -> bytes:
        return b"".join(self._infiller.tokenizer.token_bytes(token_id) for token_id in ids)
