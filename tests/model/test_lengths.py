"""How many masks a middle begins with."""

from __future__ import annotations

import pytest
from midspan_model.denoising.lengths import length_bias, length_by_density, searched_length


def peak_at(length: int, seen: list[int]):
    def confidence(n: int) -> float:
        seen.append(n)
        return length_bias(n) * (1.5 if n == length else 1 - 0.01 * abs(n - length))

    return confidence


@pytest.mark.parametrize("length", [1, 5, 8, 9, 12, 20])
def test_the_search_climbs_to_the_calibrated_peak(length: int) -> None:
    seen: list[int] = []
    assert searched_length(peak_at(length, seen), most=64) == length
    assert len(seen) == len(set(seen)), "no length is asked for twice"
    assert len(seen) <= abs(length - 8) + 1 + 2 * 4


def test_the_bias_is_what_makes_lengths_comparable() -> None:
    assert length_bias(1) > length_bias(8) > length_bias(32) > 0.24
    assert searched_length(length_bias, most=64) == 8, "a confidence that is the bias tells nothing"


def test_the_search_keeps_within_its_bounds() -> None:
    seen: list[int] = []
    assert searched_length(peak_at(64, seen), most=10) == 10
    assert set(seen) <= set(range(1, 11))
    assert searched_length(lambda _: 0.0, most=4) in range(1, 5)


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
