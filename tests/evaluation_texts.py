"""Source files and tasks of our own for the tests of the evaluation."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from midspan_model.evaluation.humaneval import FILES
from midspan_model.evaluation.sources import SourceText

PYTHON = '''"""What this file is for:
    not code
"""

import os  # a remark


def area(width: float, height: float) -> float:
    """Says what it does."""
    product = width * height
    if product < 0:
        raise ValueError("negative")
        # a comment line
    return product


class Shape:
    def name(self) -> str:
        label = self.label.strip()
        return label.upper()

    def scale(self, factor: float) -> None:
        self.width *= factor
        self.height *= factor
        text = """
        prose in a string, value = 1
        """
'''
GO = """package main

/* a block
   comment := 1 */
func area(width int, height int) int {
\t// a remark
\tproduct := width * height
\tif product < 0 {
\t\tpanic("negative // no comment")
\t}
\treturn product
}
"""


def source_text(text: str, language_id: str = "python", origin: str = "pkg/shapes.py") -> SourceText:
    return SourceText(origin, language_id, text)


def write_tasks(folder: Path, suite: str, solutions: list[str]) -> Path:
    """A file of the data set's form, with tasks of our own."""
    with gzip.open(folder / FILES[suite], "wt", encoding="utf-8") as file:
        for index, solution in enumerate(solutions):
            task = {"task_id": f"T/{index}", "entry_point": "f", "prompt": "def f():\n", "suffix": "    return x\n"}
            task |= {"canonical_solution": solution, "test": "def check(f):\n    assert f() == 1\n"}
            file.write(json.dumps(task) + "\n")
    return folder
