"""How many masks a middle begins with."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from midspan_model.denoising.lengths import length_bias, length_by_density, searched_length


def peak_at(length: int, seen: list[int]):
    def confidences(lengths: Sequence[int]) -> list[float]:
        seen.extend(lengths)
        return [length_bias(n) * (1.5 if n == length else 1 - 0.01 * abs(n - length)) for n in lengths]

    return confidences


def one_by_one(table: Sequence[float], start: int, patience: int) -> tuple[int, list[int]]:
    """CAL as its authors wrote it down (`gh:NiuHechang/Calibrated_Adaptive_Length` dreamcoder_cal/dreamcoder_cal.py).

    The length found, and those asked for, each in a forward of its own.
    """
    asked: list[int] = []

    def calibrated(n: int) -> float:
        asked.append(n)
        return table[n - 1] / length_bias(n)

    best_conf, best_len = calibrated(start), start
    curr_l, consecutive_decreases = start + 1, 0
    while curr_l <= len(table):
        curr_conf = calibrated(curr_l)
        if curr_conf > best_conf:
            best_conf, best_len, consecutive_decreases = curr_conf, curr_l, 0
        else:
            consecutive_decreases += 1
            if consecutive_decreases >= patience:
                break
        curr_l += 1
    curr_l, consecutive_decreases = start - 1, 0
    while curr_l >= 1:
        curr_conf = calibrated(curr_l)
        if curr_conf > best_conf:
            best_conf, best_len, consecutive_decreases = curr_conf, curr_l, 0
        else:
            consecutive_decreases += 1
            if consecutive_decreases >= patience:
                break
        curr_l -= 1
    return best_len, asked


tables = st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.3, 0.5, 1.0])), min_size=1, max_size=64)


@given(table=tables, start=st.integers(1, 64), patience=st.integers(1, 6), is_calibrated=st.booleans())
def test_asking_together_asks_and_finds_the_same(
    table: list[float], start: int, patience: int, is_calibrated: bool
) -> None:
    if is_calibrated:  # near the bias every length may be the best
        table = [length_bias(n) * (1 + found / 10) for n, found in enumerate(table, start=1)]
    rounds: list[list[int]] = []

    def confidences(lengths: Sequence[int]) -> list[float]:
        rounds.append(list(lengths))
        return [table[n - 1] for n in lengths]

    found, asked = one_by_one(table, min(start, len(table)), patience)
    assert searched_length(confidences, len(table), start, patience) == found
    assert sorted(n for lengths in rounds for n in lengths) == sorted(asked), "no length more, none twice"
    assert len(rounds) <= len(asked)
    assert all(rounds)
    assert len(rounds) == 1 or len(asked) > len(rounds)


@pytest.mark.parametrize("length", [1, 5, 8, 9, 12, 20])
def test_the_search_climbs_to_the_calibrated_peak(length: int) -> None:
    seen: list[int] = []
    assert searched_length(peak_at(length, seen), most=64) == length
    assert len(seen) == len(set(seen)), "no length is asked for twice"
    assert len(seen) <= abs(length - 8) + 1 + 2 * 4


def test_the_bias_is_what_makes_lengths_comparable() -> None:
    assert length_bias(1) > length_bias(8) > length_bias(32) > 0.24
    bias = [length_bias(n) for n in range(1, 65)]
    found = searched_length(lambda lengths: [bias[n - 1] for n in lengths], most=64)
    assert found == 8, "a confidence that is the bias tells nothing"


def test_the_search_keeps_within_its_bounds() -> None:
    seen: list[int] = []
    assert searched_length(peak_at(64, seen), most=10) == 10
    assert set(seen) <= set(range(1, 11))
    assert searched_length(lambda lengths: [0.0] * len(lengths), most=4) in range(1, 5)


@pytest.mark.parametrize(
    ("true", "length"),
    [(3, 3), (6, 8), (20, 32), (100, 64)],
    ids=["shrinks", "fits", "doubles", "as long as may be"],
)
def test_the_density_of_ends_tells_too_short_from_too_long(true: int, length: int) -> None:
    found = length_by_density(lambda n: max(0, n - true) / n, most=64)
    assert found == length


def test_shrinking_never_turns_to_growing_again() -> None:
    assert length_by_density(lambda n: 0.9 if n >= 4 else 0.0, most=64) < 4
