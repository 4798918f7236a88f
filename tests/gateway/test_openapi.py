"""Schemathesis asks whatever the served OpenAPI document allows, and what it forbids: nothing fails, all is as said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import schemathesis
from gateway_process import RunningGateway, running_gateway
from hypothesis import HealthCheck, Phase, given, settings

N_EXAMPLES = 40


@pytest.fixture(scope="module")
def gateway(tiny_checkpoint: Path) -> Iterator[RunningGateway]:
    with running_gateway("--model", str(tiny_checkpoint)) as gateway:
        yield gateway


def test_the_document_is_one(gateway: RunningGateway) -> None:
    with gateway.client() as client:
        document = client.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert {"/v1/completions", "/v1/fim/completions", "/api/generate", "/infill"} <= document["paths"].keys()


@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode))
def test_everything_answers_as_the_document_says(gateway: RunningGateway, mode: schemathesis.GenerationMode) -> None:
    schema = schemathesis.openapi.from_url(f"{gateway.url}/openapi.json")
    n_operations = 0
    for result in schema.get_all_operations():
        operation = result.ok()
        n_operations += 1

        @given(operation.as_strategy(generation_mode=mode))
        @settings(
            max_examples=N_EXAMPLES,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def ask(case: schemathesis.Case) -> None:
            case.call_and_validate(timeout=30)

        try:
            ask()
        except Exception as error:
            if "nothing to negate" in str(error) or type(error).__name__ == "Unsatisfiable":
                continue  # an operation without a body has no bad one
            raise
    assert n_operations == 10
