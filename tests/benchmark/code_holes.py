"""Real code and holes in it, for the benchmarks."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from midspan_lsp.syntax.languages import language_id_of
from midspan_lsp.types import Span

_MOST_BYTES = 40_000


def code_files(folders: list[Path]) -> dict[str, list[Path]]:
    """The code files under folders, by language; neither tiny nor long ones."""
    found: dict[str, list[Path]] = defaultdict(list)
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            language_id = language_id_of(path, "")
            if language_id and path.is_file() and 200 < path.stat().st_size < _MOST_BYTES:
                found[language_id].append(path)
    return found


def cut_hole(text: str, rng: random.Random, more_lines: Sequence[int] = (0, 0, 0, 1, 3)) -> Span | None:
    """From a random place in a line to its end, or as many lines further as one of `more_lines`, at most 3."""
    breaks = [match.start() for match in re.finditer("\n", text)]
    if len(breaks) < 6:
        return None
    line = rng.randrange(1, len(breaks) - 4)
    start, end = breaks[line - 1] + 1, breaks[line]
    indent = len(text[start:end]) - len(text[start:end].lstrip())
    if not text[start:end].strip():
        return None
    place = rng.choice([start + indent, rng.randrange(start + indent, end)])
    return Span(place, breaks[line + rng.choice(more_lines)])
