"""Noise patterns and what they leave of a block."""

from __future__ import annotations

import random

import pytest
from midspan_model.training.noise import (
    PATTERNS,
    Masks,
    add_noise,
    all_or_right,
    drop_after_end,
    random_subset,
    right_part,
)

END, MASK = 0, 16
SEEDS = range(200)


def mask(pattern: Masks, width: int, first_end: int, seed: int) -> frozenset[int]:
    return pattern(width, first_end, random.Random(seed))


MASKING = [PATTERNS[name].masks for name in ("all_or_right", "right_part", "random_subset")]


@pytest.mark.parametrize("pattern", MASKING)
@pytest.mark.parametrize(("width", "first_end"), [(8, 3), (8, 1), (8, 7), (8, 30), (2, 1)])
def test_something_that_counts_is_masked_and_slot_0_is_not(pattern: Masks, width: int, first_end: int) -> None:
    for seed in SEEDS:
        masked = mask(pattern, width, first_end, seed)
        assert 0 not in masked
        assert max(masked) < width
        assert min(masked) <= first_end
        assert masked == mask(pattern, width, first_end, seed)


def test_patterns_are_different_stages() -> None:
    everything = frozenset(range(1, 8))
    assert 0.4 < sum(mask(all_or_right, 8, 5, seed) == everything for seed in SEEDS) / len(SEEDS) < 0.9
    for seed in SEEDS:
        right = mask(right_part, 8, 5, seed)
        assert right == frozenset(range(min(right), 8))
    subsets = {mask(random_subset, 8, 5, seed) for seed in SEEDS}
    assert any(5 not in subset for subset in subsets), "the end is visible at times"
    assert all({6, 7} <= subset for subset in subsets), "what stands behind the end never is"
    assert len(subsets) > 20


def test_targets_are_shifted_and_later_ends_count_little() -> None:
    sample = add_noise(40, (41, 42), 8, frozenset({2, 3, 4, 5, 6, 7}), end_id=END, mask_id=MASK)
    assert sample.tokens == (40, 41, *[MASK] * 6)
    assert sample.targets == (41, 42, END, END, END, END, END)
    assert sample.weights == (0, 1, 1, 0.05, 0.05, 0, 0)


def test_typing_masks_nothing_and_asks_for_the_middle_and_its_end() -> None:
    sample = add_noise(40, (41, 42), 8, mask(PATTERNS["typed"].masks, 8, 3, 0), end_id=END, mask_id=MASK, causal=True)
    assert sample.causal
    assert sample.tokens == (40, 41, 42, *[END] * 5)
    assert sample.weights == (1, 1, 1, 0.05, 0.05, 0, 0)
    assert drop_after_end(sample, END).tokens == (40, 41, 42, END)
    assert drop_after_end(sample, END).weights == (1, 1, 1)
    long = add_noise(40, (41, 42, 43, 44), 4, frozenset(), end_id=END, mask_id=MASK, causal=True)
    assert (long.targets, long.weights, long.causal) == ((41, 42, 43), (1, 1, 1), True)


def test_looking_ahead_asks_for_every_slot_and_masks_a_right_part_or_nothing() -> None:
    masks = [mask(PATTERNS["ahead"].masks, 8, 3, seed) for seed in SEEDS]
    assert {min(masked, default=8) for masked in masks} == {1, 2, 3, 4}
    assert all(masked == frozenset(range(min(masked, default=8), 8)) for masked in masks)
    sample = add_noise(40, (41, 42), 8, frozenset(range(2, 8)), end_id=END, mask_id=MASK, causal=True)
    assert sample.tokens == (40, 41, *[MASK] * 6)
    assert sample.weights == (1, 1, 1, 0.05, 0.05, 0, 0)


def test_a_middle_that_does_not_fit_has_no_end() -> None:
    sample = add_noise(40, (41, 42, 43, 44), 4, frozenset({1, 2, 3}), end_id=END, mask_id=MASK)
    assert sample.targets == (41, 42, 43)
    assert sample.weights == (1, 1, 1)


def test_slots_behind_a_visible_end_are_dropped_and_only_those() -> None:
    """With a masked end the width stays: it must not tell where the middle ends."""
    seen = add_noise(40, (41, 42), 8, frozenset({1, 4, 5, 6, 7}), end_id=END, mask_id=MASK)
    assert drop_after_end(seen, END).tokens == (40, MASK, 42, END)
    assert drop_after_end(seen, END).weights == (1, 0, 0)
    hidden = add_noise(40, (41, 42), 8, frozenset({3, 4, 5, 6, 7}), end_id=END, mask_id=MASK)
    assert drop_after_end(hidden, END) == hidden
