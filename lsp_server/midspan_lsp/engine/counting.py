"""Counts what becomes of requests, by workspace folder, until they are written down."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from midspan_lsp.memory.usage import Usage

WRITE_EVERY_S = 600.0


class UsageCounter:
    """Counts for documents in workspace folders; all others are left out.

    Args:
        enabled: whether anything is counted.
    """

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled
        self._counts: dict[str, Usage] = {}
        self._written_s = time.monotonic()

    def asked(self, folders: Iterable[str], path: str | None, *, proposed: bool) -> None:
        """The memory was asked, and had a proposal or not."""
        self._add(folders, path, Usage(n_requests=1, n_proposed=int(proposed)))

    def shown(self, folders: Iterable[str], path: str | None, *, from_project: bool) -> None:
        """An editor was given a middle."""
        self._add(folders, path, Usage(n_shown=1, n_from_project=int(from_project)))

    def is_due(self) -> bool:
        """Whether there are counts that should be written down by now."""
        return bool(self._counts) and time.monotonic() - self._written_s >= WRITE_EVERY_S

    def take(self) -> dict[str, Usage]:
        """The counts since the last time."""
        counts, self._counts = self._counts, {}
        self._written_s = time.monotonic()
        return counts

    def _add(self, folders: Iterable[str], path: str | None, more: Usage) -> None:
        holding = [folder for folder in folders if path and _is_in(path, folder)]
        if self._enabled and holding:
            folder = max(holding, key=len)  # the innermost
            known = vars(self._counts.get(folder, Usage()))
            self._counts[folder] = replace(more, **{name: n + known[name] for name, n in vars(more).items()})


@lru_cache(maxsize=256)
def _is_in(path: str, folder: str) -> bool:
    """Asked at every request, and each `Path` made interns its names anew."""
    return Path(path).is_relative_to(folder)
