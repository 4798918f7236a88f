"""However an editor goes, its server goes too, whatever it is doing: within two seconds, and with the right code."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from conftest import FAKE_COMMAND
from midspan_lsp.lsp.parent import is_alive
from raw_client import RawClient
from test_real_model import COMMAND

LIMIT_S = 2.0
IDLE, BUSY, HANGING = "a.py", "busy.py", "hang.py"
SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]


@asynccontextmanager
async def session(document: str = IDLE, process_id: int | None = None) -> AsyncIterator[RawClient]:
    """A server that has begun to do what the document's name says."""
    async with RawClient(FAKE_COMMAND) as client:
        await client.initialize(process_id)
        client.open(IDLE)
        while (await client.complete(IDLE))["result"] is None:  # until it is loaded
            pass
        client.open(document)
        client.ask_completion(document)
        if document == BUSY:
            await client.complete(IDLE)  # answered after the other has begun
        yield client


async def ends(client: RawClient, code: int) -> None:
    started_s = time.monotonic()
    assert await client.ended() == code
    assert time.monotonic() - started_s < LIMIT_S


@pytest.mark.parametrize("document", [IDLE, BUSY, HANGING])
async def test_kill_9_of_the_editor_while_somebody_else_holds_the_pipes(document: str) -> None:
    editor = await asyncio.create_subprocess_exec(*SLEEP)
    async with session(document, editor.pid) as client:
        editor.kill()
        await editor.wait()
        await ends(client, 1)


async def test_an_editor_that_nobody_buries_is_dead_too() -> None:
    with subprocess.Popen(SLEEP) as editor:  # noqa: ASYNC220
        async with session(process_id=editor.pid) as client:
            editor.kill()  # and not waited for: a zombie
            await ends(client, 1)


async def test_an_editor_in_another_container_is_not_taken_for_a_dead_one() -> None:
    gone = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    await gone.wait()
    assert not is_alive(gone.pid)
    async with session(process_id=gone.pid) as client:
        await asyncio.sleep(0.7)
        assert (await client.complete(IDLE))["result"] is not None


@pytest.mark.parametrize("document", [IDLE, BUSY, HANGING])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_signals(document: str, number: int) -> None:
    async with session(document) as client:
        client.process.send_signal(number)
        await ends(client, 1)


@pytest.mark.parametrize("document", [IDLE, BUSY])
async def test_exit_without_shutdown(document: str) -> None:
    async with session(document) as client:
        client.notify("exit")
        await ends(client, 1)


async def test_exit_with_parameters_that_it_does_not_have() -> None:
    async with session() as client:
        await client.request("shutdown", {"why": "?"})
        client.notify("exit", {"now": True})
        await ends(client, 0)


async def test_exit_before_initialize() -> None:
    async with RawClient(FAKE_COMMAND) as client:
        client.notify("exit")
        assert await client.ended() == 1


@pytest.mark.parametrize("document", [IDLE, BUSY, HANGING])
async def test_standard_input_ends(document: str) -> None:
    async with session(document) as client:
        client.writer.close()
        await ends(client, 1)


@asynccontextmanager
async def unread(stderr: int = PIPE) -> AsyncIterator[tuple[RawClient, int]]:
    """A server whose standard output nobody reads, and the pipe's reading end."""
    reading, writing = os.pipe()
    client = RawClient(FAKE_COMMAND)
    client.process = await asyncio.create_subprocess_exec(*FAKE_COMMAND, stdin=PIPE, stdout=writing, stderr=stderr)
    os.close(writing)
    assert client.process.stdin is not None
    client.writer = client.process.stdin
    client.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    client.notify("initialized", {})
    client.open("text.py", "x" * 300_000)
    try:
        yield client, reading
    finally:
        if client.process.returncode is None:
            client.process.kill()
        await client.process.wait()
        os.close(reading)


async def filled(client: RawClient, reading: int) -> None:
    """Until the server has more to say than the pipe holds; the end of its first answer is read for that."""
    assert os.read(reading, 1)
    for _ in range(20):  # the first are answered null: it loads
        client.ask_completion("text.py")
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_signals_while_standard_output_is_full(number: int) -> None:
    async with unread() as (client, reading):
        await filled(client, reading)
        client.process.send_signal(number)
        await ends(client, 1)


async def test_exit_while_standard_output_is_full() -> None:
    async with unread() as (client, reading):
        await filled(client, reading)
        client.ask("shutdown")
        client.notify("exit")
        await ends(client, 0)


async def test_standard_output_is_closed_while_standard_input_is_open() -> None:
    async with unread() as (client, reading):
        await filled(client, reading)
        os.dup2(os.open(os.devnull, os.O_RDONLY), reading)  # the pipe's last reader goes
        await ends(client, 1)


async def test_nobody_reads_the_log() -> None:
    async with session("chatter.py") as client:  # its standard error is a pipe that is not read
        await client.complete("chatter.py")
        assert (await client.complete(IDLE))["result"] is not None
        client.process.send_signal(signal.SIGTERM)
        await ends(client, 1)


async def test_the_log_is_closed() -> None:
    reading, writing = os.pipe()
    client = RawClient(FAKE_COMMAND)
    client.process = await asyncio.create_subprocess_exec(*FAKE_COMMAND, stdin=PIPE, stdout=PIPE, stderr=writing)
    os.close(reading)
    os.close(writing)
    assert client.process.stdin is not None
    assert client.process.stdout is not None
    client.reader, client.writer = client.process.stdout, client.process.stdin
    await client.initialize()
    client.open("chatter.py")
    for _ in range(3):
        await client.complete("chatter.py")
    await client.request("shutdown")
    client.notify("exit")
    await ends(client, 0)
    client.writer.close()


@pytest.mark.weights
@pytest.mark.parametrize("ending", ["parent", "signal", "eof", "exit"])
async def test_in_the_middle_of_the_model_s_forward(embedded_weights: Path, ending: str) -> None:
    editor = await asyncio.create_subprocess_exec(*SLEEP)
    options = {"completion": {"eagerness": "always", "timeout_ms": 600_000}}
    async with RawClient(COMMAND) as client:
        await client.initialize(editor.pid, initializationOptions=options)
        line = "def add(first, second):\n    return first + second\n\n\n"
        client.open("a.py", line * 100 + "x = ")
        await work_begins(client)
        if ending == "parent":
            editor.kill()
            await editor.wait()
        elif ending == "signal":
            client.process.send_signal(signal.SIGTERM)
        elif ending == "eof":
            client.writer.close()
        else:
            client.notify("exit")
        await ends(client, 1)
    if editor.returncode is None:
        editor.kill()
        await editor.wait()


async def work_begins(client: RawClient) -> None:
    """Until the model is at work: it is loaded, and a request stays without its answer."""
    async with asyncio.timeout(120):
        while True:
            asked = client.ask_completion("a.py", 400, 4)
            await client.request("midspan/work")
            answered = any(one.get("id") == asked for one in client.others)
            client.others.clear()
            if not answered:
                return
            await asyncio.sleep(0.05)
