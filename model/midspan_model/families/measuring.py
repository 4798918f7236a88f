"""How many masks a canvas begins with: what the model makes of canvases of several lengths."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from midspan_model.denoising.lengths import length_by_density, searched_length
from midspan_model.denoising.loop import Forward, StopSignal
from midspan_model.families.spec import Family, Length

_FITS = 0.3
"""A density that neither grows nor shrinks a canvas."""


@dataclass(frozen=True)
class Asking:
    """Asks a canvas of some masks how they look; each question is a forward.

    Attributes:
        forward: of the canvas.
        family: of the model.
        known_id: the token in slot 0.
        stop: once it says so, nothing is asked any more.
    """

    forward: Forward
    family: Family
    known_id: int
    stop: StopSignal

    def confidence(self, n_masks: int) -> float:
        """Mean confidence of all masks."""
        probability_MV = self._look(n_masks)
        return 0.0 if probability_MV is None else float(probability_MV.max(-1).values.mean())

    def density(self, n_masks: int) -> float:
        """Share of the masks whose likeliest token is the end."""
        probability_MV = self._look(n_masks)
        if probability_MV is None:
            return _FITS
        return float((probability_MV.argmax(-1) == self.family.end_id).float().mean())

    def _look(self, n_masks: int) -> Tensor | None:
        if self.stop.cancelled() or self.stop.expired():
            return None
        tokens = [self.known_id, *[self.family.mask_id] * n_masks]
        return self.forward(tokens, list(range(1, 1 + n_masks))).softmax(-1)


def n_masks(length: Length, ask: Asking, start: int, most: int) -> int:
    """How many masks to begin with.

    Args:
        length: the way to it.
        ask: the model.
        start: where ways that search begin, and what the others take.
        most: masks at most.
    """
    if length is Length.SEARCHED:
        return searched_length(ask.confidence, most, start)
    return length_by_density(ask.density, most, start) if length is Length.DENSITY else start
