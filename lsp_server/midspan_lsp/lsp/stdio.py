"""The process's ends: the streams the protocol runs on, and how it leaves."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from typing import TYPE_CHECKING, BinaryIO, NoReturn

from midspan_lsp.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

logger = logging.getLogger(__name__)


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


def accept_editor(host: str, port: int) -> tuple[BinaryIO, BinaryIO]:
    """Waits for one editor to connect.

    Returns:
        the reader and the writer of its connection.

    Raises:
        ConfigError: the address cannot be listened on.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        raise ConfigError(f"cannot listen on {host}:{port}: {error}", hint="Give another address.") from error
    with listener:
        logger.info("waiting for an editor on %s:%d", *listener.getsockname()[:2])
        connection, _ = listener.accept()
    with connection:  # closed once both files are
        return connection.makefile("rb"), connection.makefile("wb")


class FrameWriter:
    """Writes to the editor until it is gone.

    Args:
        stream: where to.
        on_lost: called when nobody reads any more; what is written afterwards is dropped.
    """

    def __init__(self, stream: BinaryIO, on_lost: Callable[[], None]) -> None:
        self._stream = stream
        self._on_lost = on_lost

    def write(self, data: bytes) -> None:
        """Write all of it, at once."""
        try:
            self._stream.write(data)
            self._stream.flush()
        except OSError as error:
            logger.info("the editor no longer listens: %s", error)
            self._on_lost()

    def close(self) -> None:
        """Nothing: the stream ends with the process."""


def call_on_signals(stop: Callable[[], None]) -> None:
    """Have the running loop call `stop` when the process is asked to end (SIGINT, SIGTERM)."""
    loop = asyncio.get_running_loop()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(stop)

    # not `loop.add_signal_handler`: Windows has none
    signal.signal(signal.SIGINT, on_signal)
    signal.signal(signal.SIGTERM, on_signal)


def end_process(code: int) -> NoReturn:
    """End at once: a normal exit would wait for threads that still compute, or crash under them."""
    logging.shutdown()
    sys.stderr.flush()
    os._exit(code)
