"""A real HTTP server for the tests, on this machine, in the test's loop: answers as told, keeps what it was asked."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

REASONS = {200: "OK", 307: "Temporary Redirect", 400: "Bad Request", 401: "Unauthorized", 402: "Payment Required"}


@dataclass(frozen=True)
class Asked:
    """A request as it came over the wire."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Exchange:
    """One request while it is answered: for servers that misbehave."""

    asked: Asked
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def answer(self, body: object, status: int = 200, headers: dict[str, str] | None = None) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        await self.begin(len(data), status, headers)
        await self.send(data)

    async def begin(self, length: int | None, status: int = 200, headers: dict[str, str] | None = None) -> None:
        """The answer's head; its body has no end where `length` is None."""
        lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Status')}", "Content-Type: application/json"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        lines += ["Connection: close"] if length is None else [f"Content-Length: {length}"]
        await self.send(("\r\n".join(lines) + "\r\n\r\n").encode())

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    def reset(self) -> None:
        """Breaks the connection off, without a goodbye."""
        self.writer.transport.abort()

    async def until_gone(self) -> None:
        """Until the client has closed its end."""
        while await self.reader.read(1):
            pass


Handler = Callable[[Exchange], Awaitable[None]]


@dataclass
class LoopbackServer:
    """Where it is, and all that it was asked."""

    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    n_connections: int = 0
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    came: asyncio.Event = field(default_factory=asyncio.Event)


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = head.rstrip().split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(method, path, headers, body)


@asynccontextmanager
async def serving(handler: Handler, tls: ssl.SSLContext | None = None, port: int = 0) -> AsyncIterator[LoopbackServer]:
    """Serves on a port of this machine, 0: a free one; a handler that is left waiting ends with the test."""
    server = LoopbackServer()
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.n_connections += 1
        try:
            while (asked := await _read(reader)) is not None:
                server.asked.append(asked)
                server.came.set()
                await handler(Exchange(asked, reader, writer))
                if writer.transport.is_closing():
                    break
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            server.gone.set()
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    listening = await asyncio.start_server(connected, "127.0.0.1", port, ssl=tls)
    port = listening.sockets[0].getsockname()[1]
    server.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    try:
        yield server
    finally:
        listening.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def free_port() -> int:
    """A port of this machine on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
