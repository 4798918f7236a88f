"""A WebSocket's client end over asyncio's streams, with a `write` that does not wait, as theirs has."""

from __future__ import annotations

import asyncio
from collections import deque

from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.typing import Origin
from websockets.uri import parse_uri

MAX_BYTES = 1 << 28


class WebSocketEnd:
    """Whole messages, in and out.

    Attributes:
        writer: the connection's own, to be closed without a goodbye.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, origin: str | None) -> None:
        uri = parse_uri("ws://127.0.0.1")
        self._protocol = ClientProtocol(uri, origin=origin and Origin(origin), max_size=MAX_BYTES)
        self._reader, self.writer = reader, writer
        self._messages: deque[bytes] = deque()
        self._parts: list[bytes] = []

    @classmethod
    async def connect(cls, port: int, origin: str | None = None) -> WebSocketEnd:
        """Raises ConnectionRefusedError, with the server's status, if it wants no such client."""
        end = cls(*await asyncio.open_connection("127.0.0.1", port), origin)
        end._protocol.send_request(end._protocol.connect())
        end._flush()
        response = None
        while response is None:
            await end._take()
            response = next((one for one in end._protocol.events_received() if isinstance(one, Response)), None)
        if response.status_code != 101:
            end.writer.close()
            raise ConnectionRefusedError(response.status_code)
        return end

    def write(self, message: bytes) -> None:
        """Sends a text, or bytes where it is none."""
        try:
            message.decode()
        except UnicodeDecodeError:
            self._protocol.send_binary(message)
        else:
            self._protocol.send_text(message)
        self._flush()

    async def read(self) -> bytes:
        """The next message.

        Raises:
            asyncio.IncompleteReadError: the connection has ended.
        """
        while not self._messages:
            await self._take()
            for event in self._protocol.events_received():
                assert isinstance(event, Frame)
                if event.opcode in (Opcode.TEXT, Opcode.CONT):
                    self._parts.append(bytes(event.data))
                    if event.fin:
                        self._messages.append(b"".join(self._parts))
                        self._parts.clear()
        return self._messages.popleft()

    def say_goodbye(self, code: int = 1000) -> None:
        self._protocol.send_close(code)
        self._flush()

    async def _take(self) -> None:
        data = await self._reader.read(1 << 16)
        if not data:
            raise asyncio.IncompleteReadError(b"", None)
        self._protocol.receive_data(data)
        self._flush()

    def _flush(self) -> None:
        for data in self._protocol.data_to_send():
            if data:
                self.writer.write(data)
