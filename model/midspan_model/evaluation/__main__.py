"""Measures the embedded model on single-line holes, beside the control, and prints a table and one JSON line.

python -m pip install --no-deps --target held-out flask==3.1.3 requests==2.34.2
python -m midspan_model.evaluation --source held-out/flask --source held-out/requests --n 60
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

from midspan_model.config import DenoiseConfig
from midspan_model.embedded import load_embedded
from midspan_model.errors import ModelError
from midspan_model.evaluation.holes import Hole, package_folder, read_sources, single_line_holes
from midspan_model.evaluation.metrics import Answer, interval, mean, summarise
from midspan_model.evaluation.typewriter import type_line
from midspan_model.infilling import Infiller, Question
from midspan_model.machine import best_threads

_CHARACTERS = 4000


class _NeverStop:
    def cancelled(self) -> bool:
        return False

    def expired(self) -> bool:
        return False


def main() -> int:
    """Run the evaluation; 0 if it could be run."""
    options = _parser().parse_args()
    try:
        folders = [*map(Path, options.source), *map(package_folder, options.package)]
        sources = [source for folder in folders for source in read_sources(folder)]
        config = DenoiseConfig(threshold=options.threshold)
        torch.set_num_threads(options.threads or best_threads())
        infiller = load_embedded(config, lambda _what, _done, _total: None)
    except ModelError as error:
        print(f"{error}\n{error.hint}", file=sys.stderr)
        return 1
    holes = single_line_holes(sources, options.n, options.seed)

    def denoise(hole: Hole) -> tuple[str, float, int]:
        question = Question(hole.prefix[-_CHARACTERS:], hole.suffix[:_CHARACTERS])
        middle = infiller.infill(question, _NeverStop())
        assert middle is not None
        return middle.text, middle.confidence, middle.n_forwards

    ways = {
        "typing (control)": lambda hole: type_line(infiller, hole.prefix[-_CHARACTERS:]),
        "denoising": denoise,
    }
    answers = {name: [_answer(infiller, hole, way) for hole in holes] for name, way in ways.items()}
    if options.show:
        _show(answers)
    _report(answers, options)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m midspan_model.evaluation", description="Exact match on single-line holes, beside the control."
    )
    parser.add_argument("--source", action="append", default=[], metavar="FOLDER", help="a folder of held-out code")
    parser.add_argument("--package", action="append", default=[], metavar="NAME", help="an installed held-out package")
    parser.add_argument("--n", type=int, default=60, help="holes")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--threshold", type=float, default=DenoiseConfig().threshold)
    parser.add_argument(
        "--threads", type=int, default=0, help="threads for the model; by default half of the processors"
    )
    parser.add_argument("--show", action="store_true", help="print every hole and its answers")
    return parser


def _answer(infiller: Infiller, hole: Hole, way: Callable[[Hole], tuple[str, float, int]]) -> Answer:
    began_s = time.perf_counter()
    middle, confidence, n_forwards = way(hole)
    elapsed_ms = 1e3 * (time.perf_counter() - began_s)
    n_tokens = max(1, len(infiller.tokenizer.encode(middle)))
    return Answer(hole, middle, confidence, n_tokens, n_forwards, elapsed_ms)


def _show(answers: dict[str, list[Answer]]) -> None:
    for rows in zip(*answers.values(), strict=True):
        hole = rows[0].hole
        print(f"{hole.origin}: {hole.prefix.splitlines()[-1]!r} ? {hole.middle!r}")
        for name, row in zip(answers, rows, strict=True):
            print(f"  {'=' if row.exact else ' '} {name:18}{row.confidence:.3f} {row.n_forwards:3d} {row.middle!r}")


def _report(answers: dict[str, list[Answer]], options: argparse.Namespace) -> None:
    summaries = {name: summarise(rows) for name, rows in answers.items()}
    control, denoising = answers.values()
    gains = [float(ours.exact) - float(theirs.exact) for ours, theirs in zip(denoising, control, strict=True)]
    print(f"\n{'':20}" + "".join(f"{name:>20}" for name in summaries))
    for key in next(iter(summaries.values())):
        cells = [summary[key] for summary in summaries.values()]
        print(f"{key:20}" + "".join(f"{_cell(cell):>20}" for cell in cells))
    low, high = interval(gains)
    print(
        f"\nexact match, denoising less typing: {100 * mean(gains):+.1f} points ({100 * low:+.1f} to {100 * high:+.1f})"
    )
    print(json.dumps({"n": options.n, "seed": options.seed, "threshold": options.threshold, **summaries}))


def _cell(value: float | list[float]) -> str:
    return " to ".join(f"{bound:.3f}" for bound in value) if isinstance(value, list) else f"{value:.3f}"


if __name__ == "__main__":
    sys.exit(main())
