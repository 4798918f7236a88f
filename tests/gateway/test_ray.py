"""Replicas of Ray Serve behind one gateway: one is killed under load, and each has the documents it knows."""

from __future__ import annotations

import asyncio
import os
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from gateway_process import RunningGateway, running_gateway
from test_overload import question

pytest.importorskip("ray", reason="needs the extra `cluster`")

MARK = uuid.uuid4().hex
# Ray's sockets lie in its folder, whose path must be short
ENVIRONMENT = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_TMPDIR": "/tmp", "MIDSPAN_TEST": MARK}
N_CLIENTS, N_ROUNDS, N_REPLICAS = 6, 8, 2
STARTING_TIMEOUT_S = 120


@pytest.fixture(scope="module")
def gateway(tiny_checkpoint: Path) -> Iterator[RunningGateway]:
    with running_gateway("--model", str(tiny_checkpoint), "--ray", str(N_REPLICAS), environment=ENVIRONMENT) as gateway:
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


def answers(gateway: RunningGateway) -> list[str]:
    """Each client's, when nobody else asks."""
    with gateway.client() as client:
        asked = (client.post("/v1/completions", json=question(number)) for number in range(N_CLIENTS))
        return [answer.json()["choices"][0]["text"] for answer in asked]


async def ask(http: httpx.AsyncClient, number: int, turn: int) -> str:
    """A client's question, in a document that it was not asked in before; it must be answered."""
    response = await http.post("/v1/completions", json={**question(number), "path": f"{turn}.unknown"})
    assert response.status_code == 200, response.text
    return response.json()["choices"][0]["text"]


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
    expected, before = answers(gateway), replicas()
    assert len(before) == N_REPLICAS

    async def ask_often(http: httpx.AsyncClient, number: int) -> None:
        for turn in range(N_ROUNDS):
            assert await ask(http, number, turn) == expected[number]

    async with httpx.AsyncClient(base_url=gateway.url, timeout=STARTING_TIMEOUT_S, trust_env=False) as http:
        tasks = [asyncio.create_task(ask_often(http, number)) for number in range(N_CLIENTS)]
        await asyncio.sleep(0.3)
        os.kill(before[0], signal.SIGKILL)
        await asyncio.gather(*tasks)
        async with asyncio.timeout(STARTING_TIMEOUT_S):
            while len(now := replicas()) < N_REPLICAS or before[0] in now:  # noqa: ASYNC110  (Ray tells nobody)
                await asyncio.sleep(0.2)
        assert await ask(http, 0, N_ROUNDS) == expected[0]
