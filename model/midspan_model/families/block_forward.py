"""Forwards where attention is causal from block to block: what stands before the block is encoded once, exactly.

Shapes: A slots asked for, T tokens of a call, C width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from midspan_model.context_encoding import Cost
from midspan_model.denoising.loop import StopSignal
from midspan_model.families.opening import Checkpoint
from midspan_model.families.sheet import Kept, Sheet, block_causal
from midspan_model.kv_cache import common_length


class EncodedContext:
    """Keys and values of whole blocks from the first token on; they do not change with what follows."""

    def __init__(self, n_places: int) -> None:
        self.kept = Kept(n_places)
        self.token_ids: list[int] = []


class ContextShelf:
    """The encoded contexts of the last few documents.

    Args:
        n_places: room of each.
        size: so many at most; the least recently used one is used again.
    """

    def __init__(self, n_places: int, size: int) -> None:
        self.n_places, self._size = n_places, size
        self._contexts: list[EncodedContext] = []

    def clear(self) -> None:
        """Forget them all."""
        self._contexts.clear()

    def take(self, token_ids: Sequence[int]) -> EncodedContext:
        """The one that has most in common with a context, unless most of it belongs to another document."""
        best = max(self._contexts, key=lambda one: common_length(one.token_ids, token_ids), default=None)
        if best is None or 2 * common_length(best.token_ids, token_ids) < len(best.token_ids):
            is_full = len(self._contexts) >= self._size
            best = self._contexts[0] if is_full else EncodedContext(self.n_places)
        self._contexts = [*(one for one in self._contexts if one is not best), best]
        return best


class BlockForward:
    """One block behind its context; called as the denoising loop calls a forward.

    Args:
        checkpoint: the model; its family has a `block`.
        context: where the context is encoded.
        before: tokens in front of slot 0.
        cost: counted here.
    """

    def __init__(self, checkpoint: Checkpoint, context: EncodedContext, before: Sequence[int], cost: Cost) -> None:
        assert checkpoint.family.block is not None
        self._checkpoint, self._context, self._cost = checkpoint, context, cost
        self._before, self._block = list(before), checkpoint.family.block

    @property
    def n_slots(self) -> int:
        """Slots behind slot 0 up to the end of the model's block."""
        return self._block - (len(self._before) + 1) % self._block

    @property
    def _first_changing(self) -> int:
        """The place of the first token of the model's block that holds slot 1."""
        return (len(self._before) + 1) // self._block * self._block

    def encode(self, known: Sequence[int], chunk: int, stop: StopSignal) -> bool:
        """Encode the blocks in front of the one that holds slot 1, as far as they are not encoded yet.

        Args:
            known: all tokens up to slot 0, inclusive.
            chunk: tokens between two questions to `stop`, rounded up to whole blocks.
            stop: asked before each chunk.

        Returns:
            whether all is encoded; if not, `stop` said so.
        """
        context, block, end = self._context, self._block, self._first_changing
        start = min(common_length(context.token_ids, known), end) // block * block
        del context.token_ids[start:]
        self._cost.n_cached += start
        stride = -(-chunk // block) * block
        while start < end:
            if stop.cancelled() or stop.expired():
                return False
            ids = list(known[start : min(start + stride, end)])
            self._run(ids, start)
            context.token_ids += ids
            self._cost.n_encoded += len(ids)
            start += len(ids)
        return not (stop.cancelled() or stop.expired())

    def __call__(self, tokens: list[int], slots: list[int]) -> Tensor:
        """Logits (A, V) of these slots; those that are not masked are predicted without being seen, and come last."""
        self._cost.n_forwards += 1
        family = self._checkpoint.family
        shadowed = [slot for slot in slots if tokens[slot] != family.mask_id]
        ids = [*self._before, *tokens]
        first = min(self._first_changing, len(self._before)) if family.shift else self._first_changing
        hidden_TC = self._run(ids[first:], first, [len(self._before) + slot for slot in shadowed])
        rows = [len(self._before) + slot - int(family.shift) - first for slot in slots if slot not in shadowed]
        rows += range(len(ids) - first, len(hidden_TC))
        return self._checkpoint.backbone.logits(hidden_TC[rows])

    def _run(self, ids: list[int], first: int, hidden_places: Sequence[int] = ()) -> Tensor:
        """Run tokens from place `first` on; then, for each of some places, a token that does not see it."""
        family, device = self._checkpoint.family, self._checkpoint.placement.device
        n_shadows, end = len(hidden_places), first + len(ids)
        seen = block_causal(first, len(ids), end, self._block, device)
        places = [*range(first, end), *(place - int(family.shift) for place in hidden_places)]
        if n_shadows:
            if seen is None:
                seen = torch.ones(len(ids), end, dtype=torch.bool, device=device)
            blind = seen[[place - first for place in places[len(ids) :]]].clone()
            # a shifted token sees no further than its own block: then it is blind to the slot in any case
            blind[range(n_shadows), list(hidden_places)] = False
            own = torch.eye(len(ids) + n_shadows, dtype=torch.bool, device=device)[:, len(ids) :]
            seen = torch.cat([torch.cat([seen, blind]), own], 1)
            ids = [*ids, *(ids[place - first] if family.shift else family.mask_id for place in places[len(ids) :])]
        ids_1T, places_1T = torch.tensor([ids], device=device), torch.tensor([places], device=device)
        sheet = Sheet(seen, self._context.kept, slice(first, first + len(ids)), first + len(ids))
        return self._checkpoint.backbone.hidden(ids_1T, places_1T, sheet)[0]
