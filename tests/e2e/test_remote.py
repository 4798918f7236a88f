"""A real llama.cpp server as backend, killed and slowed in mid-request: the editor never waits beyond its deadline."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from llama_server import with_marks
from loopback_server import free_port
from midspan_lsp.backend_settings import BackendSettings
from midspan_lsp.backends.base import LoadProgress
from midspan_lsp.backends.http_fim import HttpFimBackend
from midspan_lsp.types import CancellationToken, InfillRequest
from raw_client import RawClient

pytestmark = [
    pytest.mark.weights,
    pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="needs the extra `llama`"),
    pytest.mark.skipif(os.name == "nt", reason="nothing is stopped and continued there"),
]

COMMAND = [str(Path(sys.executable).with_name("midspan")), "serve"]
DEADLINE_S, SLACK_S = 2.0, 1.5
STARTING_S = 60
SHORT = "def area(w, h):\n    return w"
LONG = "".join(f"def f{n}(first, second):\n    return first + second * {n}\n\n\n" for n in range(28)) + SHORT
"""Takes a server with one thread far longer than the deadline to read."""


class Llama:
    """The server's process; another one on the same port after `start`."""

    def __init__(self, gguf: Path) -> None:
        self._gguf, self._port = gguf, free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self.start()

    def start(self) -> None:
        command = [sys.executable, str(Path(__file__).with_name("llama_server.py")), str(self._gguf), str(self._port)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: b"ok" in urllib.request.urlopen(f"{self.url}/health", timeout=1).read())

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


def until(is_so: Callable[[], bool]) -> None:
    end_s = time.monotonic() + STARTING_S
    while time.monotonic() < end_s:
        with contextlib.suppress(OSError):
            if is_so():
                return
        time.sleep(0.1)
    raise AssertionError("the server does not start")


