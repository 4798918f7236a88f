"""Checkpoints of a run: all that is needed to go on exactly, and the adapter file that inference loads."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from midspan_model.checkpoints import save_state
from midspan_model.errors import ModelError
from midspan_model.training.settings import Recipe

STATE = "state.pt"
ADAPTER = "adapter.safetensors"
_FORMAT = "1"
_MAY_CHANGE = frozenset({"steps", "hours", "device", "eval_every", "save_every", "log_every", "workers", "compiled"})


def save_run(folder: Path, state: Mapping[str, Any], recipe: Recipe) -> None:
    """Write the run's state, whole or not at all."""
    part = folder / f"{STATE}.part"
    with part.open("wb") as file:
        torch.save({**state, "recipe": json.dumps(asdict(recipe))}, file)
        file.flush()
        os.fsync(file.fileno())
    part.replace(folder / STATE)


def load_run(folder: Path, recipe: Recipe) -> dict[str, Any] | None:
    """What `save_run` wrote; None if the folder holds no run.

    Raises:
        ModelError: the run had another recipe; only its length, device and rhythm may change.
    """
    path = folder / STATE
    if not path.exists():
        return None
    state = torch.load(path, map_location="cpu", weights_only=True)
    earlier, now = json.loads(state.pop("recipe")), json.loads(json.dumps(asdict(recipe)))
    changed = sorted(name for name in now if name not in _MAY_CHANGE and earlier.get(name) != now[name])
    if changed:
        raise ModelError(
            f"the run in {folder} had another recipe: {', '.join(changed)}",
            hint="Choose another folder, or the same recipe.",
        )
    return state


def save_adapter(path: Path, values: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Write the adapter file, whole or not at all."""
    part = path.with_suffix(".part")
    save_state(values, part, metadata)
    part.replace(path)


def adapter_metadata(recipe: Recipe, step: int, trunk_sha256: str) -> dict[str, str]:
    """What an adapter file says of itself."""
    return {
        "version": _FORMAT,
        "trunk_sha256": trunk_sha256,
        "recipe": json.dumps(asdict(recipe), sort_keys=True),
        "steps": str(step),
        "samples": str(step * recipe.samples_per_step),
    }


def file_sha256(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
