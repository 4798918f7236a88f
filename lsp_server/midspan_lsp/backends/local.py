"""The model in this process, on one worker thread: with the files beside it the only one that knows `midspan_model`.

Everything of `midspan_model` is imported when first needed, on that thread: torch takes seconds to import.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from midspan_lsp.backends.base import Capabilities, ReportProgress, report_changes
from midspan_lsp.backends.local_loading import fetch_with_licence, open_model
from midspan_lsp.backends.local_values import WhileIdle, candidate_of, question_of, stats_of
from midspan_lsp.backends.worker import Worker
from midspan_lsp.config import Settings
from midspan_lsp.errors import BackendUnavailable, BadResponse, InfillError
from midspan_lsp.types import CancellationToken, InfillRequest, InfillResponse, InfillStats, SlotView, StepObserver

if TYPE_CHECKING:
    from midspan_model.context_encoding import Cost
    from midspan_model.families.infiller import FamilyInfiller
    from midspan_model.infilling import Infiller

_T = TypeVar("_T")
_CLOSING_TIMEOUT_S = 0.6
_NEEDED = ("torch", "safetensors", "tokenizers", "gguf", "numpy", "filelock")


class LocalBackend:
    """The embedded model, or a checkpoint folder, in this process; it works on `n_together` requests at a time."""

    def __init__(self, settings: Settings, n_together: int = 1) -> None:
        self._settings, self._n_together = settings, n_together
        self._worker = Worker("midspan-model", n_together)
        self._infiller: Infiller | FamilyInfiller | None = None
        self._closed = threading.Event()

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""
        return Capabilities(name="local", can_remask=True)

    @property
    def ready(self) -> bool:
        """True once the weights are loaded."""
        return self._infiller is not None

    async def load(self, report: ReportProgress) -> None:
        """Fetch the weights if they are not in the cache, and load them."""
        await asyncio.wrap_future(self._worker.submit(lambda: self.load_now(report)))

    def load_now(self, report: ReportProgress) -> None:
        """The same on the caller's thread, for a process that has nothing else to do meanwhile."""
        if self._infiller is not None:
            return
        check_installed()
        on_progress = self._unless_closed(report_changes(report))
        self._infiller = _translating_errors(lambda: open_model(self._settings, on_progress, self._n_together))

    def load_here(self, report: ReportProgress) -> Infiller:
        """The model itself, loaded on the caller's thread, where a server has a worker: for measurements."""
        from midspan_model.infilling import Infiller  # noqa: PLC0415

        self.load_now(report)
        infiller = self._loaded()
        if not isinstance(infiller, Infiller):
            raise BackendUnavailable("only checkpoints of the embedded model's kind can be measured here")
        return infiller

    async def infill(
        self, request: InfillRequest, token: CancellationToken, on_step: StepObserver | None = None
    ) -> InfillResponse:
        """Fill the middle on the worker thread."""
        try:
            return await asyncio.wrap_future(self._worker.submit(lambda: self._infill(request, token, on_step)))
        except asyncio.CancelledError:
            token.cancel()
            raise

    async def prepare(self, request: InfillRequest, token: CancellationToken) -> InfillStats:
        """Encode the context when the worker has nothing else to do."""
        call = self._worker.submit(lambda: self._prefill(request, token), can_wait=True)
        try:
            return await asyncio.wrap_future(call)
        except asyncio.CancelledError:
            token.cancel()
            raise

    async def aclose(self) -> None:
        """Break off a download, if there is one, and end the worker after what it is at.

        Waits a moment for a download's pip to be gone, not for whatever else the worker does.
        """
        self._closed.set()
        idle = asyncio.wrap_future(self._worker.submit(lambda: None))
        self._worker.stop()
        await asyncio.wait({idle}, timeout=_CLOSING_TIMEOUT_S)

    def _unless_closed(self, on_progress: Callable[[str, int, int], None]) -> Callable[[str, int, int], None]:
        """Passes on progress, and breaks off whatever makes it once the backend is closed."""

        def checked(what: str, done: int, total: int) -> None:
            if self._closed.is_set():
                raise BackendUnavailable("the backend was closed while it loaded")
            on_progress(what, done, total)

        return checked

    def _infill(self, request: InfillRequest, token: CancellationToken, on_step: StepObserver | None) -> InfillResponse:
        infiller = self._loaded()
        if token.cancelled():  # while it waited for its turn
            return InfillResponse()
        failed: list[Exception] = []

        def on_draft(n_forwards: int, slots: list[tuple[str | None, bool]]) -> None:
            assert on_step is not None
            try:
                on_step(n_forwards, tuple(SlotView(text, fresh) for text, fresh in slots))
            except Exception as error:  # the observer's fault, not the model's
                failed.append(error)
                token.cancel()

        middle, stats = _measured(
            lambda cost: infiller.infill(question_of(request), token, on_draft if on_step else None, cost)
        )
        if failed:
            raise failed[0]
        found = () if middle is None else (middle, *middle.rivals)
        return InfillResponse(tuple(map(candidate_of, found)), stats)

    def _prefill(self, request: InfillRequest, token: CancellationToken) -> InfillStats:
        from midspan_model.infilling import Infiller  # noqa: PLC0415
        from midspan_model.prefill import prefill  # noqa: PLC0415

        infiller, question, stop = self._loaded(), question_of(request), WhileIdle(token, self._worker)
        if isinstance(infiller, Infiller):
            return _measured(lambda cost: prefill(infiller, question, stop, cost))[1]
        return _measured(lambda cost: infiller.prefill(question, stop, cost))[1]

    def _loaded(self) -> Infiller | FamilyInfiller:
        if self._infiller is None:
            raise BackendUnavailable("the model is not loaded yet", retryable=True)
        return self._infiller


