"""How many masks a canvas begins with: what the model makes of canvases of several lengths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from midspan_model.denoising.lengths import length_by_density, searched_length
from midspan_model.denoising.loop import StopSignal
from midspan_model.families.canvas_forward import CanvasForward
from midspan_model.families.spec import Length

_FITS = 0.3
"""A density that neither grows nor shrinks a canvas."""


@dataclass(frozen=True)
class Asking:
    """Asks a canvas of some masks how they look.

    Attributes:
        forward: of the canvas.
        known_id: the token in slot 0.
        stop: once it says so, nothing is asked any more.
    """

    forward: CanvasForward
    known_id: int
    stop: StopSignal

    def confidences(self, lengths: Sequence[int]) -> list[float]:
        """Mean confidence of all masks, for each number of them; 0 of those that are not asked any more."""
        looks = self.forward.looks(self.known_id, lengths)
        return [0.0 if self._is_over() else float(next(looks).softmax(-1).amax(-1).mean()) for _ in lengths]

    def density(self, n_masks: int) -> float:
        """Share of the masks whose likeliest token is the end."""
        if self._is_over():
            return _FITS
        (logits_MV,) = self.forward.looks(self.known_id, [n_masks])
        return float((logits_MV.argmax(-1) == self.forward.end_id).float().mean())

    def _is_over(self) -> bool:
        return self.stop.cancelled() or self.stop.expired()


def n_masks(length: Length, ask: Asking, start: int, most: int) -> int:
    """How many masks to begin with.

    Args:
        length: the way to it.
        ask: the model.
        start: where ways that search begin, and what the others take.
        most: masks at most.
    """
    if length is Length.SEARCHED:
        return searched_length(ask.confidences, most, start)
    return length_by_density(ask.density, most, start) if length is Length.DENSITY else start
