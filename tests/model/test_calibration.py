"""The calibrator: what it says, where typing may stop, and that fitting finds what is there."""

from __future__ import annotations

import hashlib
import json
import math
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from midspan_model.calibration import FEATURES, Calibrator, features_of_middle, features_of_place
from midspan_model.candidates import Candidate, Candidates
from midspan_model.canvas import Canvas
from midspan_model.checkpoints import calibration_file
from midspan_model.denoising.block import Finish
from midspan_model.embedded import ADAPTER
from midspan_model.errors import WeightsError
from midspan_model.evaluation.calibrate import crossed, fit, fit_both, main
from midspan_model.evaluation.metrics import calibration_error, reliability
from midspan_model.growth import Growth

weights = st.floats(-2, 2)


def test_features_of_a_place() -> None:
    assert features_of_place("x = fo", "\n", 1, "python") == {
        "in_word": 1,
        "at_line_start": 0,
        "in_line": 0,
        "several_lines": 0,
        "python": 1,
    }
    place = features_of_place("a\n    ", ")", 4, "go")
    assert (place["at_line_start"], place["in_line"], place["several_lines"], place["python"]) == (1, 1, 1, 0)
    candidate = Candidate(Growth(Canvas((), (), b""), None, 15), Finish.LINE)  # pyright: ignore[reportArgumentType]
    assert Candidates(place, (), None).features(candidate).keys() == FEATURES.keys()


def test_features_of_a_middle_are_finite() -> None:
    assert features_of_middle(0.0, [], is_typed=True) == {
        "log_confidence": -20,
        "confidence": 0,
        "typed_log_confidence": -20,
        "log_least": -20,
        "log_length": 0,
    }
    found = features_of_middle(0.25, [0.5, 0.5, 1.0], is_typed=False)
    assert found == pytest.approx(
        {
            "log_confidence": math.log(0.25),
            "confidence": 0.25,
            "typed_log_confidence": 0,
            "log_least": math.log(0.5),
            "log_length": math.log(3),
        }
    )


@given(
    st.fixed_dictionaries(dict.fromkeys(FEATURES, weights)),
    weights,
    st.floats(0.01, 0.99),
    st.lists(st.floats(0.001, 1), min_size=1, max_size=12),
)
def test_no_middle_below_the_least_confidence_is_likely_enough(
    weights: dict[str, float], bias: float, wanted: float, confidences: list[float]
) -> None:
    calibrator = Calibrator(bias, weights)
    place = features_of_place("x = fo", "\n", 1, "python")
    confidence = math.prod(confidences)
    if confidence < calibrator.least_confidence(wanted, place):
        said = calibrator.probability({**place, **features_of_middle(confidence, confidences, is_typed=True)})
        assert said < wanted + 1e-9


def test_nothing_wanted_means_no_floor() -> None:
    assert Calibrator(0, {"log_confidence": 1}).least_confidence(0.0, {}) == 0
    assert Calibrator(0, {"log_confidence": 1}).least_confidence(0.5, {}) == pytest.approx(1, abs=0.06)
    assert Calibrator(0, {"log_confidence": 1}).least_confidence(0.6, {}) == 1


def answers_of(n: int, seed: int = 0) -> list[dict[str, object]]:
    """Answers whose true probability is the square root of their confidence, less in one repository's words."""
    chance, found = random.Random(seed), list[dict[str, object]]()
    for index in range(n):
        confidence = chance.random()
        right = chance.random() < math.sqrt(confidence)
        features = {
            **features_of_place("x", "\n", 1, "go"),
            **features_of_middle(confidence, [confidence], is_typed=True),
        }
        found.append(
            {
                "way": "candidates",
                "origin": f"repo{index % 3}/a.go",
                "offset": index,
                "features": features,
                "exact": right,
                "middle": "x" if right else "y",
                "wanted": "x ",
                "others": [
                    ["z", {**features, "confidence": 0.0, "log_confidence": -9.0, "typed_log_confidence": -9.0}]
                ],
            }
        )
    return found


def test_fitting_finds_the_probabilities() -> None:
    answers = answers_of(4000)
    calibrator = fit(answers)
    assert calibrator.weights.keys() == {"log_confidence", "confidence", "typed_log_confidence", "log_least"}
    fresh = answers_of(4000, seed=1)
    said = [calibrator.probability(answer["features"]) for answer in fresh]  # pyright: ignore[reportArgumentType]
    right = [bool(answer["exact"]) for answer in fresh]
    assert calibration_error(said, right) < 0.07, "a logistic curve comes near a root"
    confidences = [math.exp(answer["features"]["log_confidence"]) for answer in fresh]  # pyright: ignore
    assert calibration_error(confidences, right) > 0.1, "what comes in is not calibrated"
    assert calibration_error(crossed(answers), [bool(answer["exact"]) for answer in answers]) < 0.07


def test_what_stands_behind_is_for_the_calibrator_of_what_was_read_on_from_alone() -> None:
    answers, chance = answers_of(400), random.Random(3)
    assert fit_both(answers).read_on is None, "nothing was read on from"
    for answer in answers:
        answer["features"] = {**answer["features"], "behind": -chance.random() * (0 if answer["exact"] else 4)}  # pyright: ignore
    both = fit_both(answers)
    assert "behind" not in both.weights
    assert both.read_on is not None
    assert both.read_on.weights["behind"] > 1


def test_the_calibration_error_is_the_distance_from_the_diagonal() -> None:
    assert calibration_error([0.55] * 4 + [0.95] * 4, [True, True, False, False] + [True] * 4) == pytest.approx(0.05)
    assert calibration_error([1.0, 1.0], [False, False]) == 1
    assert [one.n for one in reliability([0.0, 0.05, 1.0], [True, False, True])] == [2, 1]


def test_the_command_writes_the_calibrator_beside_the_adapter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    adapter, answers = tmp_path / "a.safetensors", tmp_path / "answers.jsonl"
    adapter.write_bytes(b"weights")
    answers.write_text("\n".join(map(json.dumps, answers_of(200))), encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["calibrate", str(answers), "--adapter", str(adapter)])
    assert main() == 0
    assert "200 holes, 400 candidates, " in capsys.readouterr().out
    found = Calibrator.load(calibration_file(adapter))
    assert found.adapter_sha256 == hashlib.sha256(b"weights").hexdigest()
    assert found.fitted_on == "200 holes of repo0, repo1, repo2"
    answers.write_text("", encoding="utf-8")
    assert main() == 1


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"bias": 0, "weights": {"other": 1}}', '{"bias": 0, "weights": 3}'])
def test_a_damaged_calibrator_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    with pytest.raises(WeightsError):
        Calibrator.load(tmp_path / "a.json")


def test_the_released_calibrator_is_that_of_the_released_adapter() -> None:
    file = calibration_file(ADAPTER)
    if file.exists():
        assert Calibrator.load(file).adapter_sha256 == hashlib.sha256(ADAPTER.read_bytes()).hexdigest()
