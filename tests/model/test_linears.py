"""Packed linears equal the plain ones: at tiny size here, with the real weights in `test_real_weights.py`."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from midspan_model import linears
from midspan_model.checkpoints import StateFile, build_packed, load_infiller, read_state
from midspan_model.config import DenoiseConfig
from midspan_model.errors import WeightsError
from midspan_model.infilling import Infiller
from midspan_model.kv_cache import ContextCache
from midspan_model.linears import Bfloat16Linear, HalfLinear, PackedLinear, Packing, best_packing
from midspan_model.token_tree import TokenTree
from tiny_model import MODEL, tiny_infiller

IDS = [20 + 3 * place for place in range(40)]


def usable(linear: PackedLinear) -> bool:
    return linears._works(linear)


@pytest.mark.parametrize(("linear", "tolerance"), [(HalfLinear, 2e-3), (Bfloat16Linear, 2e-2)])
@pytest.mark.parametrize("n_tokens", [1, 3, 16, 65])
def test_a_packed_linear_multiplies_as_the_plain_one(linear: PackedLinear, tolerance: float, n_tokens: int) -> None:
    if not usable(linear):
        pytest.skip("this processor has no such packing")
    torch.manual_seed(n_tokens)
    weight, x = torch.randn(40, 24), torch.randn(n_tokens, 24)
    got, plain = linear(weight)(x), x @ weight.T
    assert got.dtype == torch.float32
    assert (got - plain).norm() < tolerance * plain.norm()


@pytest.mark.parametrize(("trunk", "tolerance"), [(HalfLinear, 5e-3), (Bfloat16Linear, 1e-1)])
def test_packed_equals_plain(tiny_checkpoint: Path, trunk: PackedLinear, tolerance: float) -> None:
    if not (usable(trunk) and usable(HalfLinear)):
        pytest.skip("this processor has no such packing")
    plain = tiny_infiller(tiny_checkpoint)
    state, adapter = (
        StateFile(tiny_checkpoint / "trunk.safetensors"),
        read_state(tiny_checkpoint / "adapter.safetensors"),
    )
    packed = Infiller(*build_packed(MODEL, state, adapter, Packing(trunk, HalfLinear)), plain.tokenizer)
    for one, other in zip(hidden(plain), hidden(packed), strict=True):
        assert one.dtype == other.dtype == torch.float32
        assert (one - other).norm() < tolerance * one.norm()


@torch.inference_mode()
def hidden(infiller: Infiller) -> list[torch.Tensor]:
    """What each kind of forward gives: prefix, a block, a typed token, branches, logits."""
    cache, denoiser = ContextCache(MODEL, 128, infiller.trunk.dtype), infiller.denoiser
    infiller.trunk.encode_suffix(IDS[:7], cache)
    found = [infiller.trunk.encode_prefix(IDS[:20], cache)]
    found.append(denoiser.forward_block([IDS[20], *[MODEL.mask_id] * 5], cache))
    found.append(denoiser.forward_block([IDS[20]], cache, causal=True))
    found.append(denoiser.forward_tree(TokenTree.of(IDS[20], [IDS[21:25], IDS[30:33]]), cache))
    return [*found, denoiser.logits(found[-1])]


def test_the_best_packing_is_taken_unless_a_type_is_asked_for(
    tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tiny_infiller(tiny_checkpoint).denoiser.packed_head is None
    assert (load_infiller(tiny_checkpoint, DenoiseConfig()).denoiser.packed_head is None) == (best_packing() is None)


def test_where_no_packing_works_the_linears_are_plain(tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> torch.Tensor:
        raise RuntimeError("Didn't find engine for operation quantized::linear_prepack_fp16")

    monkeypatch.setattr(torch.ops.quantized, "linear_prepack_fp16", broken)
    best_packing.cache_clear()
    try:
        assert best_packing() is None
        assert load_infiller(tiny_checkpoint, DenoiseConfig()).denoiser.packed_head is None
    finally:
        monkeypatch.undo()
        best_packing.cache_clear()


def test_packed_weights_of_another_shape_are_refused(tiny_checkpoint: Path) -> None:
    state, adapter = (
        read_state(tiny_checkpoint / "trunk.safetensors"),
        read_state(tiny_checkpoint / "adapter.safetensors"),
    )
    packing = best_packing()
    if packing is None:
        pytest.skip("this processor has no packing")
    for model in (replace(MODEL, n_layers=3), replace(MODEL, n_layers=1), replace(MODEL, ffn_width=60)):
        with pytest.raises(WeightsError, match="do not fit"):
            build_packed(model, state, adapter, packing)


@pytest.mark.parametrize("dtype", ["None", "torch.float32"])
def test_loading_does_not_import_a_compiler(tiny_checkpoint: Path, dtype: str) -> None:
    """Random weights on the meta device would have torch import its own, and sympy: seconds, and 60 MB."""
    script = (
        "import sys, torch\n"
        "from pathlib import Path\n"
        "from midspan_model.checkpoints import load_infiller\n"
        "from midspan_model.config import DenoiseConfig\n"
        f"load_infiller(Path({str(tiny_checkpoint)!r}), DenoiseConfig(), dtype={dtype})\n"
        "print(sorted({'sympy', 'torch._dynamo', 'torch._inductor'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
