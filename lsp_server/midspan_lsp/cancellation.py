"""How those who wait for an answer tell those who work on it that it is not wanted, or is wanted now."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager


class CancellationToken:
    """Asked once a step by whoever works on a request.

    Set by a newer request, by the editor's cancel, or by time. Thread-safe.

    Args:
        timeout_s: seconds from now after which `expired()` is true; none if None.
    """

    def __init__(self, timeout_s: float | None = None) -> None:
        self._cancelled = threading.Event()
        self._deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []

    def begin(self, timeout_s: float) -> None:
        """The time begins only now, as for a request that has waited for its turn."""
        self._deadline_s = time.monotonic() + timeout_s

    def cancel(self) -> None:
        """Nobody wants the answer any more."""
        with self._lock:
            self._cancelled.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def when_cancelled(self, callback: Callable[[], None]) -> None:
        """Have `callback` called once it is cancelled, on the thread that does so; at once if it is already."""
        with self._lock:
            if not self._cancelled.is_set():
                self._callbacks.append(callback)
                return
        callback()

    def cancelled(self) -> bool:
        """True once `cancel()` was called: the work is to be dropped."""
        return self._cancelled.is_set()

    def expired(self) -> bool:
        """True once time is up: the best so far is wanted at once."""
        return self._deadline_s is not None and time.monotonic() >= self._deadline_s

    @property
    def remaining_s(self) -> float | None:
        """Seconds until `expired()`, none of them negative; None: never."""
        return None if self._deadline_s is None else max(0.0, self._deadline_s - time.monotonic())


@contextmanager
def cancelled_event(token: CancellationToken) -> Generator[asyncio.Event]:
    """An event of the running loop that is set once a token is cancelled, on whatever thread."""
    loop, cancelled = asyncio.get_running_loop(), asyncio.Event()
    is_wanted = True

    def tell() -> None:
        if is_wanted:  # afterwards the loop may be closed
            loop.call_soon_threadsafe(cancelled.set)

    token.when_cancelled(tell)
    try:
        yield cancelled
    finally:
        is_wanted = False
