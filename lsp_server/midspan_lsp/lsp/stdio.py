"""The process's ends: its standard streams, and how it leaves."""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import os
import queue
import signal
import sys
import threading
from typing import TYPE_CHECKING, BinaryIO, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from midspan_lsp.lsp.connections import Sink

GRACE_S = 1.2
MAX_WAITING = 10_000
"""Writes that nobody has taken; with more of them nobody ever will."""
MAX_LOG_WAITING = 100
"""Lines of the log that nobody has read: an editor may never read any."""


def claim_stdio() -> tuple[BinaryIO, BinaryIO]:
    """Standard input and output for the protocol alone.

    From now on whatever prints, in Python, in a C library or in a child process, prints to standard error,
    and whatever reads standard input finds it empty: a stray byte would break the editor's connection.

    Returns:
        the reader and the writer.
    """
    sys.stdout.flush()
    reader, writer = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return reader, writer


class BackgroundWriter:
    """Writes on a thread of its own: whoever reads slowly, or not at all, holds up nobody.

    Args:
        sink: where to.
        on_lost: called, on any thread, when nobody reads any more; what is written afterwards is dropped.
        may_drop: a log's: what more than `MAX_LOG_WAITING` writes would wait for is dropped, and nothing is lost by it.
    """

    def __init__(self, sink: Sink, on_lost: Callable[[], None] = lambda: None, *, may_drop: bool = False) -> None:
        self._sink = sink
        self._on_lost = on_lost
        self._may_drop = may_drop
        self._is_lost = False
        self._waiting: queue.Queue[bytes | None] = queue.Queue(MAX_LOG_WAITING if may_drop else MAX_WAITING)
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
        self._thread.start()

    def write(self, data: bytes | str) -> None:
        """Have it written."""
        self._put(data.encode("utf-8", "replace") if isinstance(data, str) else data)

    def flush(self) -> None:
        """Nothing: what is written is flushed."""

    def close(self) -> None:
        """Nothing: the stream ends with the process."""

    def finish(self, timeout_s: float) -> None:
        """Wait until all is written, but not for long."""
        self._put(None)
        self._thread.join(timeout_s)

    def _put(self, data: bytes | None) -> None:
        if self._is_lost:
            return
        try:
            self._waiting.put_nowait(data)
        except queue.Full:
            if not self._may_drop:
                self._lose()

    def _work(self) -> None:
        while (data := self._waiting.get()) is not None:
            try:
                self._sink.write(data)
                self._sink.flush()
            except (OSError, ValueError):
                self._lose()
                return

    def _lose(self) -> None:
        self._is_lost = True
        self._on_lost()


class Ending:
    """The end of a session, whoever brings it about. Made within the running loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._begun = asyncio.Event()
        self._nowhere = os.open(os.devnull, os.O_WRONLY)

    def begin(self) -> None:
        """From any thread, or within a signal's handler: the process ends within `GRACE_S`, even if the loop hangs."""
        faulthandler.dump_traceback_later(GRACE_S, exit=True, file=self._nowhere)  # needs no turn of the interpreter
        self._loop.call_soon_threadsafe(self._begun.set)

    async def wait(self) -> None:
        """Until it has begun."""
        await self._begun.wait()


def call_on_signals(stop: Callable[[], None]) -> None:
    """Call `stop` when the process is asked to end (SIGINT, SIGTERM)."""

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        stop()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # on Windows, where a signal wakes the loop anyway
            loop.add_signal_handler(number, stop)  # wakes a loop that was just about to sleep
        signal.signal(number, on_signal)  # does not wait for a loop that hangs


def end_process(code: int) -> NoReturn:
    """End at once: a normal exit would wait for threads that still compute, or crash under them."""
    os._exit(code)
