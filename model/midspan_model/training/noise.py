"""What is asked about a block: which slots are masked, and whether it is read as one types. Pure.

A sequence is [slot 0, known][middle][end tokens up to the block's width]; `first_end` is the first end token's slot,
at or behind the width if the middle does not fit.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

_ALL_MASKED = 0.6
_LATER_END_WEIGHT = 0.05
_LATER_ENDS = 2

Masks = Callable[[int, int, random.Random], frozenset[int]]
"""From (width, first_end, chance) to the masked slots; slot 0 never is."""


@dataclass(frozen=True)
class Pattern:
    """How a sample is made.

    Attributes:
        masks: which slots are masked.
        causal: no slot sees what stands to its right, and every slot has a loss: those with a known left side learn
            to type, the masks behind them to look ahead (Monea et al., arXiv 2311.13581).
    """

    masks: Masks
    causal: bool = False


@dataclass(frozen=True)
class Sample:
    """One noisy block.

    Attributes:
        tokens: what the denoiser sees.
        targets: at slot i what stands at slot i + 1, as in the causal trunk; one fewer than the tokens.
        weights: of the loss on each target.
        causal: no slot sees what stands to its right.
    """

    tokens: tuple[int, ...]
    targets: tuple[int, ...]
    weights: tuple[float, ...]
    causal: bool = False


def all_or_right(width: int, first_end: int, chance: random.Random) -> frozenset[int]:
    """Everything, or a right part."""
    everything = chance.random() < _ALL_MASKED
    right = right_part(width, first_end, chance)
    return frozenset(range(1, width)) if everything else right


def right_part(width: int, first_end: int, chance: random.Random) -> frozenset[int]:
    """From a slot of the middle, or its end token, to the block's end: typing from left to right."""
    return frozenset(range(chance.randint(1, min(first_end, width - 1)), width))


def nothing(width: int, first_end: int, chance: random.Random) -> frozenset[int]:
    """No slot."""
    del width, first_end, chance
    return frozenset()


def right_or_nothing(width: int, first_end: int, chance: random.Random) -> frozenset[int]:
    """From a slot of the middle, its end token or the slot behind it, to the block's end."""
    return frozenset(range(chance.randint(1, min(first_end + 1, width)), width))


def random_subset(width: int, first_end: int, chance: random.Random) -> frozenset[int]:
    """Slots of the middle and its end token, each with one probability that is drawn first; and all behind."""
    real = range(1, min(first_end + 1, width))
    rate = chance.random()
    chosen = [slot for slot in real if chance.random() < rate] or list(real)
    return frozenset([*chosen, *range(first_end + 1, width)])


PATTERNS: dict[str, Pattern] = {
    "typed": Pattern(nothing, causal=True),
    "ahead": Pattern(right_or_nothing, causal=True),
    "all_or_right": Pattern(all_or_right),
    "right_part": Pattern(right_part),
    "random_subset": Pattern(random_subset),
}
"""By the names that a recipe has."""


def add_noise(
    known_id: int,
    middle_ids: tuple[int, ...],
    width: int,
    masked: frozenset[int],
    *,
    end_id: int,
    mask_id: int,
    causal: bool = False,
) -> Sample:
    """The sample of a middle under a mask; a middle that is too long is cut to the width.

    Masked slots have a loss, and in a causal block all.
    """
    clean = (known_id, *middle_ids, *[end_id] * max(0, width - 1 - len(middle_ids)))[:width]
    first_end = len(middle_ids) + 1
    tokens = tuple(mask_id if slot in masked else token for slot, token in enumerate(clean))
    weights = tuple(_weight(slot, first_end) if causal or slot in masked else 0.0 for slot in range(1, width))
    return Sample(tokens, clean[1:], weights, causal)


def drop_after_end(sample: Sample, end_id: int) -> Sample:
    """Without the slots behind the first visible end token, as inference drops them."""
    if end_id not in sample.tokens[1:]:
        return sample
    width = sample.tokens.index(end_id, 1) + 1
    return replace(
        sample, tokens=sample.tokens[:width], targets=sample.targets[: width - 1], weights=sample.weights[: width - 1]
    )


def _weight(slot: int, first_end: int) -> float:
    """The first end token counts as much as text, a few behind it little, the others nothing."""
    if slot <= first_end:
        return 1.0
    return _LATER_END_WEIGHT if slot <= first_end + _LATER_ENDS else 0.0
