"""A connection with the host of a shared model: many questions at a time, each with its own answer."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from midspan_lsp.backends.base import LoadProgress, ReportProgress
from midspan_lsp.backends.shared_wire import Ask, Tell, WireError, error_of, read_tell, write
from midspan_lsp.types import CancellationToken, StepObserver

logger = logging.getLogger(__name__)


@dataclass
class _Waiting:
    """A question that is not answered yet; None is its answer if the host dies."""

    answer: asyncio.Future[Tell | None]
    on_step: StepObserver | None = None
    report: ReportProgress | None = None


class Connection:
    """One server's connection with the host. Belongs to one event loop.

    Args:
        reader: from it.
        writer: to it.
        on_lost: called once when it is gone.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, on_lost: Callable[[], None]) -> None:
        self._reader, self._writer, self._on_lost = reader, writer, on_lost
        self._waiting: dict[int, _Waiting] = {}
        self._numbers = itertools.count(1)
        self._is_lost = False
        self._reading = asyncio.get_running_loop().create_task(self._read())

    async def ask(
        self,
        ask: Ask,
        token: CancellationToken | None = None,
        on_step: StepObserver | None = None,
        report: ReportProgress | None = None,
    ) -> Tell | None:
        """What the host tells in the end; None if it has died, or nobody wants it.

        Raises:
            InfillError: as the host tells.
        """
        loop, ask = asyncio.get_running_loop(), replace(ask, id=next(self._numbers))
        if self._is_lost or (token is not None and token.cancelled()):
            return None
        waiting = self._waiting[ask.id] = _Waiting(loop.create_future(), on_step, report)
        cancel = partial(self._send, Ask("cancel", ask.id))
        self._send(ask)
        if token is not None:
            token.when_cancelled(lambda: _call_soon(loop, cancel))
        try:
            told = await waiting.answer
        except asyncio.CancelledError:
            cancel()
            if token is not None:
                token.cancel()
            raise
        finally:
            self._waiting.pop(ask.id, None)
        if told is not None and told.failure is not None:
            raise error_of(told.failure)
        return told

    def close(self) -> None:
        """Leave."""
        self._reading.cancel()
        self._lose()

    def _send(self, ask: Ask) -> None:
        if not self._is_lost and (ask.kind != "cancel" or ask.id in self._waiting):
            self._writer.write(write(ask))

    async def _read(self) -> None:
        try:
            while line := await self._reader.readline():
                self._take(read_tell(line))
        except OSError as error:
            logger.info("the connection with the shared model's process broke: %s", error)
        except (WireError, ValueError) as error:
            logger.warning("the shared model's process cannot be understood: %s", error)
        finally:
            if not self._is_lost:
                self._lose()
                self._on_lost()

    def _take(self, told: Tell) -> None:
        waiting = self._waiting.get(told.id)
        if waiting is None:
            return
        if told.kind == "step":
            if waiting.on_step is not None:
                waiting.on_step(told.n_forwards, told.slots)
        elif told.kind == "progress":
            if waiting.report is not None:
                waiting.report(LoadProgress(told.message, told.percentage))
        elif not waiting.answer.done():
            waiting.answer.set_result(told)

    def _lose(self) -> None:
        self._is_lost = True
        self._writer.close()
        for waiting in self._waiting.values():
            if not waiting.answer.done():
                waiting.answer.set_result(None)


def _call_soon(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop has ended, and with it whoever waited
        loop.call_soon_threadsafe(call)
