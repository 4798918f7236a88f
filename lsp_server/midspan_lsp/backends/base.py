"""What every backend offers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from midspan_lsp.types import CancellationToken, InfillRequest, InfillResponse, InfillStats, StepObserver


@dataclass(frozen=True)
class Capabilities:
    """What a backend can do.

    Attributes:
        name: for people.
        can_remask: it takes `InfillRequest.draft`.
        gives_probability: it may know how likely its middles are.
    """

    name: str
    can_remask: bool
    gives_probability: bool = True


@dataclass(frozen=True)
class LoadProgress:
    """A line for the user while a backend gets ready, and how far it is, where that is known (0 to 100)."""

    message: str
    percentage: int | None = None


ReportProgress = Callable[[LoadProgress], None]
"""May be called from any thread."""


def report_changes(report: ReportProgress) -> Callable[[str, int, int], None]:
    """Turns (what is done, amount done, amount in all or 0) into progress, and passes on what a person would see."""
    last: LoadProgress | None = None

    def on_progress(what: str, done: int, total: int) -> None:
        nonlocal last
        progress = LoadProgress(what, 100 * done // total if total else None)
        if progress != last:
            last = progress
            report(progress)

    return on_progress


class InfillBackend(Protocol):
    """Fills middles. All methods belong to one event loop."""

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""
        ...

    @property
    def ready(self) -> bool:
        """True once `load` has succeeded."""
        ...

    async def load(self, report: ReportProgress) -> None:
        """Get ready. Idempotent.

        Raises:
            InfillError: it cannot; the hint says what to do.
        """
        ...

    async def infill(
        self, request: InfillRequest, token: CancellationToken, on_step: StepObserver | None = None
    ) -> InfillResponse:
        """Fill the middle; stops within one forward of `token` being cancelled, and then has no candidates, but a cost.

        `on_step` may be called from another thread.

        Raises:
            InfillError: the backend is not ready or failed.
        """
        ...

    async def prepare(self, request: InfillRequest, token: CancellationToken) -> InfillStats:
        """Do ahead of time what a request at this place would need first; what it cost.

        Requests pass it: it begins when there is none, and stops soon after `token` is cancelled.

        Raises:
            InfillError: the backend is not ready or failed.
        """
        ...

    async def aclose(self) -> None:
        """Stop all work and let go of everything."""
        ...
