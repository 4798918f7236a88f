"""Figures of hand-made answers, whose values can be counted."""

from __future__ import annotations

import pytest
from midspan_model.evaluation.holes import Hole
from midspan_model.evaluation.metrics import (
    Answer,
    Estimate,
    difference,
    mean,
    median,
    precision,
    ratio,
    summarise,
)
from midspan_model.evaluation.parsing import parse_verdict, parses_python
from midspan_model.evaluation.ways import Completion


def answer(middle: str, wanted: str = "right()", confidence: float = 0.5, **known: bool | None) -> Answer:
    hole = Hole("file.py", "python", "x = ", wanted, "\n")
    return Answer(hole, Completion(middle, confidence, {}, n_tokens=3, n_forwards=2, elapsed_ms=100.0), **known)


def value_of(estimate: Estimate | None) -> float:
    assert estimate is not None
    assert estimate.low <= estimate.value <= estimate.high
    return estimate.value


def test_white_space_at_the_end_does_not_count_but_in_front_it_does() -> None:
    assert answer("right() \n").exact
    assert not answer(" right()").exact
    assert not answer("right").exact
    assert not answer("").exact


def test_every_figure_of_a_few_answers() -> None:
    answers = [
        answer("wrong()", confidence=0.9, parses=True, passed=False),
        answer("right()", confidence=0.8, parses=True, passed=True),
        answer("right()", confidence=0.7, parses=None, passed=True),
        answer("  ", confidence=0.1, parses=False, passed=False),
    ]
    figures = summarise(answers)
    assert value_of(figures["exact"]) == 0.5
    assert value_of(figures["pass@1"]) == 0.5
    assert value_of(figures["parses"]) == pytest.approx(2 / 3), "where it is not known it does not count"
    assert value_of(figures["empty"]) == 0.25
    assert value_of(figures["precision at 10%"]) == 0.0
    assert value_of(figures["precision at 50%"]) == 0.5
    assert value_of(figures["forwards"]) == 2
    assert value_of(figures["tokens/forward"]) == 1.5
    assert value_of(figures["tokens/forward at 25%"]) == 1.5, "of the surest quarter"
    assert value_of(figures["median ms"]) == 100
    assert 0.5 < value_of(figures["similarity"]) < 1
    assert summarise(list(reversed(answers))) == figures, "their order says nothing"


def test_what_nobody_looked_at_is_not_zero() -> None:
    figures = summarise([answer("right()")])
    assert figures["parses"] is None
    assert figures["pass@1"] is None


def test_an_interval_holds_what_it_should() -> None:
    values = [1.0] * 30 + [0.0] * 70
    estimate = mean(values)
    assert estimate is not None
    assert estimate.value == pytest.approx(0.3)
    # the normal approximation says 0.210 to 0.390
    assert estimate.low == pytest.approx(0.21, abs=0.02)
    assert estimate.high == pytest.approx(0.39, abs=0.02)
    assert mean(values) == estimate, "the same each time"
    assert mean([1.0, 1.0]) == Estimate(1.0, 1.0, 1.0)
    assert mean([]) is median([]) is ratio([], []) is precision([], 0.5) is None


def test_more_holes_make_a_narrower_interval() -> None:
    few, many = mean([0.0, 1.0] * 10), mean([0.0, 1.0] * 200)
    assert few is not None
    assert many is not None
    assert many.high - many.low < 0.5 * (few.high - few.low)


def test_a_ratio_is_of_the_sums() -> None:
    assert value_of(ratio([10, 1], [1, 10])) == 1.0
    assert value_of(median([1, 2, 100])) == 2


def test_precision_looks_at_the_surest_first() -> None:
    exact = [True] * 10 + [False] * 90
    assert value_of(precision(exact, 0.10)) == 1.0
    assert value_of(precision(exact, 0.50)) == pytest.approx(0.2)


def test_a_paired_difference_is_narrower_than_an_unpaired_one() -> None:
    right, wrong = answer("right()"), answer("wrong()")
    ours, theirs = [right] * 11 + [wrong] * 9, [right] * 10 + [wrong] * 10
    paired = difference(ours, theirs)
    assert paired is not None
    assert paired.value == pytest.approx(0.05)
    assert paired.low == 0.0, "wherever they differ ours is right"
    unpaired = mean([float(one.exact) for one in ours])
    assert unpaired is not None
    assert paired.high - paired.low < unpaired.high - unpaired.low


def test_answers_to_different_holes_are_not_paired() -> None:
    with pytest.raises(ValueError, match="different holes"):
        difference([answer("right()")], [answer("right()", wanted="other")])


def test_a_verdict_is_given_only_on_files_that_parsed() -> None:
    hole = Hole("a.py", "python", "x = (", "1", ")\n")
    assert parse_verdict(parses_python, hole, "2") is True
    assert parse_verdict(parses_python, hole, "2)") is False
    broken = Hole("a.py", "python", "x = ((", "1", ")\n")
    assert parse_verdict(parses_python, broken, "2") is None
    other = Hole("a.go", "go", "x := (", "1", ")\n")
    assert parse_verdict(parses_python, other, "2") is None
    assert parse_verdict(lambda language_id, *_: language_id == "go", other, "2") is True
