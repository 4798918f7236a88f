"""Published weights into a family's modules, tensor by tensor, so that nothing is in memory twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from midspan_model.blank import blank_modules
from midspan_model.checkpoints import StateFile
from midspan_model.errors import WeightsError
from midspan_model.families.sheet import Sheet
from midspan_model.families.spec import Architecture, Config
from midspan_model.machine import best_dtype

INT8 = "int8"


class Backbone(Protocol):
    """What a family's modules do. Shapes: B canvases, T tokens, C width, V vocabulary."""

    def hidden(self, ids_BT: Tensor, positions_BT: Tensor, sheet: Sheet) -> Tensor:
        """Last hidden states (B, T, C)."""
        ...

    def logits(self, hidden_XC: Tensor) -> Tensor:
        """Logits (..., V) in float32."""
        ...


@dataclass(frozen=True)
class Placement:
    """Where a model computes, and in which number type.

    Attributes:
        device: of torch.
        dtype: of activations, and of all weights that are not int8.
        int8: keep the linears' weights in int8: half of bfloat16's memory, but more time.
    """

    device: torch.device
    dtype: torch.dtype
    int8: bool = False

    @property
    def gpu(self) -> str:
        """The graphics processor's name; empty where none computes."""
        return torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else ""

    def __str__(self) -> str:
        return f"{self.device}, {'int8 and ' if self.int8 else ''}{self.dtype}".replace("torch.", "")


def best_placement(device: str = "", weights: str = "") -> Placement:
    """Where to compute: as asked for, or a graphics processor if there is one, in bfloat16.

    Args:
        device: "cpu", "cuda", "mps" or as torch names it; empty: the best there is.
        weights: "float32", "bfloat16", "float16" or "int8"; empty: bfloat16, or what this processor is fastest with.

    Raises:
        WeightsError: there is no such device or number type here.
    """
    if not device:
        device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        place = torch.device(device)
        torch.empty(1, device=place)
    except (RuntimeError, AssertionError) as error:  # torch asserts that it was built for a device
        raise WeightsError(f"this machine cannot compute on {device}", hint="See the setting model.device.") from error
    dtype = best_dtype() if place.type == "cpu" else torch.bfloat16
    if weights and weights != INT8:
        found = getattr(torch, weights, None)
        if found not in {torch.float32, torch.bfloat16, torch.float16}:
            raise WeightsError(f"no weights are kept as {weights}", hint="See the setting model.weights.")
        dtype = found
    return Placement(place, dtype, int8=weights == INT8)


class Shards(Mapping[str, Tensor]):
    """All tensors of a folder's safetensors files, each read when it is asked for.

    Raises:
        WeightsError: there is none, or one is damaged.
    """

    def __init__(self, folder: Path) -> None:
        paths = sorted(folder.glob("*.safetensors"))
        if not paths:
            raise WeightsError(f"{folder} has no weights: no *.safetensors", hint="Only safetensors files are read.")
        self._files = {name: file for file in map(StateFile, paths) for name in file}

    def __getitem__(self, name: str) -> Tensor:
        return self._files[name][name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


class Int8Linear(nn.Module):
    """A linear whose weights are int8, with one scale for each row; it multiplies in the activations' type.

    Args:
        weight: (out, in); it is rounded.
        bias: (out), or None.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None, placement: Placement) -> None:
        super().__init__()
        scale = weight.float().abs().amax(1).clamp(min=1e-8) / 127
        rounded = (weight.float() / scale[:, None]).round().to(torch.int8)
        self.rounded = nn.Buffer(rounded.to(placement.device), persistent=False)
        self.scale = nn.Buffer(scale.to(placement.device, placement.dtype), persistent=False)
        self.offset = None if bias is None else nn.Buffer(bias.to(placement.device, placement.dtype), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """(..., in) to (..., out)."""
        found = F.linear(x, self.rounded.to(x.dtype)) * self.scale
        return found if self.offset is None else found + self.offset


def build(architecture: Architecture, config: Config, state: Mapping[str, Tensor], placement: Placement) -> Backbone:
    """A family's modules with these weights.

    Args:
        architecture: of the family.
        config: content of the checkpoint's `config.json`.
        state: tensors by their names in the files.
        placement: where they go.

    Raises:
        WeightsError: the weights are not those of this shape.
    """
    try:
        with blank_modules():
            modules = architecture.build(config)
    except KeyError as error:
        raise WeightsError(f"config.json of the model lacks {error}") from error
    if architecture.gather is not None:
        state = architecture.gather(state)
    tied: dict[str, str] = modules.tied()  # pyright: ignore[reportCallIssue, reportAssignmentType]
    wanted = {name: architecture.file_name(name) for name in modules.state_dict() if name not in tied}
    if missing := [name for name in wanted.values() if name not in state]:
        raise WeightsError(f"the weights do not fit the model's shape: {', '.join(missing[:4])} missing")
    if placement.int8:
        _round_linears(modules, wanted, state, placement)
    left = modules.state_dict().keys() & wanted.keys()
    loaded = {name: state[wanted[name]].to(placement.device, placement.dtype) for name in left}
    for name in tied:
        loaded[name] = loaded[tied[name]]
    try:
        modules.load_state_dict(loaded, assign=True)
    except RuntimeError as error:
        raise WeightsError(f"the weights do not fit the model's shape: {error}") from error
    with torch.device(placement.device):
        modules.materialise()  # pyright: ignore[reportCallIssue]
    return modules.eval().requires_grad_(requires_grad=False)  # pyright: ignore[reportReturnType]


def _round_linears(
    modules: nn.Module, wanted: Mapping[str, str], state: Mapping[str, Tensor], placement: Placement
) -> None:
    """All linears but the head, on which the order of tokens hangs, become int8."""
    for name, module in list(modules.named_modules()):
        if isinstance(module, nn.Linear) and not name.endswith("lm_head"):
            weight = state[wanted[f"{name}.weight"]]
            if weight.shape != module.weight.shape:
                raise WeightsError(f"the weights do not fit the model's shape: {name}")
            bias = None if module.bias is None else state[wanted[f"{name}.bias"]]
            modules.set_submodule(name, Int8Linear(weight, bias, placement))
