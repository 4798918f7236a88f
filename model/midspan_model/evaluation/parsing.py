"""Whether a file parses with an answer in it. The model package knows Python's grammar only; a caller may know more."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable

from midspan_model.evaluation.holes import Hole

Parses = Callable[[str, str, str, str], bool | None]
"""(language id, text before, middle, text behind) -> whether the whole parses; None where that is not known."""


def parses_python(language_id: str, before: str, middle: str, after: str) -> bool | None:
    """By Python's own parser; None for other languages."""
    if language_id != "python":
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd escapes in the code measured
            ast.parse(before + middle + after)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def parse_verdict(parses: Parses, hole: Hole, middle: str) -> bool | None:
    """Whether an answer parses; None too where the file does not parse as it was."""
    if not parses(hole.language_id, hole.prefix, hole.middle, hole.suffix):
        return None
    return parses(hole.language_id, hole.prefix, middle, hole.suffix)
