"""Replicas of Ray Serve behind one gateway: one is killed under load, and all are replaced under load."""

from __future__ import annotations

import asyncio
import os
import signal
import uuid
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from gateway_process import RunningGateway, running_gateway
from test_overload import question
from tiny_model import write_tiny_checkpoint

pytest.importorskip("ray", reason="needs the extra `cluster`")

MARK = uuid.uuid4().hex
# Ray's sockets lie in its folder, whose path must be short
ENVIRONMENT = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_TMPDIR": "/tmp", "MIDSPAN_TEST": MARK}
N_CLIENTS, N_ROUNDS, N_REPLICAS = 6, 8, 2
STARTING_TIMEOUT_S = 120


@pytest.fixture(scope="module")
def checkpoint(tiny_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that may come to be another one."""
    link = tmp_path_factory.mktemp("checkpoint") / "current"
    link.symlink_to(tiny_checkpoint)
    return link


@pytest.fixture(scope="module")
def gateway(checkpoint: Path) -> Iterator[RunningGateway]:
    with running_gateway("--model", str(checkpoint), "--ray", str(N_REPLICAS), environment=ENVIRONMENT) as gateway:
        yield gateway


def replicas() -> list[int]:
    """Process ids of the replicas that have this test's mark in their environment."""
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            title, environment = (folder / "cmdline").read_bytes(), (folder / "environ").read_bytes()
        except OSError:  # it has ended meanwhile, or is somebody else's
            continue
        if title.startswith(b"ray::ServeReplica:midspan:Model") and MARK.encode() in environment:
            found.append(int(folder.name))
    return found


def wait_for_line(gateway: RunningGateway, line: str) -> None:
    """Until the command prints it; Ray prints what it likes before."""
    assert gateway.process.stdout is not None
    assert line in iter(gateway.process.stdout.readline, "")


async def ask(http: httpx.AsyncClient, number: int, turn: int) -> str:
    """A client's question, in a document that it was not asked in before; it must be answered."""
    response = await http.post("/v1/completions", json={**question(number), "path": f"{turn}.unknown"})
    assert response.status_code == 200, response.text
    return response.json()["choices"][0]["text"]


@asynccontextmanager
async def client_of(gateway: RunningGateway) -> AsyncGenerator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=gateway.url, timeout=STARTING_TIMEOUT_S, trust_env=False) as http:
        yield http


async def test_a_document_meets_its_cache(gateway: RunningGateway) -> None:
    text, n_more = "value = compute(first, second)\n" * 12, 6
    with gateway.client() as client:
        client.post("/v1/completions", json={"prompt": text, "path": "sticky.unknown"})
        await asyncio.sleep(2)  # the replicas tell what they know now and then
        before = gateway.metric("midspan_tokens_encoded_total")
        for n in range(1, n_more + 1):
            client.post("/v1/completions", json={"prompt": text + "x" * n, "path": "sticky.unknown"})
    assert gateway.metric("midspan_tokens_encoded_total") - before < len(text) / 2


async def test_one_is_killed_under_load_and_no_request_fails(gateway: RunningGateway) -> None:
    before = replicas()
    assert len(before) == N_REPLICAS
    async with client_of(gateway) as http:
        expected = [await ask(http, number, 0) for number in range(N_CLIENTS)]

        async def ask_often(number: int) -> None:
            for turn in range(1, N_ROUNDS):
                assert await ask(http, number, turn) == expected[number]

        async with asyncio.TaskGroup() as clients:
            for number in range(N_CLIENTS):
                clients.create_task(ask_often(number))
            await asyncio.sleep(0.3)
            os.kill(before[0], signal.SIGKILL)
        async with asyncio.timeout(STARTING_TIMEOUT_S):
            while len(now := replicas()) < N_REPLICAS or before[0] in now:  # noqa: ASYNC110  (Ray tells nobody)
                await asyncio.sleep(0.2)
        assert await ask(http, 0, N_ROUNDS) == expected[0]


async def test_all_are_replaced_under_load_and_no_request_fails(
    gateway: RunningGateway, checkpoint: Path, tmp_path: Path
) -> None:
    before, over = replicas(), asyncio.Event()
    async with client_of(gateway) as http:
        old = [await ask(http, number, 100) for number in range(N_CLIENTS)]
        answered: list[set[str]] = [set() for _ in old]

        async def ask_often(number: int) -> None:
            turn = 100
            while not over.is_set():
                turn += 1
                answered[number].add(await ask(http, number, turn))

        async with asyncio.TaskGroup() as clients:
            for number in range(N_CLIENTS):
                clients.create_task(ask_often(number))
            checkpoint.unlink()
            checkpoint.symlink_to(write_tiny_checkpoint(tmp_path, seed=1))
            gateway.process.send_signal(signal.SIGHUP)
            async with asyncio.timeout(STARTING_TIMEOUT_S):
                await asyncio.to_thread(wait_for_line, gateway, "The new model answers now\n")
            over.set()
        new = [await ask(http, number, 0) for number in range(N_CLIENTS)]  # asked before: what was known is forgotten
    assert new != old
    assert all(found <= {first, second} for found, first, second in zip(answered, old, new, strict=True))
    assert not set(before) & set(replicas())
