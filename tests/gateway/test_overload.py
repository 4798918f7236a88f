"""More than can be answered: the rest is turned away at once, nothing is mixed up, and afterwards all is as before."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from gateway_process import RunningGateway, running_gateway

N_CLIENTS, N_ROUNDS = 96, 3


@pytest.fixture(scope="module")
def gateway(tiny_checkpoint: Path) -> Iterator[RunningGateway]:
    with running_gateway("--model", str(tiny_checkpoint)) as gateway:
        yield gateway


def question(number: int) -> dict[str, object]:
    return {"prompt": f"x_{number} = {number * number}\ny = ", "suffix": f"\nprint({number})\n", "model": f"m{number}"}


async def test_it_sheds_and_recovers_and_mixes_nothing_up(gateway: RunningGateway) -> None:
    async with httpx.AsyncClient(base_url=gateway.url, timeout=60, trust_env=False) as alone:
        expected = {}
        for number in range(N_CLIENTS):
            answer = (await alone.post("/v1/completions", json=question(number))).json()
            expected[number] = answer["choices"][0]["text"]
    assert len(set(expected.values())) > N_CLIENTS // 2, "the answers tell the questions apart"

    statuses: list[int] = []

    async def ask(number: int) -> None:
        async with httpx.AsyncClient(base_url=gateway.url, timeout=60, trust_env=False) as client:
            for turn in range(N_ROUNDS):
                # another document each time: the last answers are known already
                asked = {**question(number), "path": f"{turn}.unknown"}
                response = await client.post("/v1/completions", json=asked)
                statuses.append(response.status_code)
                if response.status_code == 429:
                    assert int(response.headers["retry-after"]) >= 1
                    continue
                answer = response.json()
                assert answer["model"] == f"m{number}"
                assert answer["choices"][0]["text"] == expected[number]

    await asyncio.gather(*(ask(number) for number in range(N_CLIENTS)))
    assert set(statuses) == {200, 429}
    assert statuses.count(200) >= 32
    gateway.wait_for_metric("midspan_requests_waiting", 0)
    gateway.wait_for_metric("midspan_requests_working", 0)
    with gateway.client() as client:
        assert client.post("/v1/completions", json=question(0)).json()["choices"][0]["text"] == expected[0]
        assert client.get("/health").status_code == 200
