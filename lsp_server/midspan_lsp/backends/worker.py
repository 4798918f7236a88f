"""One daemon thread that owns a model."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

_T = TypeVar("_T")


class Worker:
    """Runs calls one after another on a thread of its own.

    Unlike an executor's threads it does not hold up the end of the process: an editor that closes waits for nobody.
    """

    def __init__(self, name: str) -> None:
        self._calls: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._started = False

    def submit(self, call: Callable[[], _T]) -> Future[_T]:
        """Run a call after those submitted before; a future cancelled before its turn is skipped."""
        if not self._started:
            self._started = True
            self._thread.start()
        future: Future[_T] = Future()
        self._calls.put((future, call))
        return future

    def stop(self) -> None:
        """End the thread after the calls submitted so far."""
        self._calls.put(None)

    def _work(self) -> None:
        while (item := self._calls.get()) is not None:
            future, call = item
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = call()
            except BaseException as error:  # it belongs to whoever waits for this call
                future.set_exception(error)
            else:
                future.set_result(result)
