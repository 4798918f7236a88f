"""Fits the calibrator on answers that were kept, and says how well it holds on repositories it was not fitted on.

midspan evaluate local --repositories tuning --tuning --way candidates --answers answers.jsonl
python -m midspan_model.evaluation.calibrate answers.jsonl --adapter adapter.safetensors --diagram reliability.png

Shapes: N answers, F features and the bias.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from midspan_model.calibration import BEHIND, FEATURES, Calibrator
from midspan_model.checkpoints import calibration_file
from midspan_model.evaluation.metrics import calibration_error, reliability
from midspan_model.evaluation.ways import CANDIDATES

_RIDGE = 1.0
_N_STEPS = 50

Answers = Sequence[Mapping[str, Any]]
"""Candidates: the hole's place (`origin`, `offset`), `features`, and whether the middle was exactly right (`exact`)."""


def fit(answers: Answers, without: frozenset[str] = frozenset()) -> Calibrator:
    """Logistic regression with a ridge on standardised features, by Newton's method.

    Args:
        answers: candidates.
        without: features that are left out, as are those that never differ.
    """
    differing = [name for name in FEATURES if len({answer["features"].get(name) for answer in answers}) > 1]
    names = [name for name in differing if name not in without]
    raw_NF = np.array([[answer["features"][name] for name in names] for answer in answers])
    mean_F, scale_F = raw_NF.mean(0), raw_NF.std(0)
    x_NF = np.column_stack([(raw_NF - mean_F) / scale_F, np.ones(len(raw_NF))])
    right_N = np.array([float(answer["exact"]) for answer in answers])
    ridge_FF = _RIDGE * np.diag([1.0] * len(names) + [0.0])
    weights_F: NDArray[np.float64] = np.zeros(len(names) + 1)
    for _ in range(_N_STEPS):
        probability_N = 1 / (1 + np.exp(-x_NF @ weights_F))
        slope_F = x_NF.T @ (probability_N - right_N) + ridge_FF @ weights_F
        curve_FF = (x_NF * (probability_N * (1 - probability_N))[:, None]).T @ x_NF + ridge_FF
        weights_F = weights_F - np.linalg.solve(curve_FF + 1e-9 * np.eye(len(weights_F)), slope_F)
    plain_F = weights_F[:-1] / scale_F
    return Calibrator(float(weights_F[-1] - plain_F @ mean_F), dict(zip(names, plain_F.tolist(), strict=True)))


def fit_both(answers: Answers) -> Calibrator:
    """The calibrator of middles that were not read on from, and with it that of those that were, if any was."""
    first = fit(answers, frozenset({BEHIND}))
    was_read = any(answer["features"].get(BEHIND) for answer in answers)
    return replace(first, read_on=fit(answers) if was_read else None)


def crossed(answers: Answers) -> list[float]:
    """For each answer the probability that a calibrator fitted on all other repositories gives it."""
    repositories = [repository_of(answer) for answer in answers]
    probabilities = [0.0] * len(answers)
    for left_out in sorted(set(repositories)):
        others = [answer for answer, name in zip(answers, repositories, strict=True) if name != left_out]
        calibrator = fit(others)
        for index, answer in enumerate(answers):
            if repositories[index] == left_out:
                probabilities[index] = calibrator.probability(answer["features"])
    return probabilities


def candidates_of(lines: Sequence[str]) -> list[dict[str, Any]]:
    """All candidates of the holes, from lines that `--answers` wrote for the way made for this."""
    found: list[dict[str, Any]] = []
    for answer in map(json.loads, lines):
        if answer["way"] != CANDIDATES:
            continue
        place = {"origin": answer["origin"], "offset": answer["offset"]}
        for text, features in [(answer["middle"], answer["features"]), *answer["others"]]:
            if features:
                found.append({**place, "features": features, "exact": text.rstrip() == answer["wanted"].rstrip()})
    return found


def chosen(answers: Answers, probabilities: Sequence[float]) -> list[int]:
    """Of each hole's candidates the likeliest, by its index."""
    best: dict[tuple[str, int], int] = {}
    for index, answer in enumerate(answers):
        hole = answer["origin"], answer["offset"]
        if hole not in best or probabilities[index] > probabilities[best[hole]]:
            best[hole] = index
    return list(best.values())


def repository_of(answer: Mapping[str, Any]) -> str:
    """The folder that an answer's file stood in."""
    return str(answer["origin"]).split("/", maxsplit=1)[0]


def draw(probabilities: Sequence[float], right: Sequence[bool], path: Path) -> None:
    """The reliability diagram: how often the middles of a bin were right, above what was said of them."""
    from matplotlib.figure import Figure  # noqa: PLC0415  (only where a picture is drawn)

    figure = Figure(figsize=(5, 5), layout="constrained")
    axes = figure.subplots()
    bins = reliability(probabilities, right)
    axes.plot([0, 1], [0, 1], linestyle=":", color="grey")
    axes.plot([one.said for one in bins], [one.found for one in bins], marker="o")
    for one in bins:
        axes.annotate(str(one.n), (one.said, one.found), textcoords="offset points", xytext=(6, -10))
    axes.set_xlabel("probability said")
    axes.set_ylabel("exactly right")
    axes.set_title(f"{len(right)} middles, calibration error {calibration_error(probabilities, right):.3f}")
    figure.savefig(path, dpi=110)


def main() -> int:
    """Fit, and write the calibrator beside the adapter; 0 if it could be done."""
    parser = argparse.ArgumentParser(
        prog="python -m midspan_model.evaluation.calibrate", description="Fit a calibrator."
    )
    parser.add_argument("answers", type=Path, nargs="+", metavar="FILE", help="answers of the tuning repositories")
    parser.add_argument("--adapter", type=Path, required=True, metavar="FILE", help="that answered")
    parser.add_argument("--diagram", type=Path, metavar="PNG", help="draw the crossed calibration here")
    options = parser.parse_args()
    answers = candidates_of(
        [line for file in options.answers for line in file.read_text(encoding="utf-8").splitlines()]
    )
    if not answers:
        print(f"these files have no answer of the way {CANDIDATES}", file=sys.stderr)
        return 1
    crossed_all = crossed(answers)
    shown = chosen(answers, crossed_all)
    right, probabilities = [bool(answers[index]["exact"]) for index in shown], [crossed_all[index] for index in shown]
    names = ", ".join(sorted({repository_of(answer) for answer in answers}))
    sha256 = hashlib.sha256(options.adapter.read_bytes()).hexdigest()
    found = replace(fit_both(answers), fitted_on=f"{len(right)} holes of {names}", adapter_sha256=sha256)
    found.save(calibration_file(options.adapter))
    print(f"{len(right)} holes, {len(answers)} candidates, {sum(right)} holes right")
    print(f"calibration error, each repository left out in turn: {calibration_error(probabilities, right):.4f}")
    for one in reliability(probabilities, right):
        print(f"said {one.said:.2f}  right {one.found:.2f}  of {one.n}")
    if options.diagram:
        draw(probabilities, right, options.diagram)
    return 0


if __name__ == "__main__":
    sys.exit(main())
