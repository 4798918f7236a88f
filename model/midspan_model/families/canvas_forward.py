"""Forwards of a canvas whose tokens all see each other, with a cache that is an approximation, or none.

Shapes: A slots asked for, M masks, B canvases, T tokens of a call, C width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from midspan_model.context_encoding import Cost
from midspan_model.families.opening import Checkpoint
from midspan_model.families.sheet import Kept, Sheet

_TOKENS_TOGETHER, _TOKENS_TOGETHER_CPU = 16384, 512
"""Of several canvases in one forward, at most. On a processor canvases of 80 tokens take 0.85 of their time together,
those of 300 take 1.1, and whoever gives the answer up waits for a forward to end."""


class CanvasForward:
    """Prefix, block and suffix of one canvas; called as the denoising loop calls a forward.

    Between two whole forwards only the block's tokens run, against the keys and values that the rest of the canvas had
    last (Fast-dLLM's dual cache, arXiv 2505.22618, section 3.2): those hang on the block too, so they grow stale.

    Args:
        checkpoint: the model.
        before: tokens in front of slot 0.
        behind: tokens behind the block.
        cost: counted here.
        refresh: every so many forwards the whole canvas runs; 1: always, and nothing is approximate.
    """

    def __init__(
        self, checkpoint: Checkpoint, before: Sequence[int], behind: Sequence[int], cost: Cost, refresh: int = 1
    ) -> None:
        self._checkpoint, self._before, self._behind, self._cost = checkpoint, list(before), list(behind), cost
        self._refresh, self._age = refresh, 0
        self._kept: Kept | None = None
        self._looked: dict[tuple[int, ...], Tensor] = {}

    @property
    def end_id(self) -> int:
        """The token that ends a text."""
        return self._checkpoint.family.end_id

    def looks(self, known_id: int, lengths: Sequence[int]) -> Iterator[Tensor]:
        """Logits (M, V) of the masks of several canvases that have nothing but masks behind slot 0.

        As many canvases as may be run in one forward, when the first of them is wanted. What is asked anew later of a
        canvas that was looked at costs no forward.

        Args:
            known_id: the token in slot 0.
            lengths: of each canvas the number of masks.
        """
        n_around = len(self._before) + 1 + len(self._behind)
        is_cpu = self._checkpoint.placement.device.type == "cpu"
        n_most = _TOKENS_TOGETHER_CPU if is_cpu else _TOKENS_TOGETHER
        n_together = max(1, n_most // (n_around + max(lengths, default=0)))
        mask_id = self._checkpoint.family.mask_id
        for start in range(0, len(lengths), n_together):
            blocks = [[known_id, *[mask_id] * length] for length in lengths[start : start + n_together]]
            for block, hidden_MC in zip(blocks, self._run_together(blocks), strict=True):
                self._looked[tuple(block)] = hidden_MC
                yield self._checkpoint.backbone.logits(hidden_MC)

    def __call__(self, tokens: list[int], slots: list[int]) -> Tensor:
        """Logits (A, V) of these slots; those that are not masked are predicted without being seen, and come last."""
        mask_id = self._checkpoint.family.mask_id
        looked = self._looked.get(tuple(tokens))
        self._looked.clear()
        if looked is not None and self._refresh == 1 and len(slots) == len(looked):
            self._cost.n_spared += 1
            return self._checkpoint.backbone.logits(looked)
        self._cost.n_forwards += 1
        shadowed = [slot for slot in slots if tokens[slot] != mask_id]
        n_canvas = len(self._before) + len(tokens) + len(self._behind)
        if shadowed:
            hidden_TC, first = self._run_with_shadows(tokens, shadowed), 0
        elif self._kept is not None and self._kept.n_places == n_canvas and self._age < self._refresh:
            hidden_TC, first = self._run_block(tokens), len(self._before)
        else:
            hidden_TC, first = self._run_all(tokens, n_canvas), 0
        back = 1 if self._checkpoint.family.shift else 0
        rows = [len(self._before) + slot - back - first for slot in slots if slot not in shadowed]
        rows += range(n_canvas, n_canvas + len(shadowed))
        return self._checkpoint.backbone.logits(hidden_TC[rows])

    def _run_all(self, tokens: list[int], n_canvas: int) -> Tensor:
        """The whole canvas; its keys and values are kept if they will be used."""
        ids = [*self._before, *tokens, *self._behind]
        self._kept, self._age = (Kept(n_canvas) if self._refresh > 1 else None), 1
        self._cost.n_encoded += n_canvas - len(tokens)
        return self._run(ids, range(n_canvas), Sheet(None, self._kept, slice(0, n_canvas), n_canvas))

    def _run_block(self, tokens: list[int]) -> Tensor:
        """The block alone, the rest as it was."""
        first, kept = len(self._before), self._kept
        assert kept is not None
        self._age += 1
        self._cost.n_cached += kept.n_places - len(tokens)
        places = range(first, first + len(tokens))
        return self._run(tokens, places, Sheet(None, kept, slice(first, first + len(tokens)), kept.n_places))

    def _run_with_shadows(self, tokens: list[int], shadowed: list[int]) -> Tensor:
        """The whole canvas, and behind it for each of some slots one token more, which sees all but that slot.

        It stands where the slot is predicted: in its place as a mask, or shifted as its left neighbour.
        """
        ids, first = [*self._before, *tokens, *self._behind], len(self._before)
        n_canvas, family = len(ids), self._checkpoint.family
        self._cost.n_encoded += n_canvas - len(tokens)
        places = [first + slot - int(family.shift) for slot in shadowed]
        shadows = [ids[place] if family.shift else family.mask_id for place in places]
        device = self._checkpoint.placement.device
        seen_TT = torch.eye(n_canvas + len(shadows), dtype=torch.bool, device=device)
        seen_TT[:, :n_canvas] = True
        seen_TT[range(n_canvas, n_canvas + len(shadows)), [first + slot for slot in shadowed]] = False
        return self._run([*ids, *shadows], [*range(n_canvas), *places], Sheet(seen_TT))

    def _run_together(self, blocks: Sequence[list[int]]) -> list[Tensor]:
        """Hidden states (M, C) of all slots but slot 0 of each block, each on a canvas of its own.

        Shorter canvases are filled up at their ends with what nobody sees.
        """
        device, first = self._checkpoint.placement.device, len(self._before) + 1 - int(self._checkpoint.family.shift)
        canvases = [[*self._before, *block, *self._behind] for block in blocks]
        self._cost.n_forwards += 1
        self._cost.n_encoded += len(blocks) * (len(self._before) + len(self._behind))
        n_places = [len(canvas) for canvas in canvases]
        most = max(n_places)
        ids_BT = torch.tensor([canvas + [self.end_id] * (most - len(canvas)) for canvas in canvases], device=device)
        place_T = torch.arange(most, device=device)
        seen_B11T = None
        if min(n_places) < most:
            seen_B11T = (place_T < torch.tensor(n_places, device=device)[:, None])[:, None, None]
        hidden_BTC = self._checkpoint.backbone.hidden(ids_BT, place_T.expand(len(canvases), -1), Sheet(seen_B11T))
        return [hidden_BTC[row, first : first + len(block) - 1] for row, block in enumerate(blocks)]

    def _run(self, ids: list[int], places: Sequence[int], sheet: Sheet) -> Tensor:
        device = self._checkpoint.placement.device
        ids_1T, places_1T = torch.tensor([ids], device=device), torch.tensor([list(places)], device=device)
        return self._checkpoint.backbone.hidden(ids_1T, places_1T, sheet)[0]
