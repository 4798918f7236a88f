"""Serves one editor, from its first message to its last."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, BinaryIO, NoReturn

from pygls.io_ import StdinAsyncReader, run_async

from midspan_lsp.lsp import handlers, stdio
from midspan_lsp.lsp.server import MidspanServer

if TYPE_CHECKING:
    from collections.abc import Callable

    from midspan_lsp.config import Settings
    from midspan_lsp.engine.pipeline import Engine

logger = logging.getLogger(__name__)


def serve(build_engine: Callable[[Settings], Engine], *, tcp: tuple[str, int] | None = None) -> NoReturn:
    """Serves one editor, then ends the process, whatever its threads still do.

    The exit code is 0 if the editor has asked for a shutdown first, and 1 otherwise.

    Args:
        build_engine: makes the engine from the editor's settings. Called after the `initialize` reply.
        tcp: host and port to wait on for the editor; None: it speaks on standard input and output.

    Raises:
        ConfigError: the address cannot be listened on.
    """
    _configure_logging(logging.WARNING if tcp is None else logging.INFO)
    reader, writer = stdio.claim_stdio() if tcp is None else stdio.accept_editor(*tcp)
    server = MidspanServer(build_engine)
    handlers.register(server)
    gc.freeze()  # what is there by now is for good: no collection needs to look at it
    gc.enable()
    with asyncio.Runner() as runner:
        stdio.end_process(runner.run(_session(server, reader, writer)))


async def _session(server: MidspanServer, reader: BinaryIO, writer: BinaryIO) -> int:
    ended = server.protocol.ended
    stdio.call_on_signals(ended.set)
    server.protocol.set_writer(stdio.FrameWriter(writer, on_lost=ended.set))
    reading = asyncio.create_task(_read(server, reader))
    await ended.wait()
    reading.cancel()
    await server.aclose()
    return server.protocol.exit_code


async def _read(server: MidspanServer, reader: BinaryIO) -> None:
    """Hands on what the editor sends, until it sends no more."""
    source = StdinAsyncReader(reader, ThreadPoolExecutor(max_workers=1, thread_name_prefix="reader"))
    try:
        await run_async(threading.Event(), source, server.protocol, error_handler=server.report_server_error)
    except OSError as error:
        logger.info("the editor's connection broke: %s", error)
    finally:
        server.protocol.ended.set()


def _configure_logging(level: int) -> None:
    logging.basicConfig(stream=sys.stderr, level=level, format="midspan: %(levelname)s: %(message)s")
    # pygls logs texts of documents, even in its errors; what goes wrong is told by `report_server_error`
    logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)
