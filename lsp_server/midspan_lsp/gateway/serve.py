"""The process: one HTTP server until it is told to end."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

import uvicorn

from midspan_lsp.backends.base import ReportProgress
from midspan_lsp.errors import ConfigError
from midspan_lsp.gateway.app import Gateway
from midspan_lsp.gateway.settings import Address, GatewaySettings

if TYPE_CHECKING:
    from midspan_lsp.engine.pipeline import Engine

_MOST_CONNECTIONS = 512
_CLOSING_TIMEOUT_S = 3


def serve(
    settings: GatewaySettings,
    build: Callable[[], Engine],
    report: ReportProgress,
    on_listening: Callable[[str], None],
) -> int:
    """Serves until SIGINT or SIGTERM; the exit status.

    Args:
        settings: the gateway's.
        build: makes the engine, within the server's event loop.
        report: told how the loading goes; from any thread.
        on_listening: told the URL once clients may connect.

    Raises:
        ConfigError: the address cannot be listened on.
        InfillError: the model cannot be loaded.
    """
    logging.basicConfig(level=logging.WARNING, format="midspan: %(levelname)s: %(message)s")
    gateway = Gateway(settings, build, report)
    config = uvicorn.Config(
        gateway.app(),
        http="h11",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,  # it would hold what is asked
        server_header=False,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=_CLOSING_TIMEOUT_S,
    )
    server = uvicorn.Server(config)

    def stop() -> None:
        server.should_exit = True

    gateway.on_failure = stop
    listener = _listen(settings.address)
    on_listening(settings.address.url(listener.getsockname()[1]))
    server.run(sockets=[listener])
    if gateway.failure is not None:
        raise gateway.failure
    return 0


def _listen(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family, reuse_port=False)
    except (OSError, OverflowError) as error:
        raise ConfigError(
            f"cannot listen on {address.host}:{address.port}: {error}", hint="Give another address: --listen HOST:PORT."
        ) from error
