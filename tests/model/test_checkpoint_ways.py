"""A published checkpoint's lengths and policies, measured by the command from end to end."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from evaluation_texts import PYTHON
from family_checkpoints import write_family
from midspan_model.config import DenoiseConfig
from midspan_model.denoising.choosing import Klass, PolicyName, policy_for
from midspan_model.errors import ModelError
from midspan_model.evaluation import command
from midspan_model.evaluation.checkpoint_ways import DEFAULT_POLICY, POLICIES, checkpoint_ways, lengths_of
from midspan_model.families.infiller import FamilyInfiller
from midspan_model.families.opening import family_of, open_checkpoint
from midspan_model.families.weights import Placement

FLOAT = Placement(torch.device("cpu"), torch.float32)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "shapes.py").write_text(PYTHON * 2, encoding="utf-8")
    return folder


def run(project: Path, folder: Path, *arguments: str) -> int:
    common = ("local-single-line", "--source", str(project), "--n", "2", "--threads", "1", "--device", "cpu")
    return command.main([*common, "--model", str(folder), *arguments])


def report_of(capsys: pytest.CaptureFixture[str]) -> tuple[list[str], dict[str, Any]]:
    *lines, last = capsys.readouterr().out.rstrip("\n").split("\n")
    return lines, json.loads(last)


def test_one_command_compares_lengths_and_policies(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_family("Dream", tmp_path / "dream")
    policies = ("threshold-0.9", "entropy-0", "wino-0.7")
    chosen = itertools.chain.from_iterable(("--policy", policy) for policy in policies)
    assert run(project, folder, *chosen, "--length", "fixed", "--length", "searched") == 0
    lines, report = report_of(capsys)
    (result,) = report["results"]
    wanted = [f"{length} {policy}" for length in ("searched", "fixed") for policy in policies]
    assert list(result["ways"]) == wanted, "the family's own way comes first"
    assert lines[0] == "local-single-line, python, 2 holes"
    assert [line[: len(way)] for way, line in zip(wanted, lines[2:], strict=True)] == wanted
    for way, line in zip(wanted, lines[2:], strict=True):
        figures = result["ways"][way]
        assert line.count("[") == (5 if way == wanted[0] else 6), "each figure has its interval"
        for name in ("exact", "forwards", "tokens/forward"):
            low, value, high = (figures[name][place] for place in (1, 0, 2))
            assert low <= value <= high
    fixed, searched = (result["ways"][f"{length} entropy-0"]["forwards"][0] for length in ("fixed", "searched"))
    assert fixed == 8, "one token a forward, from eight masks on"
    assert searched > 1
    assert result["exact_difference"].keys() == {f"{wanted[0]} less {way}" for way in wanted[1:]}
    assert report["weights_sha256"].keys() >= {"config.json", "merges.txt", "model-00001-of-00002.safetensors"}
    assert report["machine"]["dtype"].startswith("cpu, ")


def test_a_block_causal_checkpoint_has_one_way_to_a_length(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_family("SDAR", tmp_path / "sdar")
    assert run(project, folder, "--policy", "threshold-0.9") == 0
    assert list(report_of(capsys)[1]["results"][0]["ways"]) == ["open threshold-0.9"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--way", "midspan"), "--way is for a checkpoint of the embedded model's kind"),
        (("--length", "open"), "Dream has no length that is open"),
        (("--policy", "best-1"), "no way is called best-1"),
    ],
)
def test_what_has_no_meaning_is_refused(
    arguments: tuple[str, str], said: str, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(project, write_family("Dream", tmp_path / "dream"), *arguments) == 1
    assert said in capsys.readouterr().err


def test_the_embedded_kind_is_told_so_too(
    tiny_checkpoint: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(project, tiny_checkpoint) == 1
    assert "--device is for a published checkpoint" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["DreamOn", "LLaDA", "Fast-dLLM v2"])
def test_all_that_a_family_has_is_compared_and_its_own_first(name: str, tmp_path: Path) -> None:
    checkpoint = open_checkpoint(write_family(name, tmp_path / "it"), FLOAT)
    lengths = lengths_of(checkpoint.family)
    infiller = FamilyInfiller(checkpoint, DenoiseConfig())
    assert lengths[0] is infiller.length
    ways = list(checkpoint_ways(checkpoint, [], POLICIES))
    assert len(ways) == len(set(ways)) == len(lengths) * len(POLICIES)
    assert ways[0] == f"{infiller.length.value} {infiller.config.policy}-{infiller.config.threshold}"
    assert {policy.partition("-")[0] for policy in POLICIES} == set(PolicyName)
    assert POLICIES[0] == DEFAULT_POLICY
    with pytest.raises(ModelError):
        checkpoint_ways(checkpoint, ["longest"], POLICIES)


def test_klass_is_as_strict_as_its_authors_were_with_a_family(tmp_path: Path) -> None:
    for name, nats in (("Dream", 0.001), ("DreamOn", 0.001), ("DiffuCoder", 0.001), ("LLaDA", 0.01), ("SDAR", 0.01)):
        folder = write_family(name, tmp_path / name)
        assert family_of(folder).stable_nats == nats
    checkpoint = open_checkpoint(tmp_path / "Dream", FLOAT)
    for config, nats in (
        (DenoiseConfig(policy="klass"), 0.001),
        (DenoiseConfig(policy="klass", policy_bound=0.5), 0.5),
    ):
        policy = policy_for(FamilyInfiller(checkpoint, config).config, leftmost=False)
        assert isinstance(policy, Klass)
        assert policy.bound == nats
    assert FamilyInfiller(checkpoint, replace(DenoiseConfig(), policy="entropy")).config.policy_bound is None
