"""How an editor is connected: standard streams, TCP or a WebSocket. Each session has one, and one editor."""

from __future__ import annotations

import ipaddress
import logging
import re
import socket
from dataclasses import dataclass
from typing import BinaryIO, Literal, Protocol

from midspan_lsp.errors import ConfigError
from midspan_lsp.lsp.frames import read_frame

logger = logging.getLogger(__name__)

_REQUEST_LINE = re.compile(rb"[A-Z]{3,16} ")
"""HTTP's first bytes, and no header's of ours."""


@dataclass(frozen=True)
class Address:
    """Where to wait for the editor.

    Attributes:
        kind: what is spoken there.
        host: a name or number.
        port: 0: any that is free; the log tells it.
        origins: web pages that may connect, as their browser names them (`http://localhost:3000`).
    """

    kind: Literal["tcp", "websocket"]
    host: str
    port: int
    origins: tuple[str, ...] = ()

    def is_loopback(self) -> bool:
        """Whether only this machine can connect there."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host.lower() == "localhost"


class Sink(Protocol):
    """Takes whole messages or lines."""

    def write(self, data: bytes, /) -> object:
        """Have it on its way, or raise OSError or ValueError."""
        ...

    def flush(self) -> None:
        """So that it really is."""
        ...


class Connection(Protocol):
    """One editor's."""

    @property
    def sink(self) -> Sink:
        """Takes what the editor is to read."""
        ...

    @property
    def has_headers(self) -> bool:
        """Whether messages need headers, or have their bounds without."""
        ...

    def read(self) -> bytes | None:
        """The next message's body; None at the end. Blocks.

        Raises:
            OSError: the connection is broken.
        """
        ...

    def close(self) -> None:
        """Say goodbye, where there is a way to."""
        ...


class StreamConnection:
    """Messages with headers on two streams."""

    has_headers = True

    def __init__(self, reader: BinaryIO, writer: BinaryIO) -> None:
        self._reader = reader
        self.sink: Sink = writer

    def read(self) -> bytes | None:
        """As of `Connection`."""
        return read_frame(self._reader)

    def close(self) -> None:
        """Nothing: the streams end with the process."""


def listen(address: Address) -> socket.socket:
    """A socket that takes connections.

    Raises:
        ConfigError: the address cannot be listened on.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family)
    except (OSError, OverflowError) as error:
        where = f"{address.host}:{address.port}"
        raise ConfigError(f"cannot listen on {where}: {error}", hint="Give another address.") from error


def tell_address(listener: socket.socket) -> None:
    """Logs where an editor can connect; the port stands last in the line."""
    logger.info("waiting for an editor on %s:%d", *listener.getsockname()[:2])


def accept_tcp(address: Address) -> StreamConnection:
    """Waits for one editor; whoever says nothing, or speaks HTTP as any web page can, is none.

    Raises:
        ConfigError: the address cannot be listened on.
    """
    with listen(address) as listener:
        tell_address(listener)
        while True:
            connection, _ = listener.accept()
            if _begins_as_an_editor(connection):
                break
            logger.warning("refused a connection that is no editor's")
            connection.close()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    with connection:  # closed once both files are
        return StreamConnection(connection.makefile("rb"), connection.makefile("wb"))


def _begins_as_an_editor(connection: socket.socket) -> bool:
    try:
        begin = connection.recv(20, socket.MSG_PEEK)
    except OSError:
        return False
    return bool(begin) and _REQUEST_LINE.match(begin) is None


def accept(address: Address) -> Connection:
    """Waits for one editor at an address.

    Raises:
        ConfigError: the address cannot be listened on, or a package is missing.
    """
    if address.kind == "tcp":
        return accept_tcp(address)
    from midspan_lsp.lsp.websocket import accept_websocket  # noqa: PLC0415  (a package that not everybody has)

    return accept_websocket(address)


def check_exposure(address: Address, *, allow_remote: bool) -> None:
    """Raises ConfigError where other machines could connect and nobody has said that they may: there is no password."""
    if not allow_remote and not address.is_loopback():
        raise ConfigError(
            f"{address.host} can be reached from other machines, and there is no password",
            hint="Give 127.0.0.1, or add --allow-remote if nobody else is in that network.",
        )
