"""What training changes, under the names that an adapter file has (`lora.py`).

A run trains either an adapter or, in full, copies of the layers' matrices; both come with norm gains and the mask
embedding, and both are read by `checkpoints.load_infiller`. The embedding stays the trunk's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from midspan_model.config import ModelConfig
from midspan_model.errors import WeightsError
from midspan_model.lora import State

Parameters = dict[str, nn.Parameter]


def new_parameters(trunk: State, rank: int, seed: int, *, full: bool) -> Parameters:
    """Parameters that leave the trunk as it is, in float32; the mask embedding is the mean of all tokens'."""
    generator = torch.Generator().manual_seed(seed)
    values: dict[str, Tensor] = {"mask_embedding": trunk["embedding.weight"].float().mean(0)}
    for name, weight in trunk.items():
        if "norm" in name or (full and _is_matrix(name, weight)):
            values[name] = weight.float().clone()
        elif _is_matrix(name, weight):
            n_out, n_in = weight.shape
            path = name.removesuffix(".weight")
            values[f"{path}.lora_a"] = torch.randn(n_in, rank, generator=generator) / math.sqrt(n_in)
            values[f"{path}.lora_b"] = torch.zeros(rank, n_out)
    return {name: nn.Parameter(value) for name, value in values.items()}


def start_from(parameters: Parameters, earlier: State) -> None:
    """Take the values of an earlier run, in place.

    Raises:
        WeightsError: it trained other tensors.
    """
    if earlier.keys() != parameters.keys():
        raise WeightsError("the weights to start from are those of another kind of run")
    with torch.no_grad():
        for name, parameter in parameters.items():
            if earlier[name].shape != parameter.shape:
                raise WeightsError(f"{name} of the weights to start from has another shape")
            parameter.copy_(earlier[name])


def plain(parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The values, on the CPU."""
    return {name: parameter.detach().cpu() for name, parameter in parameters.items()}


def count_parameters(parameters: Parameters, config: ModelConfig) -> str:
    """For people: how much is trained."""
    n = sum(parameter.numel() for parameter in parameters.values())
    return f"{n / 1e6:.1f} million trained parameters in {config.n_layers} layers"


def _is_matrix(name: str, weight: Tensor) -> bool:
    return name.startswith("layers.") and weight.dim() == 2