@pytest.fixture(scope="module")
def gguf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The trunk as llama.cpp reads it."""
    from midspan_lsp.backends.local_control import fetch_gguf

    marked = tmp_path_factory.mktemp("llama") / "marked.gguf"
    with_marks(fetch_gguf(lambda _: None), marked)
    yield marked
    marked.unlink()


@pytest.fixture
def llama(gguf: Path) -> Iterator[Llama]:
    server = Llama(gguf)
    yield server
    server.kill()


@asynccontextmanager
async def editor(llama: Llama, **backend: Any) -> AsyncIterator[RawClient]:
    """An editor whose server uses llama.cpp, and has loaded."""
    backend = {"kind": "http", "dialect": "openai", "model": "m", "url": llama.url, "delay_ms": 0} | backend
    deadline_ms = round(1e3 * DEADLINE_S)
    options = {
        "backend": backend,
        "completion": {"eagerness": "always", "timeout_ms": deadline_ms, "invoked_timeout_ms": deadline_ms},
        "memory": {"enabled": False},
    }
    if "path" in backend:
        options["model"] = {"path": backend.pop("path")}
    async with RawClient(COMMAND) as client:
        await client.initialize(initializationOptions=options)
        client.open("a.py", SHORT)
        client.open("long.py", LONG)
        yield client


async def answered(client: RawClient, name: str = "a.py") -> str | None:
    """What is shown at the end of a document; never later than the deadline."""
    text = LONG if name == "long.py" else SHORT
    began_s = time.monotonic()
    result = (await client.complete(name, text.count("\n"), len(text.rpartition("\n")[2])))["result"]
    assert time.monotonic() - began_s < DEADLINE_S + SLACK_S
    return result["items"][0]["insertText"] if result and result["items"] else None


async def shown(client: RawClient) -> str:
    """A middle, once the server is ready; each question is another one, so that no answer is a known one."""
    for n in range(100):
        client.open(f"{n}.py", SHORT)
        if text := await answered(client, f"{n}.py"):
            return text
        await asyncio.sleep(0.2)
    raise AssertionError("nothing is shown")


async def in_mid_request(client: RawClient, act: Callable[[], None]) -> None:
    """Asks what takes long, has something happen meanwhile, and gets nothing, in time."""
    asking = asyncio.create_task(answered(client, "long.py"))
    await asyncio.sleep(0.5)
    assert not asking.done()
    act()
    await asking


def messages(client: RawClient) -> list[str]:
    return [one["params"]["message"] for one in client.others if one.get("method") == "window/showMessage"]


async def test_a_middle_comes_from_there(llama: Llama) -> None:
    async with editor(llama) as client:
        assert (await shown(client)).strip()
        assert messages(client) == []


async def test_infill_tells_how_likely_its_answer_is(llama: Llama) -> None:
    backend = HttpFimBackend(BackendSettings(kind="http", dialect="llama.cpp", url=llama.url, delay_ms=0))
    await backend.load(_ignore)
    response = await backend.infill(InfillRequest(SHORT, "\n\nprint(area(2, 3))\n", "python"), CancellationToken(60))
    models = await backend.list_models()
    await backend.aclose()
    (candidate,) = response.candidates
    assert 0 < candidate.probability < 1
    assert candidate.confidences
    assert response.stats.n_encoded_tokens > 10
    assert len(models) == 1


async def test_cancelling_frees_the_server(llama: Llama) -> None:
    """A cancelled request does not hold up the next one, as it would if the connection stayed open."""
    backend = HttpFimBackend(BackendSettings(kind="http", dialect="llama.cpp", url=llama.url, delay_ms=0))
    await backend.load(_ignore)
    for n in range(4):
        token = CancellationToken(60)
        asking = asyncio.create_task(backend.infill(InfillRequest(f"# {n}\n" + LONG, "\n"), token))
        await asyncio.sleep(0.1)  # its answer takes longer
        token.cancel()
        assert (await asking).candidates == ()
    assert (await backend.infill(InfillRequest(SHORT, "\n"), CancellationToken(30))).stats.n_encoded_tokens
    await backend.aclose()


async def test_a_server_that_is_stopped_in_mid_request(llama: Llama) -> None:
    async with editor(llama) as client:
        await shown(client)
        await in_mid_request(client, lambda: llama.signal(signal.SIGSTOP))
        client.open("new.py", SHORT)
        assert await answered(client, "new.py") is None
        told = [one for one in messages(client) if "not answered in time" in one]
        assert len(told) == 1
        llama.signal(signal.SIGCONT)
        assert await shown(client)


async def test_a_server_that_is_killed_in_mid_request_and_comes_back(llama: Llama) -> None:
    async with editor(llama) as client:
        await shown(client)
        began_s = time.monotonic()
        await in_mid_request(client, llama.kill)
        assert time.monotonic() - began_s < DEADLINE_S  # it is known at once
        for n in range(3):
            client.open(f"down{n}.py", SHORT)
            assert await answered(client, f"down{n}.py") is None
        assert sum("cannot be reached" in one for one in messages(client)) == 1
        await asyncio.to_thread(llama.start)
        assert await shown(client)


async def test_a_cascade_goes_on_alone_and_says_so_once(llama: Llama, tiny_checkpoint: Path) -> None:
    async with editor(llama, kind="cascade", path=str(tiny_checkpoint), patience_ms=5000) as client:
        await shown(client)
        await in_mid_request(client, lambda: llama.signal(signal.SIGSTOP))
        for n in range(3):
            client.open(f"slow{n}.py", SHORT + " ")
            await answered(client, f"slow{n}.py")
        llama.kill()
        for n in range(4):
            client.open(f"down{n}.py", SHORT)
            await answered(client, f"down{n}.py")
        told = messages(client)
        assert len(told) == len(set(told)) <= 3  # one for each cause
        assert any("The embedded model answers alone" in one for one in told)
        await asyncio.to_thread(llama.start)
        end_s = time.monotonic() + STARTING_S
        n_asked = 0
        while not any("is back" in one for one in messages(client)):
            assert time.monotonic() < end_s
            n_asked += 1
            client.open(f"back{n_asked}.py", SHORT)
            await answered(client, f"back{n_asked}.py")
            await asyncio.sleep(0.5)


def _ignore(progress: LoadProgress) -> None:
    pass
