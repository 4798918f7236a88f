"""Who may connect over TCP and WebSocket, and how a session ends there; real processes and real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from conftest import FAKE_COMMAND
from raw_client import TIMEOUT_S, RawClient, Transport, port_of
from websocket_client import WebSocketEnd

SOCKETS: tuple[Transport, ...] = ("tcp", "websocket")
MIDSPAN = [sys.executable, "-m", "midspan_lsp"]
LIMIT_S = 2.0
PAGE = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n%s"
EXIT = b'Content-Length: 33\r\n\r\n{"jsonrpc":"2.0","method":"exit"}'


@asynccontextmanager
async def waiting(*options: str) -> AsyncIterator[tuple[Process, int]]:
    """A server that waits for an editor, and the port."""
    process = await asyncio.create_subprocess_exec(*FAKE_COMMAND, *options, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    try:
        yield process, await port_of(process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


async def work(client: RawClient) -> None:
    """A short session."""
    await client.initialize()
    client.open("a.py")
    while (await client.complete("a.py"))["result"] is None:
        pass


@pytest.mark.parametrize("transport", SOCKETS)
@pytest.mark.parametrize(
    ("document", "ending"),
    [
        *((document, ending) for document in ("a.py", "busy.py") for ending in ("exit", "shutdown")),
        *((document, ending) for document in ("busy.py", "hang.py") for ending in ("closed", "goodbye", "signal")),
    ],
)
async def test_the_server_ends_with_its_editor(transport: Transport, document: str, ending: str) -> None:
    async with RawClient(FAKE_COMMAND, transport=transport) as client:
        await work(client)
        client.open(document)
        client.ask_completion(document)
        if document == "busy.py":
            await client.complete("a.py")  # answered after the other has begun
        started_s = time.monotonic()
        if ending == "closed":
            client.writer.close()
        elif ending == "goodbye":
            client.say_goodbye()
        elif ending == "signal":
            client.process.send_signal(signal.SIGTERM)
        else:
            if ending == "shutdown":
                await client.request("shutdown")
            client.notify("exit")
        assert await client.ended() == (0 if ending == "shutdown" else 1)
        assert time.monotonic() - started_s < LIMIT_S


@pytest.mark.parametrize("transport", SOCKETS)
async def test_an_editor_that_is_killed_takes_its_server_along(transport: Transport, tmp_path: Path) -> None:
    """The editor is a process of its own; the kernel closes its socket."""
    script = "import socket, sys, time; s = socket.create_connection(('127.0.0.1', int(sys.argv[1])));"
    hello = "s.sendall(sys.stdin.buffer.read()); print('sent', flush=True); time.sleep(600)"
    async with waiting(f"--{transport}", "127.0.0.1:0") as (server, port):
        editor = await asyncio.create_subprocess_exec(
            sys.executable, "-c", script + hello, str(port), stdin=PIPE, stdout=PIPE
        )
        assert editor.stdin is not None
        assert editor.stdout is not None
        if transport == "tcp":
            editor.stdin.write(b'Content-Length: 38\r\n\r\n{"jsonrpc":"2.0","method":"$/unknown"}')
        else:
            key = b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
            editor.stdin.write(b"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" + key)
        editor.stdin.close()
        await editor.stdout.readline()
        await asyncio.sleep(0.5)  # until the session has begun
        assert server.returncode is None
        editor.kill()
        await editor.wait()
        async with asyncio.timeout(LIMIT_S):
            assert await server.wait() == 1


async def test_a_web_page_cannot_drive_a_tcp_server() -> None:
    """Any page can POST to this machine: a request's body must not be taken for messages."""
    async with waiting("--tcp", "127.0.0.1:0") as (server, port):
        for request in (PAGE % (len(EXIT), EXIT), b"GET / HTTP/1.1\r\n\r\n", b""):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request)
            with contextlib.suppress(OSError):  # it is closed at once
                writer.write_eof()
                assert await asyncio.wait_for(reader.read(), TIMEOUT_S) == b""
            writer.close()
        assert server.returncode is None
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(EXIT)
        async with asyncio.timeout(LIMIT_S):
            assert await server.wait() == 1
        writer.close()


