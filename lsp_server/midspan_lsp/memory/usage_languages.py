"""What became of requests, as counts by language: shown, accepted, how long it took, why nothing was shown."""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from midspan_lsp.memory.usage_file import change, rows

REQUESTS, AT_ONCE, SHOWN, ACCEPTED = "requests", "at once", "shown", "accepted"
_SILENT, _WITHIN = "silent: ", "within "
_STEPS_PER_DOUBLING = 8  # so a time is told to within 9 %
_MOST_LANGUAGES = 100
_MOST_CHARACTERS = 40


def silent(reason: str) -> str:
    """The name of the count of requests that showed nothing for a reason."""
    return _SILENT + reason


def within(elapsed_ms: float) -> str:
    """The name of the count of answers that took about so long."""
    return f"{_WITHIN}{math.ceil(_STEPS_PER_DOUBLING * math.log2(max(elapsed_ms, 1.0)))}"


@dataclass(frozen=True)
class LanguageUsage:
    """Counts of one language, by name."""

    counts: Mapping[str, int] = field(default_factory=dict[str, int])

    def n(self, name: str) -> int:
        """One of them."""
        return self.counts.get(name, 0)

    def silences(self) -> list[tuple[str, int]]:
        """Why nothing was shown, and how often, most frequent first."""
        found = [(name.removeprefix(_SILENT), n) for name, n in self.counts.items() if name.startswith(_SILENT)]
        return sorted(found, key=lambda one: -one[1])

    def latency_ms(self, share: float) -> float | None:
        """So many milliseconds a share of the model's answers took at most; None if there were none."""
        steps = {int(name.removeprefix(_WITHIN)): n for name, n in self.counts.items() if name.startswith(_WITHIN)}
        rest = share * sum(steps.values())
        for step in sorted(steps):
            rest -= steps[step]
            if rest <= 0:
                return 2 ** (step / _STEPS_PER_DOUBLING)
        return None


def add_languages(stores: Path, counts: Mapping[str, Counter[str]]) -> bool:
    """Add counts by the editor's language id to those kept, of a bounded number of languages; whether they are kept."""

    def add(kept: sqlite3.Connection) -> None:
        known = {row[0] for row in kept.execute("SELECT DISTINCT language FROM languages")}
        for language, named in counts.items():
            name = language[:_MOST_CHARACTERS]
            if name not in known and len(known) >= _MOST_LANGUAGES:
                continue
            known.add(name)
            kept.executemany(
                "INSERT INTO languages VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
                [(name, one, n) for one, n in named.items()],
            )

    return change(stores, add)


def read_languages(stores: Path) -> dict[str, LanguageUsage]:
    """Counts by language; none where nothing was kept or it cannot be read."""
    found: dict[str, dict[str, int]] = {}
    for language, name, n in rows(stores, "SELECT language, name, n FROM languages"):
        found.setdefault(language, {})[name] = n
    return {language: LanguageUsage(counts) for language, counts in found.items()}
