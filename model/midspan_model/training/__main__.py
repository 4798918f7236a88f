"""Trains a denoiser by a recipe; run again with the same folder, it goes on where it was.

python -m midspan_model.training.corpus --package attrs --repository src/click --held-out held-out/flask --out corpus
python -m midspan_model.training cpu --corpus corpus/train --held-out corpus/held-out --out run
"""

from __future__ import annotations

import argparse
import signal
import sys
from dataclasses import replace
from pathlib import Path

import torch

from midspan_model.checkpoints import build, read_state
from midspan_model.config import ModelConfig
from midspan_model.embedded import fetch_trunk
from midspan_model.errors import ModelError
from midspan_model.machine import best_dtype, best_threads
from midspan_model.tokenizer import Tokenizer
from midspan_model.training.batching import Batches
from midspan_model.training.nodes import node_source
from midspan_model.training.noise import PATTERNS
from midspan_model.training.parameters import Parameters, count_parameters, new_parameters, start_from
from midspan_model.training.recipes import RECIPES
from midspan_model.training.saving import file_sha256
from midspan_model.training.settings import Recipe
from midspan_model.training.shards import read_shards
from midspan_model.training.trainer import Trainer

_HELDOUT_SEED = 7


def main() -> int:
    """Train; 0 at the recipe's end or after a signal."""
    options = _parser().parse_args()
    stopped: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda got, _frame: stopped.append(got))
    try:
        trainer = _trainer(_recipe(options), options)
        done = trainer.run(lambda: bool(stopped), lambda line: print(line, flush=True))
    except ModelError as error:
        print(f"{error}\n{error.hint}", file=sys.stderr)
        return 1
    print(f"{'done' if done else 'stopped'} at step {trainer.step}: {trainer.folder}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m midspan_model.training", description="Train a denoiser.")
    parser.add_argument("recipe", choices=sorted(RECIPES))
    parser.add_argument("--corpus", type=Path, required=True, help="folder of documents to learn from")
    parser.add_argument("--held-out", type=Path, required=True, help="folder of documents to look at")
    parser.add_argument("--out", type=Path, required=True, help="folder of the run, outside the repository")
    parser.add_argument("--size", type=int, help="documents of a forward: what memory and speed depend on")
    parser.add_argument("--trunk", type=Path, help="checkpoint folder; by default the embedded model's")
    parser.add_argument("--start-from", type=Path, help="adapter file of an earlier run of the same kind")
    parser.add_argument("--nodes", default="midspan_model.training.nodes:python_nodes", help="module:function")
    parser.add_argument("--threads", type=int, default=0, help="by default half of the processors")
    for name, kind in (("steps", int), ("hours", float), ("device", str), ("dtype", str), ("workers", int)):
        parser.add_argument(f"--{name}", type=kind, help="in place of the recipe's")
    for name, kind in (("learning-rate", float), ("save-every", int), ("eval-every", int), ("accumulate", int)):
        parser.add_argument(f"--{name}", type=kind, help="in place of the recipe's")
    for name in ("rank", "anneal-steps", "warmup-steps", "eval-batches"):
        parser.add_argument(f"--{name}", type=int, help="in place of the recipe's")
    for name in ("holes", "cursors"):
        parser.add_argument(f"--{name}", type=int, help="of a document, in place of the recipe's")
    parser.add_argument("--patterns", nargs="+", choices=sorted(PATTERNS), help="a hole's samples, for the recipe's")
    parser.add_argument("--full", action="store_true", default=None, help="train all matrices, not an adapter")
    parser.add_argument("--compiled", action="store_true", default=None, help="let torch compile the layers")
    return parser


def _recipe(options: argparse.Namespace) -> Recipe:
    """The recipe with what the command line changes."""
    make = RECIPES[options.recipe]
    recipe = make(options.size) if options.size else make()  # pyright: ignore[reportCallIssue]
    given = {name: value for name, value in vars(options).items() if value is not None}
    cut = {name: given[name] for name in ("holes", "cursors") if name in given}
    if "patterns" in given:
        cut["patterns"] = tuple(given["patterns"])
    changes = {name: value for name, value in given.items() if hasattr(recipe, name)}
    return replace(recipe, **changes, batch=replace(recipe.batch, **cut))


def _trainer(recipe: Recipe, options: argparse.Namespace) -> Trainer:
    torch.set_num_threads(options.threads or best_threads())
    options.out.mkdir(parents=True, exist_ok=True)
    folder = options.trunk or fetch_trunk(lambda _what, _done, _total: None)
    model = ModelConfig.load(folder / "config.json")
    tokenizer = Tokenizer(folder / "tokenizer.json", model.n_special)
    state = read_state(folder / "trunk.safetensors")
    parameters = new_parameters(state, recipe.rank, recipe.seed, full=recipe.full)
    if options.start_from:
        start_from(parameters, read_state(options.start_from))
    print(f"{recipe}\n{count_parameters(parameters, model)}", flush=True)
    trunk = build(model, state).to(recipe.device, compute_dtype(recipe))
    nodes = node_source(options.nodes)
    batches = Batches(read_shards(options.corpus), tokenizer, model, recipe.batch, recipe.seed, nodes)
    heldout = Batches(read_shards(options.held_out), tokenizer, model, recipe.batch, _HELDOUT_SEED, nodes)
    sha256 = file_sha256(folder / "trunk.safetensors")
    return Trainer(recipe, trunk, sha256, on_device(parameters, recipe), batches, heldout, options.out)


def on_device(parameters: Parameters, recipe: Recipe) -> Parameters:
    """Parameters where they are trained."""
    return {name: torch.nn.Parameter(value.detach().to(recipe.device)) for name, value in parameters.items()}


def compute_dtype(recipe: Recipe) -> torch.dtype:
    """The number type to compute in."""
    if recipe.dtype != "auto":
        return {"bfloat16": torch.bfloat16, "float32": torch.float32}[recipe.dtype]
    return best_dtype() if recipe.device == "cpu" else torch.bfloat16


if __name__ == "__main__":
    sys.exit(main())
