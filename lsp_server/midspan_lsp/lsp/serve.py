"""Serves one editor, from its first message to its last."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NoReturn, TextIO, cast

from pygls.exceptions import JsonRpcException

from midspan_lsp.lsp import actions, handlers, stdio
from midspan_lsp.lsp.connections import Address, Connection, StreamConnection, accept
from midspan_lsp.lsp.server import MidspanServer

if TYPE_CHECKING:
    from collections.abc import Callable

    from midspan_lsp.config import Settings
    from midspan_lsp.engine.pipeline import Engine

logger = logging.getLogger(__name__)

FLUSH_TIMEOUT_S = 0.2


def serve(build_engine: Callable[[Settings], Engine], *, at: Address | None = None) -> NoReturn:
    """Serves one editor, then ends the process, whatever its threads still do.

    The exit code is 0 if the editor has asked for a shutdown first, and 1 otherwise.

    Args:
        build_engine: makes the engine from the editor's settings. Called after the `initialize` reply.
        at: where to wait for the editor; None: it speaks on standard input and output.

    Raises:
        ConfigError: the address cannot be listened on.
    """
    log = stdio.BackgroundWriter(os.fdopen(os.dup(2), "wb"), may_drop=True)
    _configure_logging(log, logging.WARNING if at is None else logging.INFO)
    connection = StreamConnection(*stdio.claim_stdio()) if at is None else accept(at)
    with asyncio.Runner() as runner:
        code = runner.run(_session(build_engine, connection, is_local=at is None))
        log.finish(FLUSH_TIMEOUT_S)
        stdio.end_process(code)


async def _session(build_engine: Callable[[Settings], Engine], connection: Connection, *, is_local: bool) -> int:
    ending = stdio.Ending()
    server = MidspanServer(build_engine, ending.begin, is_local=is_local)
    handlers.register(server)
    actions.register(server)
    gc.freeze()  # what is there by now is for good: no collection needs to look at it
    gc.enable()
    stdio.call_on_signals(ending.begin)
    frames = stdio.BackgroundWriter(connection.sink, on_lost=ending.begin)
    server.protocol.set_writer(frames, include_headers=connection.has_headers)
    reading = asyncio.create_task(_read(server, connection, ending.begin))
    await ending.wait()
    reading.cancel()
    await server.aclose()
    frames.finish(FLUSH_TIMEOUT_S)
    goodbye = threading.Thread(target=connection.close, name="goodbye", daemon=True)  # for one that reads no more
    goodbye.start()
    goodbye.join(FLUSH_TIMEOUT_S)
    return server.protocol.exit_code


async def _read(server: MidspanServer, connection: Connection, on_end: Callable[[], None]) -> None:
    """Hands on what the editor sends, until it sends no more."""

    def next_frame() -> bytes | None:
        try:
            frame = connection.read()
        except (OSError, ValueError) as error:
            logger.info("the editor's connection broke: %s", error)
            frame = None
        if frame is None:
            on_end()
        return frame

    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reader")
    loop = asyncio.get_running_loop()
    while (frame := await loop.run_in_executor(thread, next_frame)) is not None:
        try:
            server.protocol.receive(frame)
        except Exception as error:  # no message may end the session
            server.report_server_error(error, JsonRpcException)


def _configure_logging(stream: stdio.BackgroundWriter, level: int) -> None:
    handler = logging.StreamHandler(cast("TextIO", stream))
    logging.basicConfig(handlers=[handler], level=level, format="midspan: %(levelname)s: %(message)s")
    # pygls logs texts of documents, even in its errors; what goes wrong is told by `report_server_error`
    logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)
