"""A block of slots while it is denoised, and where its middle ends."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from midspan_model.denoising.constraints import Constraints


class Finish(Enum):
    """Why a middle is finished."""

    END = "end"
    LINE = "line"
    LENGTH = "length"
    UNSURE = "unsure"
    DEADLINE = "deadline"
    CANCELLED = "cancelled"


@dataclass
class Block:
    """The slots of one block. Slot 0 is known; the others are masks, or the kept slots of a draft.

    Attributes:
        tokens: one per slot.
        confidences: of each slot; of masked slots and slot 0 it is 1.
        constraints: what slots may take; knows the special ids.
        heal: bytes that the slots from 1 on have to reproduce first.
        max_lines: the middle ends at this many line breaks.
        is_first: nothing of the middle stands before the block; then it may not end before it has begun.
        floor: below this confidence nobody wants the middle.
        banned: ids a slot may not take.
        end: the middle stands in the slots from 1 to `end`, exclusive.
        end_confidence: of the end token, if one was committed.
        finish: why the middle ends where it does.
        committed: slots that were masks once.
    """

    tokens: list[int]
    confidences: list[float]
    constraints: Constraints
    heal: bytes = b""
    max_lines: int = 1
    is_first: bool = True
    floor: float = 0.0
    banned: Mapping[int, frozenset[int]] = field(default_factory=dict[int, frozenset[int]])
    end: int = field(init=False)
    end_confidence: float = 1.0
    finish: Finish = Finish.LENGTH
    committed: set[int] = field(init=False, default_factory=set[int])

    def __post_init__(self) -> None:
        self.end = len(self.tokens)
        self._settle_end()

    @property
    def masked(self) -> list[int]:
        """Masked slots of the middle, from left to right."""
        return [slot for slot in range(1, self.end) if self.is_masked(slot)]

    @property
    def written(self) -> list[int]:
        """Slots that may be masked again: committed here, healing nothing and ending nothing."""
        heal, found = self.heal, list[int]()
        for slot in range(1, self.end - (self.finish is Finish.LINE)):
            if not heal and slot in self.committed and not self.is_masked(slot):
                found.append(slot)
            heal = b"" if self.is_masked(slot) else self.constraints.after(self.tokens[slot], heal)
        return found

    @property
    def visible(self) -> list[int]:
        """What the denoiser sees: nothing behind an end token, as in training."""
        return self.tokens[: self.end + 1] if self.finish is Finish.END else self.tokens

    @property
    def confidence(self) -> float:
        """Product of what is committed."""
        return math.prod(self.confidences[1 : self.end]) * self.end_confidence

    @property
    def is_bare(self) -> bool:
        """Whether nothing but healed bytes stands in front of the first mask of a middle."""
        heal = self.heal
        for slot in range(1, self.end):
            if self.is_masked(slot):
                return self.is_first
            if self.constraints.is_longer(self.tokens[slot], heal):
                return False
            heal = self.constraints.after(self.tokens[slot], heal)
        return False

    @property
    def unhealed(self) -> bytes:
        """What of `heal` the slots in front of the first mask leave to be reproduced."""
        heal = self.heal
        for slot in range(1, self.end):
            if not heal or self.is_masked(slot):
                break
            heal = self.constraints.after(self.tokens[slot], heal)
        return heal

    def is_masked(self, slot: int) -> bool:
        """Whether a slot is not committed yet."""
        return self.tokens[slot] == self.constraints.mask_id

    def commit(self, slots: Sequence[int], token_ids: Sequence[int], confidences: Sequence[float]) -> None:
        """Commit slots that are still masked, then see where the middle ends now."""
        for slot, token_id, confidence in zip(slots, token_ids, confidences, strict=True):
            if self.is_masked(slot):
                self.tokens[slot] = token_id
                self.confidences[slot] = confidence
                self.committed.add(slot)
        self._settle_end()

    def mask_again(self, slots: Sequence[int]) -> None:
        """Take back what was committed."""
        for slot in slots:
            self.tokens[slot], self.confidences[slot] = self.constraints.mask_id, 1.0

    def _settle_end(self) -> None:
        """Drop what stands behind an end token or behind the last line wanted."""
        heal, n_breaks = self.heal, 0
        for slot in range(1, self.end):
            token_id = self.tokens[slot]
            if self.is_masked(slot):
                heal = b""  # nothing right of a mask is committed while bytes are to be healed
            elif token_id == self.constraints.end_id:
                self.end, self.end_confidence, self.finish = slot, self.confidences[slot], Finish.END
                return
            else:
                n_breaks += self.constraints.line_breaks(token_id, heal)
                heal = self.constraints.after(token_id, heal)
            if n_breaks >= self.max_lines:
                self.end, self.end_confidence, self.finish = slot + 1, 1.0, Finish.LINE
                return
