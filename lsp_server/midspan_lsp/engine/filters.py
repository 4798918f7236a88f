"""What becomes of a middle before it is judged: pure functions in order, each changing nothing the second time.

A filter gets the middle and the text around it. `ADAPTERS` put it in the document's own style, `CUTS` give back the
middle or a beginning of it; an empty one is not shown.
"""

from __future__ import annotations

from collections.abc import Callable

from midspan_lsp.engine.adapting import drop_extra_indent, drop_repeated_start, keep_indent_style, keep_line_ends
from midspan_lsp.engine.cutting import (
    cut_artefacts,
    cut_lines_of_suffix,
    cut_overlap_with_suffix,
    cut_repetition,
    drop_repeated_line,
    drop_within_word,
    keep_to_block,
    keep_to_line,
    trim_trailing_space,
)

Filter = Callable[[str, str, str], str]
"""(middle, prefix, suffix) -> middle."""

ADAPTERS: tuple[Filter, ...] = (keep_line_ends, drop_extra_indent, keep_indent_style, drop_repeated_start)
CUTS: tuple[Filter, ...] = (
    cut_artefacts,
    keep_to_line,
    keep_to_block,
    cut_repetition,
    trim_trailing_space,
    cut_overlap_with_suffix,
    cut_lines_of_suffix,
    drop_repeated_line,
    drop_within_word,
)


def apply_filters(middle: str, prefix: str, suffix: str) -> str:
    """All filters in order, until none changes anything; empty if there is nothing to show."""
    before = None
    while middle != before:
        before = middle
        for one in ADAPTERS + CUTS:
            middle = one(middle, prefix, suffix)
    return middle if middle.strip() else ""
