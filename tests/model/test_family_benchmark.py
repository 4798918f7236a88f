"""The GPU run's program with a tiny shape on a processor; CUDA's own calls with a stand-in for the device alone."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import pytest
import torch
from family_checkpoints import write_family
from midspan_model.families import benchmark
from midspan_model.families.transformers_modules import Backbone
from midspan_model.families.weights import Int8Linear, Placement

CUDA = Placement(torch.device("cuda"), torch.bfloat16)
SMALL = (
    "--size",
    "tiny",
    "--device",
    "cpu",
    "--batch",
    "1",
    "3",
    "--slots",
    "2",
    "4",
    "--context",
    "8",
    "--rounds",
    "2",
)
WORKS = ["typed", "2 slots", "4 slots", "canvas"]


def lines_of(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.rstrip("\n").split("\n")


@pytest.mark.parametrize("weights", ["float32", "bfloat16", "int8"])
def test_every_batch_size_is_told_with_its_ridge(weights: str, capsys: pytest.CaptureFixture[str]) -> None:
    benchmark.main([*SMALL, "--weights", weights])
    head, *lines = lines_of(capsys)
    report = json.loads(lines[-1])
    assert "tiny with random weights, cpu" in head
    assert ("int8" if weights == "int8" else weights) in head
    assert "no GPU" in head
    assert [row["batch"] for row in report["rows"]] == [1, 3]
    for row in report["rows"]:
        assert list(row["ms"]) == WORKS
        assert all(ms > 0 for ms in row["ms"].values())
        assert (row["failed"], row["peak_gb"]) == ({}, None)
    told = [json.loads(line) for line in lines[:-1] if line.startswith("{")]
    assert told == report["rows"], "each is told at once too"
    row = benchmark.Row(3, {"typed": 2.0, "4 slots": 3.0}, {})
    assert row.ridge(4) == 1.5
    assert row.per_s("typed") == 1500
    assert row.per_s("4 slots", 2) == 2000
    assert sum("ridge" in line for line in lines) == 4


def test_what_fails_is_named_and_the_rest_goes_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    computed = Backbone.hidden

    def hidden(self: Backbone, ids_BT: torch.Tensor, *others: object) -> torch.Tensor:
        if ids_BT.shape in {(3, 2), (1, 8)}:
            raise torch.OutOfMemoryError("CUDA out of memory.\nTried to allocate")
        return computed(self, ids_BT, *others)

    monkeypatch.setattr(Backbone, "hidden", hidden)
    benchmark.main(SMALL)
    lines = lines_of(capsys)
    one, three = json.loads(lines[-1])["rows"]
    assert list(one["ms"]) == ["2 slots", "4 slots", "canvas"]
    assert one["failed"] == {"typed": "CUDA out of memory."}
    assert list(three["ms"]) == ["typed", "4 slots", "canvas"]
    assert "  2 slots failed: CUDA out of memory." in lines
    assert sum("ridge" in line for line in lines) == 1, "without typing there is none"


def test_int8_leaves_the_head_alone() -> None:
    placement = Placement(torch.device("cpu"), torch.float32, int8=True)
    backbone = benchmark.random_backbone("tiny", placement)
    kinds = {name: type(module) for name, module in backbone.named_modules()}
    assert sum(kind is Int8Linear for kind in kinds.values()) == 2 * 7
    assert kinds["language_model.lm_head"] is torch.nn.Linear
    assert not any(tensor.is_meta for tensor in backbone.state_dict().values())
    assert not any(tensor.is_meta for tensor in backbone.buffers())


def test_a_gpu_is_waited_for_and_asked_for_its_name_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: called.append(f"wait {device}"))
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda device: called.append(f"reset {device}"))
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda device: 15_231_000_000)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"a GPU at {device}")
    monkeypatch.setattr(torch.mps, "synchronize", lambda: called.append("wait mps"))
    benchmark._forget_peak(CUDA)
    assert benchmark._time(lambda: called.append("call"), CUDA, 2) >= 0
    assert called == ["reset cuda", *["wait cuda", "call", "wait cuda"] * 3]
    assert benchmark._peak_gb(CUDA) == 15.23
    assert CUDA.gpu == "a GPU at cuda"
    mps, cpu = (Placement(torch.device(name), torch.bfloat16) for name in ("mps", "cpu"))
    called.clear()
    benchmark._finish(mps)
    assert called == ["wait mps"]
    for placement in (mps, cpu):
        benchmark._forget_peak(placement)
        assert (benchmark._peak_gb(placement), placement.gpu) == (None, "")


def test_the_memory_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    benchmark._show(benchmark.Row(2, {"typed": 1.0}, {}, 15.23), [2])
    assert lines_of(capsys)[0] == "batch 2; 15.2 GB at most"


def test_the_approximate_caches_error_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_family("LLaDA", tmp_path / "llada")
    benchmark.main(
        ["--model", str(folder), "--device", "cpu", "--weights", "float32", "--context", "12", "--refresh", "3"]
    )
    *lines, last = lines_of(capsys)
    errors = json.loads(last)["cache_error"]
    assert list(errors) == ["0", "1", "2"]
    assert errors["0"] == [pytest.approx(0, abs=1e-6), 1.0], "fresh, it is exact"
    assert all(errors[age][0] > 0 for age in "12")
    assert len(lines) == 4


def test_the_module_runs_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmark", "families", *SMALL])
    monkeypatch.delitem(sys.modules, "midspan_model.benchmark", raising=False)
    runpy.run_module("midspan_model.benchmark", run_name="__main__")
    assert json.loads(lines_of(capsys)[-1])["size"] == "tiny"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_on_a_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    benchmark.main([*SMALL, "--device", "cuda"])
    rows = json.loads(lines_of(capsys)[-1])["rows"]
    assert all(list(row["ms"]) == WORKS and row["peak_gb"] > 0 for row in rows)
