"""What a report was made with: weights, versions, machine. Enough to make it again."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
from pathlib import Path

import torch


def checkpoint_sha256(folder: Path) -> dict[str, str]:
    """The same of a published checkpoint."""
    paths = [*folder.glob("*.safetensors"), *folder.glob("*.json"), *folder.glob("merges.txt")]
    return {path.name: _sha256(path) for path in sorted(paths)}


def weights_sha256(folder: Path, adapter: Path) -> dict[str, str]:
    """The sha256 of each file the model is put together from."""
    files = {
        "trunk": folder / "trunk.safetensors",
        "adapter": adapter,
        "tokenizer": folder / "tokenizer.json",
        "config": folder / "config.json",
    }
    return {name: _sha256(path) for name, path in files.items()}


def machine(dtype: str) -> dict[str, object]:
    """What it ran on. No name of the machine or of its owner."""
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "tokenizers": importlib.metadata.version("tokenizers"),
        "system": platform.system(),
        "processor": platform.machine(),
        "threads": torch.get_num_threads(),
        "dtype": dtype,
    }


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
