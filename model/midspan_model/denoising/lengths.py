"""How many masks a middle begins with, by what a model makes of canvases of several lengths. Pure but for the asking.

`FIXED` takes what it is given, `OPEN` goes on block by block until an end token, `ELASTIC` grows and shrinks while it
denoises (`canvas_block.py`); the others ask here.
"""

from __future__ import annotations

import math
from collections.abc import Callable

Probe = Callable[[int], float]
"""Number of masks -> what the model makes of them, 0 to 1; one forward."""

CAL_START, CAL_PATIENCE = 8, 4


def length_bias(n_masks: int) -> float:
    """What the first forward's mean confidence is at this length whatever the text: CAL's B(L).

    A double exponential that its authors fitted, the same for Dream-Coder, DiffuCoder and LLaDA (arXiv 2602.00476,
    appendix A; `gh:NiuHechang/Calibrated_Adaptive_Length`).
    """
    return math.exp(-1.77 * n_masks) + 0.56 * math.exp(-0.06 * n_masks) + 0.24


def searched_length(confidence: Probe, most: int, start: int = CAL_START, patience: int = CAL_PATIENCE) -> int:
    """CAL (arXiv 2602.00476, algorithm 1): climb from `start` both ways to the best calibrated confidence.

    Args:
        confidence: mean confidence of all masks in one forward.
        most: masks at most.
        start: where to begin.
        patience: so many lengths in a row may be no better before a way is given up.

    Returns:
        the number of masks, at least 1.
    """
    start = min(start, most)
    best, best_score = start, confidence(start) / length_bias(start)
    for way in (1, -1):
        length, n_worse = start + way, 0
        while 1 <= length <= most and n_worse < patience:
            score = confidence(length) / length_bias(length)
            if score > best_score:
                best, best_score, n_worse = length, score, 0
            else:
                n_worse += 1
            length += way
    return best


def length_by_density(density: Probe, most: int, start: int = CAL_START, low: float = 0.1, high: float = 0.5) -> int:
    """Grow where few masks want to be the end, shrink where many do, after ρ-EOS (arXiv 2601.22527).

    Here before the first commit only, where the paper goes on while it denoises; bounds and steps are ours.

    Args:
        density: share of the masks whose likeliest token is the end.
        most: masks at most.
        start: where to begin.
        low: below this density the length is doubled.
        high: above it, all masks that want to be the end are dropped.

    Returns:
        the number of masks, at least 1.
    """
    length, has_shrunk = min(start, most), False
    while True:
        found = density(length)
        if found > high and length > 1:
            length, has_shrunk = max(1, min(length - 1, round(length * (1 - found)))), True
        elif found < low and length < most and not has_shrunk:
            length = min(most, 2 * length)
        else:
            return length