@dataclass(frozen=True)
class LocalReport:
    """What `midspan doctor` tells of the local backend.

    Attributes:
        missing: packages of the extra that are not installed.
        trunk_folder: where the trunk's weights are, or would be; None if packages are missing.
        have_trunk: whether they are there.
        facts: lines of name and value about torch and the processor.
    """

    missing: tuple[str, ...]
    trunk_folder: Path | None = None
    have_trunk: bool = False
    facts: tuple[tuple[str, str], ...] = ()


def inspect_local() -> LocalReport:
    """Look at what is installed and cached; loads torch, but no weights, and touches no network."""
    missing = _missing()
    if missing:
        return LocalReport(missing)
    import torch  # noqa: PLC0415
    from midspan_model.embedded import have_trunk, trunk_folder  # noqa: PLC0415
    from midspan_model.linears import best_packing  # noqa: PLC0415
    from midspan_model.machine import best_dtype, best_threads  # noqa: PLC0415

    facts = (
        ("torch", torch.__version__),
        ("processor", f"{torch.backends.cpu.get_cpu_capability()}, {os.cpu_count()} processors"),
        ("computes", f"{best_packing() or best_dtype()}, threads: {best_threads()}".replace("torch.", "")),
    )
    return LocalReport((), trunk_folder(), have_trunk(), facts)


def fetch_weights(report: ReportProgress, *, again: bool = False) -> Path:
    """Download and convert the embedded model's trunk, unless it is there; its folder.

    Raises:
        InfillError: it cannot be had; the hint says what to do.
    """
    check_installed()
    from midspan_model.embedded import fetch_trunk  # noqa: PLC0415

    return _translating_errors(lambda: fetch_trunk(report_changes(report), again=again))


def fetch_published(name: str, report: ReportProgress, *, again: bool = False) -> tuple[Path, str]:
    """Download a published checkpoint, unless it is there; its folder, and its licence.

    Raises:
        InfillError: it cannot be had; the hint says what to do.
    """
    check_installed()
    return _translating_errors(lambda: fetch_with_licence(name, report_changes(report), again=again))


def _missing() -> tuple[str, ...]:
    return tuple(name for name in _NEEDED if importlib.util.find_spec(name) is None)


def check_installed() -> None:
    """Raises BackendUnavailable, with the command that mends it, if packages of the extra are missing."""
    if missing := _missing():
        raise BackendUnavailable(
            f"the embedded model needs packages that are not installed: {', '.join(missing)}",
            hint="Install Midspan with its extra: pip install 'midspan[local]'",
        )


def _translating_errors(call: Callable[[], _T]) -> _T:
    """The model's errors become ours; anything else is a fault and says so."""
    from midspan_model.errors import ModelError  # noqa: PLC0415

    try:
        return call()
    except InfillError:
        raise
    except ModelError as error:
        raise BackendUnavailable(str(error), hint=error.hint, retryable=error.retryable) from error
    except Exception as error:
        raise BackendUnavailable(f"the model cannot be loaded: {error!r}", hint="See `midspan doctor`.") from error


def _measured(call: Callable[[Cost], _T]) -> tuple[_T, InfillStats]:
    """What the model answers and what it cost; any failure of it is a bad response."""
    from midspan_model.context_encoding import Cost  # noqa: PLC0415

    cost, began_s = Cost(), time.perf_counter()
    try:
        answer = call(cost)
    except Exception as error:
        raise BadResponse(f"the model failed: {error}", hint="Please report this.") from error
    return answer, stats_of(cost, 1e3 * (time.perf_counter() - began_s))
