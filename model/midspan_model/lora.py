"""The adapter: what makes a denoiser of the trunk (LoRA, Hu et al. 2021, with its own norm gains and mask embedding).

Names in an adapter file, beside the norms' and the mask embedding's: `layers.N.LINEAR.lora_a` (in, rank) and
`layers.N.LINEAR.lora_b` (rank, out); a linear's weight grows by `(lora_a @ lora_b).T`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from midspan_model.architecture import Transformer
from midspan_model.blank import blank_modules
from midspan_model.errors import WeightsError

State = Mapping[str, Tensor]


class AdaptedLinear(nn.Module):
    """A linear of the trunk with its low-rank change beside it."""

    def __init__(self, weight: Tensor, lora_a: Tensor, lora_b: Tensor) -> None:
        super().__init__()
        self.weight, self.lora_a, self.lora_b = (nn.Parameter(w, requires_grad=False) for w in (weight, lora_a, lora_b))

    def forward(self, x: Tensor) -> Tensor:
        """(..., in) to (..., out)."""
        return F.linear(x, self.weight) + (x @ self.lora_a) @ self.lora_b


class MergedState(Mapping[str, Tensor]):
    """State of the denoiser, trunk and adapter merged in float32 whenever a tensor is asked for.

    Each tensor has the type of the trunk's; what the adapter leaves alone is shared with the trunk.

    Raises:
        WeightsError: the adapter does not fit the trunk.
    """

    def __init__(self, trunk: State, adapter: State) -> None:
        _check(trunk, adapter)
        self._trunk, self._adapter = trunk, adapter

    def __getitem__(self, name: str) -> Tensor:
        weight, linear = self._trunk[name], name.removesuffix(".weight")
        if name in self._adapter:
            return self._adapter[name].to(weight.dtype)
        if f"{linear}.lora_a" not in self._adapter:
            return weight
        lora_a, lora_b = (self._adapter[f"{linear}.lora_{side}"].float() for side in "ab")
        return torch.addmm(weight.float(), lora_b.T, lora_a.T).to(weight.dtype)

    def __iter__(self) -> Iterator[str]:
        return iter(self._trunk)

    def __len__(self) -> int:
        return len(self._trunk)


def merged_state(trunk: State, adapter: State) -> dict[str, Tensor]:
    """All of `MergedState` at once."""
    return dict(MergedState(trunk, adapter))


def adapt(trunk: Transformer, adapter: State) -> Transformer:
    """The denoiser unmerged: it shares the trunk's matrices and holds the low-rank changes beside them."""
    trunk_state = trunk.state_dict()
    _check(trunk_state, adapter)
    own = {name: tensor.to(trunk.dtype) for name, tensor in adapter.items()}
    with blank_modules():
        denoiser = Transformer(trunk.config)
    plain = {name: tensor for name, tensor in own.items() if ".lora_" not in name}
    denoiser.load_state_dict({**trunk_state, **plain}, assign=True)
    for name, lora_a in own.items():
        if name.endswith(".lora_a"):
            path = name.removesuffix(".lora_a")
            parent, _, attribute = path.rpartition(".")
            linear = AdaptedLinear(trunk_state[f"{path}.weight"], lora_a, own[f"{path}.lora_b"])
            setattr(denoiser.get_submodule(parent), attribute, linear)
    return denoiser.eval()


def _check(trunk: State, adapter: State) -> None:
    """Raise WeightsError unless the adapter fits the trunk."""
    for name, tensor in adapter.items():
        path, _, kind = name.rpartition(".lora_")
        wanted = trunk.get(f"{path}.weight" if path else name)
        if wanted is None:
            raise WeightsError(f"the adapter changes {name}, which the trunk lacks")
        axis = {"a": 1, "b": 0}.get(kind)
        fits = (
            tensor.shape == wanted.shape
            if axis is None
            else tensor.shape[0 if kind == "a" else 1] == wanted.shape[axis]
        )
        if not fits:
            raise WeightsError(f"{name} of the adapter has the shape {tuple(tensor.shape)}: made for another trunk")
