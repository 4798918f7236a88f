"""A gateway as the backend of another server: its middles come with their probability, so eagerness counts."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from gateway_process import RunningGateway, running_gateway
from midspan_lsp.backend_settings import BackendSettings
from midspan_lsp.backends.http.candidates import UNKNOWN_PROBABILITY, is_probability_known
from midspan_lsp.backends.http_fim import HttpFimBackend
from midspan_lsp.config import LEAST_PROBABILITY, CompletionSettings, Settings
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine.outcome import Silence
from midspan_lsp.engine.pipeline import Engine
from midspan_lsp.types import CancellationToken, InfillRequest

PREFIX, SUFFIX = "x_1 = 1\ny = ", "\nprint(1)\n"


@pytest.fixture(scope="module")
def gateway(tiny_checkpoint: Path) -> Iterator[RunningGateway]:
    with running_gateway("--model", str(tiny_checkpoint)) as gateway:
        yield gateway


@pytest.fixture
async def backend(gateway: RunningGateway) -> AsyncGenerator[HttpFimBackend]:
    backend = HttpFimBackend(BackendSettings(kind="http", dialect="midspan", url=gateway.url, delay_ms=0))
    await backend.load(lambda _progress: None)
    yield backend
    await backend.aclose()


async def test_a_gateway_tells_how_likely_its_middle_is(gateway: RunningGateway, backend: HttpFimBackend) -> None:
    response = await backend.infill(InfillRequest(PREFIX, SUFFIX), CancellationToken(30))
    (candidate,) = response.candidates
    assert is_probability_known(candidate)
    assert 0 < candidate.probability < 1
    with gateway.client() as client:
        asked = {"prompt": PREFIX, "suffix": SUFFIX, "stream": True}
        assert '"probability"' in client.post("/v1/completions", json=asked).text
        nothing = client.post("/v1/completions", json={"prompt": "", "max_tokens": 0}).json()
    assert "probability" not in nothing["choices"][0]


async def test_eagerness_counts_across_a_gateway(backend: HttpFimBackend) -> None:
    document = DocumentSnapshot("file:///a.unknown", "", None, PREFIX + SUFFIX)
    for eagerness, least in LEAST_PROBABILITY.items():
        settings = replace(Settings(), completion=CompletionSettings(eagerness=eagerness.value))
        outcome = await Engine(backend, settings).answer(document, len(PREFIX), CancellationToken(30))
        assert outcome.probability != UNKNOWN_PROBABILITY
        assert outcome.silence is (None if outcome.probability >= least else Silence.UNSURE)
