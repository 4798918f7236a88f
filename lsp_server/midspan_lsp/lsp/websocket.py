"""One editor on a WebSocket: a message of JSON in each of its messages, without headers.

pygls' own server is not used: it lets every web page in, whatever its origin, hands the session over to whoever
connects last, refuses messages of more than 1 MiB, sends from tasks that nobody awaits, and goes on after the end.
"""

from __future__ import annotations

import logging
import queue
import threading
from typing import TYPE_CHECKING

from midspan_lsp.errors import ConfigError
from midspan_lsp.lsp.connections import Address, listen, tell_address
from midspan_lsp.lsp.frames import MAX_BODY_BYTES

if TYPE_CHECKING:
    from websockets.http11 import Request, Response
    from websockets.sync.server import ServerConnection

logger = logging.getLogger(__name__)

POLL_S = 0.5
OPENING_TIMEOUT_S = 5.0
CLOSING_TIMEOUT_S = 0.3
_UNAVAILABLE = 503


class WebSocketConnection:
    """One editor's WebSocket, and the sink of what it reads: both ends may be used at once, each from one thread."""

    has_headers = False

    def __init__(self, connection: ServerConnection) -> None:
        self._connection = connection
        self.sink = self

    def read(self) -> bytes | None:
        """As of `Connection`."""
        from websockets.exceptions import ConnectionClosed  # noqa: PLC0415
        from websockets.protocol import State  # noqa: PLC0415

        while True:
            try:
                message = self._connection.recv(timeout=POLL_S)
                break
            except TimeoutError:  # one that has said goodbye may never close its socket, and `recv` would wait for that
                if self._connection.protocol.state is State.OPEN:
                    continue
                return None
            except ConnectionClosed as error:
                logger.info("the editor's connection has ended: %s", error)
                return None
        return message.encode("utf-8", "surrogatepass") if isinstance(message, str) else message

    def write(self, data: bytes, /) -> None:
        """Sends a message as text; raises OSError if nobody is there."""
        from websockets.exceptions import ConnectionClosed  # noqa: PLC0415

        try:
            self._connection.send(data, text=True)
        except ConnectionClosed as error:
            raise OSError(str(error)) from error

    def flush(self) -> None:
        """Nothing: what is written is sent."""

    def close(self) -> None:
        """The closing handshake, within `CLOSING_TIMEOUT_S`."""
        self._connection.close()


def accept_websocket(address: Address) -> WebSocketConnection:
    """Waits for one editor; others are told that there is one. Pages of unnamed origins are refused.

    Raises:
        ConfigError: the address cannot be listened on, or the package is missing.
    """
    try:
        from websockets.sync.server import serve  # noqa: PLC0415
        from websockets.typing import Origin  # noqa: PLC0415
    except ImportError as error:
        raise ConfigError(
            "WebSockets need a package that is not installed: websockets",
            hint="Install Midspan with its extra: pip install 'midspan[websocket]'",
        ) from error
    logging.getLogger("websockets").setLevel(logging.CRITICAL)  # a refused handshake is a traceback to it
    waiting: queue.Queue[ServerConnection] = queue.Queue()
    taken, never = threading.Lock(), threading.Event()

    def refuse_others(connection: ServerConnection, _request: Request) -> Response | None:
        return connection.respond(_UNAVAILABLE, "There is an editor already.\n") if taken.locked() else None

    def handle(connection: ServerConnection) -> None:
        if taken.acquire(blocking=False):
            waiting.put(connection)
            never.wait()  # the session closes it

    listener = listen(address)
    server = serve(
        handle,
        sock=listener,
        origins=[None, *map(Origin, address.origins)],  # None: no browser
        compression=None,
        process_request=refuse_others,
        open_timeout=OPENING_TIMEOUT_S,
        ping_timeout=None,  # an editor may stand still for a while, as in a debugger
        close_timeout=CLOSING_TIMEOUT_S,
        max_size=MAX_BODY_BYTES,
    )
    tell_address(listener)
    threading.Thread(target=server.serve_forever, name="websocket", daemon=True).start()
    return WebSocketConnection(waiting.get())
