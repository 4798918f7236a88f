"""Daemon threads that own a model: one, or a few."""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

_T = TypeVar("_T")
_SOON, _LATER, _LAST = range(3)


class Worker:
    """Runs calls on a thread of its own, one after another; those that can wait let all others pass.

    Unlike an executor's threads it does not hold up the end of the process: an editor that closes waits for nobody.

    Args:
        name: of the thread.
        n_threads: with several, as many calls run at the same time.
    """

    def __init__(self, name: str, n_threads: int = 1) -> None:
        # by urgency, then in turn; the numbers all differ, so calls are never compared
        self._calls: queue.PriorityQueue[tuple[int, int, Future[Any], Callable[[], Any]]] = queue.PriorityQueue()
        self._numbers = itertools.count()
        self._n_urgent, self._counting = 0, threading.Lock()
        self._threads = [threading.Thread(target=self._work, name=name, daemon=True) for _ in range(n_threads)]
        self._started = False

    def submit(self, call: Callable[[], _T], *, can_wait: bool = False) -> Future[_T]:
        """Run a call after those submitted before; a future cancelled before its turn is skipped.

        One that `can_wait` runs when there is no other.
        """
        if not self._started:
            self._started = True
            for thread in self._threads:
                thread.start()
        future: Future[_T] = Future()
        if not can_wait:
            self._count(1)
        self._put(_LATER if can_wait else _SOON, future, call)
        return future

    @property
    def is_wanted(self) -> bool:
        """Whether there is a call that cannot wait, running or not."""
        return self._n_urgent > 0

    def stop(self) -> None:
        """End the threads after the calls submitted so far."""
        for _ in self._threads:
            self._put(_LAST, Future(), lambda: None)

    def _put(self, urgency: int, future: Future[Any], call: Callable[[], Any]) -> None:
        self._calls.put((urgency, next(self._numbers), future, call))

    def _count(self, change: int) -> None:
        with self._counting:
            self._n_urgent += change

    def _work(self) -> None:
        while True:
            urgency, _, future, call = self._calls.get()
            if urgency == _LAST:
                return
            if future.set_running_or_notify_cancel():
                _run(call, future)
            if urgency == _SOON:
                self._count(-1)


def _run(call: Callable[[], Any], future: Future[Any]) -> None:
    try:
        result = call()
    except BaseException as error:  # it belongs to whoever waits for this call
        future.set_exception(error)
    else:
        future.set_result(result)
