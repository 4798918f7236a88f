"""What becomes of a middle before it is judged: pure functions in order, each changing nothing the second time.

A filter gets the middle and the text around it. `ADAPTERS` put it in the document's own style, `CUTS` give back the
middle or a beginning of it; an empty one is not shown.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
from midspan_lsp.types import Span

_RUN = re.compile(r"\s+|\S+")

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


@dataclass(frozen=True)
class Filtered:
    """A middle after the filters.

    Attributes:
        text: what is left of it; empty if there is nothing to show.
        origins: for each offset of `text`, its end included, where that was in the middle.
    """

    text: str
    origins: tuple[int, ...]

    def span(self, of_middle: Span) -> Span:
        """Where a span of the middle is now; empty if nothing of it is left."""
        start, end = (min(bisect_left(self.origins, edge), len(self.text)) for edge in (of_middle.start, of_middle.end))
        return Span(start, end)


def filter_middle(middle: str, prefix: str, suffix: str) -> Filtered:
    """All filters in order, until none changes anything."""
    text, origins, before = middle, list(range(len(middle) + 1)), None
    while text != before:
        before = text
        for one in ADAPTERS:
            after = one(text, prefix, suffix)
            origins = [origins[place] for place in _adapted(text, after)]
            text = after
        for one in CUTS:
            text = one(text, prefix, suffix)
        del origins[len(text) + 1 :]
    return Filtered(text, tuple(origins)) if text.strip() else Filtered("", (0,))


def apply_filters(middle: str, prefix: str, suffix: str) -> str:
    """What the filters leave of a middle."""
    return filter_middle(middle, prefix, suffix).text


def _adapted(before: str, after: str) -> Sequence[int]:
    """For each offset behind an adapter the one in front of it: its start may be gone, or white space be another."""
    if before.endswith(after):
        return range(len(before) - len(after), len(before) + 1)
    old, new = ([match.span() for match in _RUN.finditer(text)] for text in (before, after))
    origins = [
        min(start + place, end - 1)
        for (start, end), (new_start, new_end) in zip(old, new, strict=True)
        for place in range(new_end - new_start)
    ]
    return [*origins, len(before)]
