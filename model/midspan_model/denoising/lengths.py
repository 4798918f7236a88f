"""How many masks a middle begins with, by what a model makes of canvases of several lengths. Pure but for the asking.

`FIXED` takes what it is given, `OPEN` goes on block by block until an end token, `ELASTIC` grows and shrinks while it
denoises (`canvas_block.py`); the others ask here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

Probe = Callable[[int], float]
"""Number of masks -> what the model makes of them, 0 to 1; one forward."""

Probes = Callable[[Sequence[int]], Sequence[float]]
"""The same of several numbers of masks at once; as few forwards as may be."""

CAL_START, CAL_PATIENCE = 8, 4


def length_bias(n_masks: int) -> float:
    """What the first forward's mean confidence is at this length whatever the text: CAL's B(L).

    A double exponential that its authors fitted, the same for Dream-Coder, DiffuCoder and LLaDA (arXiv 2602.00476,
    appendix A; `gh:NiuHechang/Calibrated_Adaptive_Length`).
    """
    return math.exp(-1.77 * n_masks) + 0.56 * math.exp(-0.06 * n_masks) + 0.24


def searched_length(confidences: Probes, most: int, start: int = CAL_START, patience: int = CAL_PATIENCE) -> int:
    """CAL (arXiv 2602.00476, algorithm 1): climb from `start` both ways to the best calibrated confidence.

    The lengths asked for and the one found are the paper's, which asks one after the other. But a way is never given up
    before `patience` lengths, or as many as are left to bear, were no better: those are asked together.

    Args:
        confidences: mean confidence of all masks in one forward, of each length.
        most: masks at most.
        start: where to begin.
        patience: so many lengths in a row may be no better before a way is given up.

    Returns:
        the number of masks, at least 1.
    """
    known: dict[int, float] = {}

    def ask(lengths: Iterable[int]) -> None:
        asked = [length for length in lengths if 1 <= length <= most]
        known.update((n, found / length_bias(n)) for n, found in zip(asked, confidences(asked), strict=True))

    best = start = min(start, most)
    ask(range(start - patience, start + patience + 1))
    for way in (1, -1):
        length, n_worse = start + way, 0
        while 1 <= length <= most and n_worse < patience:
            if length not in known:
                ask(length + way * ahead for ahead in range(patience - n_worse))
            if known[length] > known[best]:
                best, n_worse = length, 0
            else:
                n_worse += 1
            length += way
    return best


def length_by_density(density: Probe, most: int, start: int = CAL_START, low: float = 0.1, high: float = 0.5) -> int:
    """Grow where few masks want to be the end, shrink where many do, after ρ-EOS (arXiv 2601.22527).

    Here before the first commit only, where the paper goes on while it denoises; bounds and steps are ours. Each length
    hangs on what the last one told, so there is nothing to ask together: longer ones would mostly be asked in vain.

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
