"""Linears whose weights are packed once, in the layout and number type that this processor multiplies fastest.

A forward over few tokens waits for its weights to come from memory, one over many for the multiplications. The
denoiser types one token a forward, so its weights are in float16 (half of float32's bytes, and the type of the trunk's
own file); the trunk encodes many, so its are in bfloat16 where the processor multiplies that in hardware. Activations
and cache are float32 in both. Where packing is not to be had (Apple, Arm, old x86) the plain linears stay: they are
the reference.

Shapes: T tokens of a call.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from midspan_model.machine import has_bfloat16


class HalfLinear(nn.Module):
    """float16 weights, float32 arithmetic: FBGEMM's, which needs AVX2.

    Args:
        weight: (out, in) of any number type; it is copied.
    """

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self._packed = torch.ops.quantized.linear_prepack_fp16(weight.float(), None)

    def forward(self, x: Tensor) -> Tensor:
        """Float32 (T, in) to (T, out)."""
        return torch.ops.quantized.linear_dynamic_fp16(x, self._packed)


class Bfloat16Linear(nn.Module):
    """bfloat16 weights and products, in oneDNN's blocked layout: for AVX512-BF16 and AMX.

    Args:
        weight: (out, in) of any number type; it is copied.
    """

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self._packed = torch.ops.mkldnn._reorder_linear_weight(weight.bfloat16(), None)

    def forward(self, x: Tensor) -> Tensor:
        """Float32 (T, in) to (T, out)."""
        return torch.ops.mkldnn._linear_pointwise(x.bfloat16(), self._packed, None, "none", [], "").float()


PackedLinear = type[HalfLinear] | type[Bfloat16Linear]


@dataclass(frozen=True)
class Packing:
    """What the linears of each part become; the head goes with the denoiser's."""

    trunk: PackedLinear
    denoiser: PackedLinear

    def __str__(self) -> str:
        return f"trunk with {self.trunk.__name__}, denoiser with {self.denoiser.__name__}"


@lru_cache
def best_packing() -> Packing | None:
    """The fastest that works here, each proven on a small linear; None: only the plain linears do."""
    if not _works(HalfLinear):
        return None
    trunk = Bfloat16Linear if has_bfloat16() and _works(Bfloat16Linear) else HalfLinear
    return Packing(trunk, HalfLinear)


def _works(linear: PackedLinear) -> bool:
    """Whether this build of torch has the packing, and it multiplies as the plain linear does."""
    weight, x = torch.arange(-6.0, 6.0).view(3, 4) / 8, torch.arange(-4.0, 4.0).view(2, 4) / 4
    try:
        got = linear(weight)(x)
    except (AttributeError, NotImplementedError, RuntimeError):  # another processor, or a torch built without it
        return False
    return torch.allclose(got, F.linear(x, weight), rtol=1e-2, atol=1e-2)
