"""Replicas deployed by this process: more while there is more to do; none replaced without need, or by what fails."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from midspan_lsp.backends.ray_plan import Scale
from midspan_lsp.config import Settings
from midspan_lsp.errors import BackendUnavailable
from midspan_lsp.types import CancellationToken, InfillRequest
from test_ray import ENVIRONMENT, STARTING_TIMEOUT_S, replicas

ray = pytest.importorskip("ray", reason="needs the extra `cluster`")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own

N_CLIENTS = 12
SCALE = Scale(1, 2, grow_after_s=0.2, shrink_after_s=1.0)
# how often Ray is told what there is to do; it reads this when it is imported
QUICK = {f"RAY_SERVE_{who}_AUTOSCALING_METRIC_PUSH_INTERVAL_S": "0.2" for who in ("HANDLE", "REPLICA")}


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (ENVIRONMENT | QUICK).items():
            patch.setenv(name, value)
        ray.init(log_to_driver=False, include_dashboard=False, configure_logging=False)
        yield
        ray.shutdown()


async def backend_of(checkpoint: Path):
    """Deployed, or found."""
    from midspan_lsp.backends.ray_cluster import RayBackend

    settings = Settings()
    backend = RayBackend(replace(settings, model=replace(settings.model, path=str(checkpoint))), SCALE, n_together=2)
    async with asyncio.timeout(STARTING_TIMEOUT_S):
        await backend.load(lambda _progress: None)
    return backend


async def wait_for_replicas(count: int) -> None:
    async with asyncio.timeout(STARTING_TIMEOUT_S):
        while len(replicas()) != count:  # noqa: ASYNC110  (Ray tells nobody)
            await asyncio.sleep(0.1)


async def ask(backend, number: int) -> str:
    response = await backend.infill(InfillRequest(f"x_{number} = 1\ny = ", "\n"), CancellationToken(30))
    return response.candidates[0].text


async def test_there_are_more_while_there_is_more_to_do(tiny_checkpoint: Path) -> None:
    backend = await backend_of(tiny_checkpoint)
    assert len(replicas()) == SCALE.least
    expected, over = [await ask(backend, number) for number in range(N_CLIENTS)], asyncio.Event()

    async def ask_often(number: int) -> None:
        while not over.is_set():
            assert await ask(backend, number) == expected[number]

    async with asyncio.TaskGroup() as clients:
        for number in range(N_CLIENTS):
            clients.create_task(ask_often(number))
        await wait_for_replicas(SCALE.most)
        over.set()
    await wait_for_replicas(SCALE.least)


async def test_who_joins_finds_what_is_there(tiny_checkpoint: Path) -> None:
    first, before = await backend_of(tiny_checkpoint), replicas()
    second = await backend_of(tiny_checkpoint)
    assert await ask(first, 1) == await ask(second, 1)
    assert not await second.renew()
    assert replicas() == before


async def test_the_old_model_goes_on_where_the_new_one_fails(tiny_checkpoint: Path, tmp_path: Path) -> None:
    backend, before = await backend_of(tiny_checkpoint), replicas()
    expected = await ask(backend, 1)
    with pytest.raises(BackendUnavailable, match="do not start"):
        await backend_of(tmp_path)
    assert await ask(backend, 1) == expected
    assert replicas() == before
    assert await backend.renew(), "what has failed is deployed no more"
