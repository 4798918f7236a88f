"""Runs: one batch is learnt by heart, a killed run goes on exactly, the adapter file serves inference."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from midspan_model.checkpoints import build, load_infiller, read_state
from midspan_model.config import DenoiseConfig
from midspan_model.errors import ModelError
from midspan_model.questions import Question
from midspan_model.tokenizer import Tokenizer
from midspan_model.training.batching import Batches
from midspan_model.training.nodes import python_nodes
from midspan_model.training.parameters import new_parameters
from midspan_model.training.recipes import RECIPES, tiny
from midspan_model.training.release import release
from midspan_model.training.saving import ADAPTER, save_adapter
from midspan_model.training.settings import BatchConfig, HoleMix, Recipe
from midspan_model.training.shards import Document, write_shards
from midspan_model.training.trainer import Trainer
from safetensors import safe_open
from tiny_model import MODEL, Stop

SOURCE = Path(__file__).read_text(encoding="utf-8")
SMALL = replace(tiny(), steps=9, save_every=3, eval_every=6, log_every=1)


def quiet(_line: str) -> None:
    pass


def trainer(checkpoint: Path, folder: Path, recipe: Recipe, text: str = SOURCE) -> Trainer:
    torch.set_num_threads(1)
    folder.mkdir(exist_ok=True)
    tokenizer = Tokenizer(checkpoint / "tokenizer.json", MODEL.n_special)
    state = read_state(checkpoint / "trunk.safetensors")
    batches = [
        Batches([Document(text, "a.py", "own", "python")], tokenizer, MODEL, recipe.batch, seed, python_nodes)
        for seed in (recipe.seed, 7)
    ]
    parameters = new_parameters(state, recipe.rank, recipe.seed, full=recipe.full)
    return Trainer(recipe, build(MODEL, state), "0" * 64, parameters, *batches, folder)


def curve(folder: Path) -> list[dict[str, str]]:
    from midspan_model.training.log import TrainLog

    return [{**row, "elapsed_s": ""} for row in TrainLog(folder).rows()]


@pytest.mark.parametrize("full", [False, True])
def test_a_killed_run_goes_on_bit_for_bit(tiny_checkpoint: Path, tmp_path: Path, full: bool) -> None:
    recipe = replace(SMALL, full=full)
    assert trainer(tiny_checkpoint, tmp_path / "whole", recipe).run(lambda: False, quiet)

    def killed() -> bool:
        if part.step == 5:
            raise KeyboardInterrupt
        return False

    part = trainer(tiny_checkpoint, tmp_path / "part", recipe)
    with pytest.raises(KeyboardInterrupt):  # between two checkpoints, and rows were logged since
        part.run(killed, quiet)
    again = trainer(tiny_checkpoint, tmp_path / "part", recipe)
    assert again.step == 3
    assert again.run(lambda: False, quiet)
    assert curve(tmp_path / "part") == curve(tmp_path / "whole")
    assert [row["step"] for row in curve(tmp_path / "whole")] == [str(step) for step in range(10)]
    one, other = (read_state(tmp_path / name / "adapter.safetensors") for name in ("part", "whole"))
    assert all(tensor.equal(other[name]) for name, tensor in one.items())


def test_a_run_of_another_recipe_is_not_gone_on_with(tiny_checkpoint: Path, tmp_path: Path) -> None:
    trainer(tiny_checkpoint, tmp_path, replace(SMALL, steps=1)).run(lambda: False, quiet)
    assert trainer(tiny_checkpoint, tmp_path, replace(SMALL, steps=2)).step == 1
    with pytest.raises(ModelError, match="learning_rate"):
        trainer(tiny_checkpoint, tmp_path, replace(SMALL, learning_rate=1.0))


def test_time_ends_a_run(tiny_checkpoint: Path, tmp_path: Path) -> None:
    run = trainer(tiny_checkpoint, tmp_path, replace(SMALL, steps=10_000, hours=0.5 / 3600))
    assert run.run(lambda: False, quiet)
    assert 0 < run.step < 10_000


@pytest.mark.parametrize("full", [False, True])
def test_one_text_is_learnt_by_heart(tiny_checkpoint: Path, tmp_path: Path, full: bool) -> None:
    """And the infiller that loads the saved adapter then fills its lines in."""
    lines = ["p=1", "q:2", "r+3", "s-4", "t*5"]  # with the line break to be healed and the end they fill a block
    text = "".join(f"# line {index}\n{line}\n" for index, line in enumerate(lines))
    only_lines = HoleMix(1, 0, 0, 0, at_first_character=1, inside_line=0, empty_suffix=0, cut_suffix=0)
    batch = BatchConfig(documents=2, holes=8, prefix_tokens=90, suffix_tokens=24, widths=(6,), mix=only_lines)
    recipe = Recipe(
        "memory",
        batch,
        full=full,
        rank=16,
        learning_rate=6e-3 if full else 1e-2,
        steps=250,
        warmup_steps=5,
        anneal_steps=20,
        eval_every=250,
        eval_batches=2,
        save_every=250,
    )
    trainer(tiny_checkpoint, tmp_path, recipe, text).run(lambda: False, quiet)
    losses = [float(row["heldout_loss"]) for row in curve(tmp_path) if row["heldout_loss"]]
    assert losses[-1] < losses[0] / 10
    config = DenoiseConfig(prefix_tokens=90, suffix_tokens=24)
    infiller = load_infiller(tiny_checkpoint, config, adapter=tmp_path / "adapter.safetensors", dtype=torch.float32)
    right = 0
    for line in lines:
        start = text.index(line)
        middle = infiller.infill(Question(text[:start], text[start + len(line) :]), Stop())
        right += middle is not None and middle.text == line
    assert right >= 4


def test_the_adapter_says_what_it_is(tiny_checkpoint: Path, tmp_path: Path) -> None:
    trainer(tiny_checkpoint, tmp_path, replace(SMALL, steps=2)).run(lambda: False, quiet)
    with safe_open(tmp_path / "adapter.safetensors", "pt") as file:
        metadata = file.metadata()
    assert metadata["trunk_sha256"] == "0" * 64
    assert (metadata["version"], metadata["steps"], metadata["samples"]) == ("1", "2", "64")
    assert json.loads(metadata["recipe"])["name"] == "tiny"


def test_curves_are_drawn(tiny_checkpoint: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    trainer(tiny_checkpoint, tmp_path, replace(SMALL, steps=2)).run(lambda: False, quiet)
    assert (tmp_path / "log.png").read_bytes().startswith(b"\x89PNG")


def test_recipes_are_sized_by_one_argument() -> None:
    for make in RECIPES.values():
        assert make(3).batch.documents == 3
        assert max(make(3).batch.widths) <= 16


@pytest.fixture
def command(tiny_checkpoint: Path, tmp_path: Path) -> list[str]:
    for name in ("train", "held-out"):
        (tmp_path / name).mkdir()
        write_shards([Document(SOURCE, "a.py", "own", "python")], tmp_path / name)
    folders = ["--corpus", tmp_path / "train", "--held-out", tmp_path / "held-out", "--trunk", tiny_checkpoint]
    options = [
        "--threads",
        "1",
        "--dtype",
        "float32",
        "--steps",
        "40",
        "--eval-every",
        "40",
        "--save-every",
        "4",
        "--workers",
        "1",
    ]
    return [sys.executable, "-m", "midspan_model.training", "tiny", *map(str, folders), *options, "--out"]


def test_the_command_survives_kill_and_ends_on_a_signal(
    command: list[str], tiny_checkpoint: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"

    def start_until_saved(signal_number: int) -> subprocess.Popen[str]:
        before = (run / "state.pt").stat().st_mtime_ns if run.exists() else 0
        process = subprocess.Popen([*command, str(run)], stdout=subprocess.PIPE, text=True)
        deadline_s = time.monotonic() + 60
        while not (run / "state.pt").exists() or (run / "state.pt").stat().st_mtime_ns == before:
            assert time.monotonic() < deadline_s
            assert process.poll() is None, process.communicate()[0]
            time.sleep(0.005)
        os.kill(process.pid, signal_number)
        return process

    killed = start_until_saved(signal.SIGKILL)
    assert killed.wait(30) == -signal.SIGKILL
    killed.communicate()
    stopped = start_until_saved(signal.SIGTERM)
    assert "stopped at step" in stopped.communicate(timeout=30)[0]
    assert stopped.returncode == 0
    subprocess.run([*command, str(run)], check=True, capture_output=True)
    recipe = replace(tiny(), steps=40, eval_every=40)
    assert trainer(tiny_checkpoint, tmp_path / "whole", recipe).run(lambda: False, quiet)
    assert curve(run) == curve(tmp_path / "whole")


def test_a_run_is_released_in_half_the_bytes(tiny_checkpoint: Path, tmp_path: Path) -> None:
    run, corpus, out = tmp_path / "run", tmp_path / "corpus", tmp_path / "released.safetensors"
    run.mkdir()
    corpus.mkdir()
    save_adapter(run / ADAPTER, read_state(tiny_checkpoint / "adapter.safetensors"), {"steps": "7"})
    with pytest.raises(ModelError, match="no record"):
        release(run, corpus, "1", out)
    source = {"name": "a/b", "state": "c0ffee", "licence": "MIT", "kept": 3}
    (corpus / "record.json").write_text(json.dumps({"sources": [source, {**source, "kept": 0}]}), encoding="utf-8")
    assert release(run, corpus, "1", out) < 0.01
    assert out.stat().st_size < 0.7 * (run / ADAPTER).stat().st_size
    with safe_open(out, "pt") as file:
        assert file.metadata() == {"steps": "7", "version": "1", "corpus": '["a/b@c0ffee (MIT)"]'}
    load_infiller(tiny_checkpoint, DenoiseConfig(), adapter=out)
    ended = {name: value + 1 for name, value in read_state(out).items()}
    save_adapter(run / ADAPTER, ended, {"steps": "9"})
    between = tmp_path / "between.safetensors"
    release(run, corpus, "2", between, start=out, share=0.25)
    assert torch.allclose(read_state(between)["mask_embedding"], read_state(out)["mask_embedding"] + 0.25)
    with safe_open(between, "pt") as file:
        assert file.metadata()["version"] == "2, 0.25 of the way from 1"
