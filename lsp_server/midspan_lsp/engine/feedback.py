"""What became of requests, counted by language until it is written down. No text is ever kept."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from concurrent.futures import Future
from pathlib import Path

from midspan_lsp.backends.worker import Worker
from midspan_lsp.engine.outcome import Outcome, Silence
from midspan_lsp.memory.place import memory_folder
from midspan_lsp.memory.usage_languages import ACCEPTED, AT_ONCE, REQUESTS, SHOWN, add_languages, silent, within
from midspan_lsp.types import InfillStats

WRITE_EVERY_S = 600.0
_CLOSING_TIMEOUT_S = 0.5


class Feedback:
    """Counts, and writes now and then, on a thread of its own. Belongs to one event loop.

    Args:
        enabled: whether anything is counted.
        stores: the folder of what is kept; None: the cache folder's place for it.
        write_every_s: seconds between two times.
    """

    def __init__(self, *, enabled: bool, stores: Path | None = None, write_every_s: float = WRITE_EVERY_S) -> None:
        self._enabled, self._stores, self._write_every_s = enabled, stores, write_every_s
        self._counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._written_s = time.monotonic()
        self._worker: Worker | None = None
        self._unwritten: dict[str, Counter[str]] = {}  # the thread's own

    def answered(self, language_id: str, outcome: Outcome, elapsed_ms: float) -> None:
        """A request has its answer, after so long."""
        is_known = outcome.stats == InfillStats()
        if outcome.silence is not None:
            self.silent(language_id, outcome.silence)
        elif is_known:  # shown before, and counted then
            self._add(language_id, REQUESTS, AT_ONCE)
        else:
            self._add(language_id, REQUESTS, SHOWN)
        if not is_known and outcome.silence is not Silence.STOPPED:
            self._add(language_id, within(elapsed_ms))

    def silent(self, language_id: str, reason: Silence) -> None:
        """A request has nothing to show."""
        self._add(language_id, REQUESTS, silent(reason.value))

    def accepted(self, language_id: str) -> None:
        """Somebody took what was shown."""
        self._add(language_id, ACCEPTED)

    def enable(self, *, enabled: bool) -> None:
        """From now on, or no more: then what is not written yet is dropped."""
        self._enabled = enabled
        if not enabled:
            self._counts.clear()

    async def aclose(self) -> None:
        """Write what is left; waits for no more than a moment."""
        if self._counts:
            await asyncio.wait({asyncio.wrap_future(self._begin_writing())}, timeout=_CLOSING_TIMEOUT_S)
        if self._worker is not None:
            self._worker.stop()

    def _add(self, language_id: str, *names: str) -> None:
        if not self._enabled:
            return
        self._counts[language_id].update(names)
        if time.monotonic() - self._written_s >= self._write_every_s:
            self._begin_writing()

    def _begin_writing(self) -> Future[None]:
        self._written_s = time.monotonic()
        self._worker = self._worker or Worker("midspan-usage")
        counts, self._counts = self._counts, defaultdict(Counter)
        return self._worker.submit(lambda: self._write(counts))

    def _write(self, counts: defaultdict[str, Counter[str]]) -> None:
        """On the thread: what cannot be kept now is tried again the next time."""
        for language_id, named in self._unwritten.items():
            counts[language_id].update(named)
        self._unwritten = {} if add_languages(self._stores or memory_folder(), counts) else counts
