"""HumanEval-Infilling (Bavarian et al., arXiv 2207.14255): holes in solved exercises, with tests.

The files are those of the data set's repository, openai/human-eval-infilling (MIT); their folder is given.
"""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

from midspan_model.errors import ModelError
from midspan_model.evaluation.holes import Hole

FILES = {
    "humaneval-single-line": "HumanEval-SingleLineInfilling.jsonl.gz",
    "humaneval-random-span-light": "HumanEval-RandomSpanInfillingLight.jsonl.gz",
}
"""Suites and their files."""

_ANY_NUMBER_OF_LINES = 64


def read_humaneval(folder: Path, suite: str, n: int, seed: int) -> list[Hole]:
    """`n` holes of a suite, or all if there are no more, in the file's order.

    Raises:
        ModelError: the file is missing or of another form.
    """
    path = folder / FILES[suite]
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            tasks = [json.loads(line) for line in file]
        holes = [_hole(suite, task) for task in tasks]
    except (OSError, EOFError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise ModelError(
            f"{path.name} cannot be read: {error}", hint="--data names the folder of HumanEval-Infilling's files."
        ) from error
    if n >= len(holes):
        return holes
    return [holes[index] for index in sorted(random.Random(seed).sample(range(len(holes)), n))]  # noqa: S311


def _hole(suite: str, task: dict[str, str]) -> Hole:
    """A task as an editor shows it.

    A middle that ends with a line break becomes one that stands on a line of its own, with the break behind it.
    """
    middle, suffix = task["canonical_solution"], task["suffix"]
    if middle.endswith("\n"):
        middle, suffix = middle[:-1], "\n" + suffix
    return Hole(
        origin=task["task_id"],
        language_id="python",
        prefix=task["prompt"],
        middle=middle,
        suffix=suffix,
        max_lines=1 if suite == "humaneval-single-line" else _ANY_NUMBER_OF_LINES,
        check=f"\n{task['test']}\ncheck({task['entry_point']})\n",
    )
