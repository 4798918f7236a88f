"""Where a syntax tree's nodes stand: Python's by its own parser. Other sources have the same form."""

from __future__ import annotations

import ast
import pkgutil
import warnings
from collections.abc import Callable, Sequence

from midspan_model.errors import ModelError

_LEAST, _MOST = 2, 400

NodeSource = Callable[[str, str], Sequence[tuple[int, int]]]
"""From a text and its language to the code points (from, to) of its nodes; none where it cannot say."""


def python_nodes(text: str, language: str) -> list[tuple[int, int]]:
    """Statements and expressions of Python code; none of other languages or of what does not parse."""
    if language != "python":
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    lines = text.split("\n")  # as the parser counts them, save form feeds and lone carriage returns
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    spans: set[tuple[int, int]] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.expr | ast.stmt) or node.end_lineno is None or node.end_col_offset is None:
            continue
        if node.end_lineno > len(lines):
            return []
        start = starts[node.lineno - 1] + _code_points(lines[node.lineno - 1], node.col_offset)
        end = starts[node.end_lineno - 1] + _code_points(lines[node.end_lineno - 1], node.end_col_offset)
        if _LEAST <= end - start <= _MOST:
            spans.add((start, end))
    return sorted(spans)


def node_source(name: str) -> NodeSource:
    """The function that `module:function` names, so that a parser may come from outside this package.

    Raises:
        ModelError: there is none.
    """
    try:
        return pkgutil.resolve_name(name)
    except (ValueError, ImportError, AttributeError) as error:
        raise ModelError(f"{name} names no function: {error}", hint="Write it as module:function.") from error


def _code_points(line: str, n_bytes: int) -> int:
    return n_bytes if line.isascii() else len(line.encode()[:n_bytes].decode("utf-8", "ignore"))
