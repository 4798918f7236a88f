"""Blocks of models without a calibrator, and those between a prefix and a suffix that see each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from midspan_model.denoising.block import Block, Finish


@dataclass
class LeastSureBlock(Block):
    """A block as sure as its least sure slot, for want of a calibrator (`families/infiller.py`)."""

    @property
    def confidence(self) -> float:
        """Of the least sure slot that is committed."""
        return min([*self.confidences[1 : self.end], self.end_confidence], default=1.0)


@dataclass
class SubBlock(LeastSureBlock):
    """A block that is filled part by part, though the model sees all of it (Fast-dLLM v2, arXiv 2509.26328).

    Attributes:
        size: tokens of a part; parts are counted from place 0.
        place: of slot 0.
    """

    size: int = 8
    place: int = 0

    @property
    def masked(self) -> list[int]:
        """Masked slots of the leftmost part that has any."""
        masked = super().masked
        return [slot for slot in masked if (self.place + slot) // self.size == (self.place + masked[0]) // self.size]


@dataclass
class CanvasBlock(LeastSureBlock):
    """A block whose dropped slots leave the canvas, so that the suffix stands behind the middle at once."""

    @property
    def visible(self) -> list[int]:
        """What the model sees: the middle as far as it goes."""
        return self.tokens[: self.end]


@dataclass
class ElasticBlock(CanvasBlock):
    """DreamOn's block (arXiv 2602.01326; `gh:DreamLM/DreamOn` eval/generator.py), which grows and shrinks.

    The expand token in a slot makes two masks of it. The end token deletes its slot, and with it all masks to its
    right: behind the middle there was nothing but end tokens in training, and that halves the forwards.

    Attributes:
        expand_id: the expand token.
        most: slots at most.
        budget: so many may still be added; without it growing and shrinking might go on for ever.
    """

    expand_id: int = -1
    most: int = 64
    budget: int = 64
    _refused: Mapping[int, frozenset[int]] = field(init=False, default_factory=dict[int, frozenset[int]])

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refused = self.banned
        self._ban_expansion()

    @property
    def written(self) -> list[int]:
        """None: slots move, and policies that mask again remember where they stood."""
        return []

    def commit(self, slots: Sequence[int], token_ids: Sequence[int], confidences: Sequence[float]) -> None:
        """Commit slots that are still masked, let the block grow and shrink, then see where the middle ends."""
        first_end: int | None = None
        for slot, token_id, confidence in sorted(zip(slots, token_ids, confidences, strict=True), reverse=True):
            if not self.is_masked(slot):
                continue
            if token_id == self.expand_id:
                self._replace(slot, [self.constraints.mask_id] * 2)
                self.budget -= 1
            elif token_id == self.constraints.end_id:
                self._replace(slot, [])
                first_end = slot
            else:
                self.tokens[slot], self.confidences[slot] = token_id, confidence
        if first_end is not None:
            for slot in range(len(self.tokens) - 1, first_end - 1, -1):
                if self.is_masked(slot):
                    self._replace(slot, [])
        self.end = len(self.tokens)
        self._settle_end()
        if self.finish is Finish.LINE:
            del self.tokens[self.end :], self.confidences[self.end :]
        self._ban_expansion()

    def _replace(self, slot: int, tokens: list[int]) -> None:
        self.tokens[slot : slot + 1] = tokens
        self.confidences[slot : slot + 1] = [1.0] * len(tokens)
        moved = len(tokens) - 1
        self._refused = {at + moved * (at > slot): ids for at, ids in self._refused.items() if at != slot or tokens}

    def _ban_expansion(self) -> None:
        """No slot may expand once the block is as long as it may be."""
        banned = dict(self._refused)
        if self.budget <= 0 or len(self.tokens) - 1 >= self.most:
            for slot in range(1, len(self.tokens)):
                banned[slot] = banned.get(slot, frozenset()) | {self.expand_id}
        self.banned = banned
