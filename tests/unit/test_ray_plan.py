"""When replicas are to be replaced."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from midspan_lsp.backends.ray_plan import Scale, plan_of, read_plan
from midspan_lsp.cli.parser import build_parser
from midspan_lsp.config import Settings

SIZE = 300_000


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "adapter.safetensors").write_bytes(bytes(SIZE))
    return replace(Settings(), model=replace(Settings().model, path=str(tmp_path), threads=3))


def test_a_plan_says_all_that_a_replica_needs(settings: Settings) -> None:
    told, n_together = read_plan(plan_of(settings, Scale(1, 2), 4).text)
    assert (told.model, told.context, n_together) == (settings.model, settings.context, 4)


@pytest.mark.parametrize("at", [0, SIZE - 1])
def test_other_weights_at_the_same_place_are_another_plan(settings: Settings, at: int) -> None:
    before = plan_of(settings, Scale(), 4)
    assert plan_of(settings, Scale(), 4).text == before.text
    weights = Path(settings.model.path) / "weights" / "adapter.safetensors"
    data = bytearray(SIZE)
    data[at] = 1
    weights.write_bytes(data)
    assert plan_of(settings, Scale(), 4).text != before.text


def test_a_setting_and_a_number_of_replicas_are_another_plan(settings: Settings) -> None:
    other = replace(settings, context=replace(settings.context, prefix_tokens=256))
    plans = [plan_of(settings, Scale(), 4), plan_of(other, Scale(), 4), plan_of(settings, Scale(1, 2), 4)]
    assert len({plan.text for plan in plans}) == len(plans)


@pytest.mark.parametrize(("told", "meant"), [("2", (2, 2)), ("1-4", (1, 4))])
def test_the_command_line_tells_how_many(told: str, meant: tuple[int, int]) -> None:
    assert build_parser().parse_args(["gateway", "--ray", told]).ray == meant


@pytest.mark.parametrize("told", ["0", "4-1", "-3", "2-", "some"])
def test_no_such_number(told: str) -> None:
    with pytest.raises(SystemExit):
        build_parser().parse_args(["gateway", "--ray", told])
