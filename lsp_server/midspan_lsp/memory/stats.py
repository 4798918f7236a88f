"""Figures of the memory, what is known of open documents, and the length of steps."""

from __future__ import annotations

import time
from dataclasses import dataclass

_STEP_S = 0.003


@dataclass(frozen=True)
class MemoryStats:
    """What the memory holds and how it did.

    Attributes:
        n_documents: open documents and files.
        n_open: open documents.
        n_tokens: of all of them.
        n_bytes: memory, about.
        n_requests: how often drafts were asked for.
        n_hits: how often there was one.
    """

    n_documents: int
    n_open: int
    n_tokens: int
    n_bytes: int
    n_requests: int
    n_hits: int


@dataclass(frozen=True)
class Opened:
    """What is known of an open document: its real path, or "", and its language's family."""

    path: str
    family: str


class Pause:
    """Says when a step has lasted long enough."""

    def __init__(self) -> None:
        self._until = time.monotonic() + _STEP_S

    def due(self) -> bool:
        """Whether it is time to let others work; if so, a next step begins."""
        if time.monotonic() < self._until:
            return False
        self._until = time.monotonic() + _STEP_S
        return True