async def test_a_web_page_may_connect_to_a_websocket_only_if_it_is_named() -> None:
    async with waiting("--websocket", "127.0.0.1:0", "http://localhost:3000") as (_, port):
        for origin in ("https://evil.example", "http://localhost:3001", "null"):
            with pytest.raises(ConnectionRefusedError, match="403"):
                await WebSocketEnd.connect(port, origin)
        end = await WebSocketEnd.connect(port, "http://localhost:3000")
        end.write(b'{"jsonrpc": "2.0", "id": 1, "method": "shutdown"}')
        assert b"-32002" in await asyncio.wait_for(end.read(), TIMEOUT_S)
        end.writer.close()


async def test_a_second_editor_takes_nothing_from_the_first() -> None:
    async with RawClient(FAKE_COMMAND, transport="websocket") as client:
        await work(client)
        with pytest.raises(ConnectionRefusedError, match="503"):
            await WebSocketEnd.connect(client.writer.get_extra_info("peername")[1])
        assert (await client.complete("a.py"))["result"] is not None
    async with RawClient(FAKE_COMMAND, transport="tcp") as client:
        await work(client)
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(*client.writer.get_extra_info("peername"))


@pytest.mark.parametrize("transport", SOCKETS)
async def test_a_message_of_many_megabytes(transport: Transport) -> None:
    async with RawClient(FAKE_COMMAND, transport=transport) as client:
        await work(client)
        client.open("text-large.py", "x" * 12_000_000)
        client.change("text-large.py", 2, {"text": "y" * 3_000_000})
        assert await client.text("text-large.py") == "y" * 3_000_000


async def test_a_websocket_message_in_pieces_and_pings() -> None:
    async with RawClient(FAKE_COMMAND, transport="websocket") as client:
        assert client._end is not None
        protocol = client._end._protocol
        protocol.send_text(b'{"jsonrpc": "2.0", "id": 7,', fin=False)
        protocol.send_ping(b"are you there")
        protocol.send_continuation(b' "method": "shutdown"}', fin=True)
        client._end._flush()
        assert (await client.receive())["error"]["code"] == -32002


@pytest.mark.parametrize("transport", SOCKETS)
async def test_an_editor_that_reads_nothing_holds_up_no_ending(transport: Transport) -> None:
    async with RawClient(FAKE_COMMAND, transport=transport) as client:
        await work(client)
        client.open("text.py", "x" * 3_000_000)
        for _ in range(10):
            client.ask_completion("text.py")
        await asyncio.sleep(0.5)
        started_s = time.monotonic()
        client.process.send_signal(signal.SIGTERM)
        assert await client.ended() == 1
        assert time.monotonic() - started_s < LIMIT_S


@pytest.mark.parametrize("option", ["--tcp", "--websocket"])
@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", "192.0.2.1", "example.org"])
async def test_other_machines_are_let_in_only_if_that_is_said(option: str, host: str) -> None:
    process = await asyncio.create_subprocess_exec(*MIDSPAN, "serve", option, f"{host}:0", stderr=PIPE)
    _, errors = await asyncio.wait_for(process.communicate(), TIMEOUT_S)
    assert process.returncode == 1
    assert b"there is no password" in errors


@pytest.mark.parametrize("option", ["--tcp", "--websocket"])
@pytest.mark.parametrize("address", ["0", "localhost:0", "127.0.0.1:0"])
async def test_a_port_alone_is_this_machine_s(option: str, address: str) -> None:
    command = [*MIDSPAN, "serve", option, address]
    process = await asyncio.create_subprocess_exec(*command, stderr=PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    assert process.stderr is not None
    line = await asyncio.wait_for(process.stderr.readline(), TIMEOUT_S)
    assert b"waiting for an editor on 127.0.0.1:" in line
    process.kill()
    await process.communicate()
