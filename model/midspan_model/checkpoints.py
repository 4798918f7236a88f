"""Checkpoint folders, and the weights put together from them.

A folder holds `config.json`, `tokenizer.json`, `trunk.safetensors` and, unless the adapter lies elsewhere,
`adapter.safetensors`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from midspan_model.architecture import Transformer
from midspan_model.calibration import Calibrator
from midspan_model.config import DenoiseConfig, ModelConfig
from midspan_model.errors import WeightsError
from midspan_model.infilling import Infiller
from midspan_model.lora import merged_state
from midspan_model.machine import best_dtype
from midspan_model.tokenizer import Tokenizer


def load_infiller(
    folder: Path, config: DenoiseConfig, *, adapter: Path | None = None, dtype: torch.dtype | None = None
) -> Infiller:
    """The infiller of a checkpoint folder, its adapter merged, with the calibrator beside the adapter if there is one.

    Args:
        folder: see the module.
        config: how middles are denoised.
        adapter: the adapter's file; by default the folder's own.
        dtype: number type to compute in; by default what this machine does best.

    Raises:
        WeightsError: a file is missing, damaged, or does not fit the others.
    """
    model = ModelConfig.load(folder / "config.json")
    tokenizer = Tokenizer(folder / "tokenizer.json", model.n_special)
    if tokenizer.vocab_size != model.vocab_size:
        raise WeightsError(f"the tokenizer has {tokenizer.vocab_size} tokens, the model {model.vocab_size}")
    dtype = dtype or best_dtype()
    trunk_state = {name: tensor.to(dtype) for name, tensor in read_state(folder / "trunk.safetensors").items()}
    adapter = adapter or folder / "adapter.safetensors"
    adapter_state = read_state(adapter)
    trunk = build(model, trunk_state)
    calibration = calibration_file(adapter)
    calibrator = Calibrator.load(calibration) if calibration.exists() else None
    return Infiller(trunk, build(model, merged_state(trunk_state, adapter_state)), tokenizer, config, calibrator)


def calibration_file(adapter: Path) -> Path:
    """Where the calibrator of an adapter lies, if there is one."""
    return adapter.with_suffix(".calibration.json")


def build(model: ModelConfig, state: Mapping[str, Tensor]) -> Transformer:
    """A transformer around the given tensors, which it shares.

    Raises:
        WeightsError: the tensors are not those of this shape.
    """
    with torch.device("meta"):
        transformer = Transformer(model)
    try:
        transformer.load_state_dict(dict(state), assign=True)
    except RuntimeError as error:
        raise WeightsError(f"the weights do not fit the model's shape: {error}") from error
    return transformer.eval().requires_grad_(requires_grad=False)


def read_state(path: Path) -> dict[str, Tensor]:
    """All tensors of a safetensors file.

    Raises:
        WeightsError: it is missing or damaged.
    """
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise WeightsError(
            f"{path.name} of the model cannot be read: {error}",
            hint="`midspan fetch --again` gets the weights anew.",
        ) from error


def save_state(state: Mapping[str, Tensor], path: Path, metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors as safetensors."""
    save_file({name: tensor.contiguous() for name, tensor in state.items()}, path, dict(metadata or {}))
