"""Checkpoint folders, and the weights put together from them.

A folder holds `config.json`, `tokenizer.json`, `trunk.safetensors` and, unless the adapter lies elsewhere,
`adapter.safetensors`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from midspan_model.architecture import Transformer
from midspan_model.blank import blank_modules
from midspan_model.calibration import Calibrator
from midspan_model.config import DenoiseConfig, ModelConfig
from midspan_model.errors import WeightsError
from midspan_model.infilling import Infiller
from midspan_model.linears import PackedLinear, Packing, best_packing
from midspan_model.lora import MergedState, merged_state
from midspan_model.machine import best_dtype, give_back_memory
from midspan_model.tokenizer import Tokenizer

_PACKING_THREADS = max(1, min(4, os.cpu_count() or 1))


def load_infiller(
    folder: Path, config: DenoiseConfig, *, adapter: Path | None = None, dtype: torch.dtype | None = None
) -> Infiller:
    """The infiller of a checkpoint folder, its adapter merged, with the calibrator beside the adapter if there is one.

    Args:
        folder: see the module.
        config: how middles are denoised.
        adapter: the adapter's file; by default the folder's own.
        dtype: compute in this number type, with plain linears; by default with packed ones, if they work here.

    Raises:
        WeightsError: a file is missing, damaged, or does not fit the others.
    """
    model = ModelConfig.load(folder / "config.json")
    tokenizer = Tokenizer(folder / "tokenizer.json", model.n_special)
    if tokenizer.vocab_size != model.vocab_size:
        raise WeightsError(f"the tokenizer has {tokenizer.vocab_size} tokens, the model {model.vocab_size}")
    adapter = adapter or folder / "adapter.safetensors"
    calibration = calibration_file(adapter)
    calibrator = Calibrator.load(calibration) if calibration.exists() else None
    trunk_state, adapter_state = StateFile(folder / "trunk.safetensors"), read_state(adapter)
    packing = best_packing() if dtype is None else None
    if packing is None:
        plain = {name: tensor.to(dtype or best_dtype()) for name, tensor in trunk_state.items()}
        trunk, denoiser = build(model, plain), build(model, merged_state(plain, adapter_state))
    else:
        trunk, denoiser = build_packed(model, trunk_state, adapter_state, packing)
    return Infiller(trunk, denoiser, tokenizer, config, calibrator)


def calibration_file(adapter: Path) -> Path:
    """Where the calibrator of an adapter lies, if there is one."""
    return adapter.with_suffix(".calibration.json")


def build(model: ModelConfig, state: Mapping[str, Tensor]) -> Transformer:
    """A transformer around the given tensors, which it shares.

    Raises:
        WeightsError: the tensors are not those of this shape.
    """
    with blank_modules():
        transformer = Transformer(model)
    return _load(transformer, state)


def build_packed(
    model: ModelConfig, trunk_state: Mapping[str, Tensor], adapter_state: Mapping[str, Tensor], packing: Packing
) -> tuple[Transformer, Transformer]:
    """Trunk and denoiser with packed linears (`linears.py`); they share embedding and head.

    Tensors are asked for one by one, so that no second copy of the weights is ever in memory.

    Raises:
        WeightsError: the tensors are not those of this shape.
    """
    embedding = trunk_state["embedding.weight"].clone()
    head = packing.denoiser(embedding)  # first, because what it needs for a moment is the most
    trunk = _build_packed(model, trunk_state, packing.trunk, embedding)
    denoiser = _build_packed(model, MergedState(trunk_state, adapter_state), packing.denoiser, embedding)
    trunk.packed_head = denoiser.packed_head = head
    return trunk, denoiser


def _build_packed(
    model: ModelConfig, state: Mapping[str, Tensor], linear: PackedLinear, embedding: Tensor
) -> Transformer:
    with blank_modules():
        transformer = Transformer(model)
    if unlike := transformer.state_dict().keys() ^ state.keys():
        raise WeightsError(f"the weights do not fit the model's shape: {', '.join(sorted(unlike)[:4])}")

    def pack(name: str, module: nn.Linear) -> nn.Module:
        weight = state[f"{name}.weight"]
        if weight.shape != module.weight.shape:
            raise WeightsError(f"the weights do not fit the model's shape: {name}")
        return linear(weight)

    linears = {name: module for name, module in transformer.named_modules() if isinstance(module, nn.Linear)}
    with ThreadPoolExecutor(_PACKING_THREADS) as pool:  # packing is slow, and waits for no other
        for name, packed in zip(linears, pool.map(pack, *zip(*linears.items(), strict=True)), strict=True):
            transformer.set_submodule(name, packed)
    give_back_memory()  # of the tensors that are packed now
    others = transformer.state_dict().keys() - {"embedding.weight"}
    return _load(transformer, {**{name: state[name].float() for name in others}, "embedding.weight": embedding})


def _load(transformer: Transformer, state: Mapping[str, Tensor]) -> Transformer:
    try:
        transformer.load_state_dict(dict(state), assign=True)
    except RuntimeError as error:
        raise WeightsError(f"the weights do not fit the model's shape: {error}") from error
    return transformer.eval().requires_grad_(requires_grad=False)


class StateFile(Mapping[str, Tensor]):
    """A safetensors file, each tensor of it read when it is asked for, and in memory no longer than it is used.

    Raises:
        WeightsError: it is missing or damaged.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with _open(path) as file:
            self._names = list(file.keys())

    def __getitem__(self, name: str) -> Tensor:
        with _open(self._path) as file:  # a mapping that stays open would keep the whole file in memory
            return file.get_tensor(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def read_state(path: Path) -> dict[str, Tensor]:
    """All tensors of a safetensors file.

    Raises:
        WeightsError: it is missing or damaged.
    """
    with _open(path) as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (it is no mapping)


@contextmanager
def _open(path: Path) -> Iterator[safe_open]:
    try:
        with safe_open(path, "pt") as file:
            yield file
    except (OSError, SafetensorError) as error:
        raise WeightsError(
            f"{path.name} of the model cannot be read: {error}",
            hint="`midspan fetch --again` gets the weights anew.",
        ) from error


def save_state(state: Mapping[str, Tensor], path: Path, metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors as safetensors."""
    save_file({name: tensor.contiguous() for name, tensor in state.items()}, path, dict(metadata or {}))
