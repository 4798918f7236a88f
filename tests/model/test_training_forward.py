"""The training forward equals the inference path on the same canvas; in float64, so that rounding hides nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from midspan_model.checkpoints import build, read_state
from midspan_model.kv_cache import ContextCache
from midspan_model.lora import merged_state
from midspan_model.tokenizer import Tokenizer
from midspan_model.training.batching import Batch, Batches
from midspan_model.training.forward import Forward
from midspan_model.training.nodes import python_nodes
from midspan_model.training.parameters import Parameters, new_parameters, start_from
from midspan_model.training.settings import BatchConfig, HoleMix
from midspan_model.training.shards import Document
from tiny_model import MODEL

SOURCE = Path(__file__).read_text(encoding="utf-8") + "\n# é😀 ünï\n" * 5
SIZES = BatchConfig(
    documents=4,
    holes=6,
    cursors=2,
    patterns=("typed", "ahead", "all_or_right", "random_subset"),
    prefix_tokens=90,
    suffix_tokens=30,
    widths=(3, 5, 6),
    mix=HoleMix(cut_suffix=0.85),
)


def batches(folder: Path, seed: int = 5, **changes: object) -> Batches:
    tokenizer = Tokenizer(folder / "tokenizer.json", MODEL.n_special)
    documents = [Document(SOURCE, "a.py", "own", "python")]
    return Batches(documents, tokenizer, MODEL, replace(SIZES, **changes), seed, python_nodes)


def trained(folder: Path, *, full: bool) -> Parameters:
    """Parameters that are not what they start as."""
    trunk = read_state(folder / "trunk.safetensors")
    parameters = new_parameters(trunk, 4, 0, full=full)
    if not full:
        start_from(parameters, read_state(folder / "adapter.safetensors"))
    for parameter in parameters.values():
        parameter.data += 0.02 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1))
    return parameters


def inference_logits(folder: Path, parameters: Parameters, batch: Batch) -> dict[int, torch.Tensor]:
    """By place in the flattened (R, M, L), computed hole by hole with the merged denoiser."""
    state = {name: tensor.double() for name, tensor in read_state(folder / "trunk.safetensors").items()}
    trunk = build(MODEL, state)
    denoiser = build(MODEL, merged_state(state, {name: p.detach() for name, p in parameters.items()}))
    n_holes, n_samples, n_slots = batch.tokens_RML.shape
    logits: dict[int, torch.Tensor] = {}
    for hole in range(n_holes):
        suffix = int(batch.suffix_R[hole])
        cache = ContextCache(MODEL, 128, torch.float64)
        trunk.encode_suffix(batch.suffix_US[suffix, : batch.suffix_length_U[suffix]].tolist(), cache)
        if batch.split_R[hole]:
            trunk.encode_prefix(batch.prefix_BN[batch.document_R[hole], : batch.split_R[hole]].tolist(), cache)
        for sample in range(n_samples):
            tokens = batch.tokens_RML[hole, sample, : batch.length_RM[hole, sample]].tolist()
            causal = bool(batch.causal_RM[hole, sample])
            rows = denoiser.logits(denoiser.forward_block(tokens, cache, causal=causal))
            for slot, row in enumerate(rows):
                logits[(hole * n_samples + sample) * n_slots + slot] = row
    return logits


@pytest.mark.parametrize("full", [False, True])
@torch.no_grad()
def test_training_equals_inference(tiny_checkpoint: Path, full: bool) -> None:
    torch.set_num_threads(1)
    parameters = trained(tiny_checkpoint, full=full)
    batch = batches(tiny_checkpoint)[0]
    assert len(set(batch.split_R.tolist())) > 3
    assert len(set(batch.suffix_length_U.tolist())) > 2
    assert len(batch.suffix_US) < len(batch.suffix_R)
    assert len(set(batch.length_RM.flatten().tolist())) > 2
    assert set(batch.causal_RM.flatten().tolist()) == {True, False}
    trunk = build(MODEL, read_state(tiny_checkpoint / "trunk.safetensors")).double()
    logits_PV, places_P = Forward(trunk, parameters)(batch)
    assert len(places_P) == int((batch.weights_RML > 0).sum()) > 50
    wanted = inference_logits(tiny_checkpoint, parameters, batch)
    for place, row in zip(places_P.tolist(), logits_PV, strict=True):
        assert torch.allclose(row.float(), wanted[place], atol=1e-4)


@torch.no_grad()
def test_a_first_hole_needs_no_prefix(tiny_checkpoint: Path) -> None:
    batch = batches(tiny_checkpoint)[1]
    batch = replace(batch, split_R=torch.zeros_like(batch.split_R))
    parameters = trained(tiny_checkpoint, full=False)
    trunk = build(MODEL, read_state(tiny_checkpoint / "trunk.safetensors")).double()
    logits_PV, places_P = Forward(trunk, parameters)(batch)
    wanted = inference_logits(tiny_checkpoint, parameters, batch)
    assert torch.allclose(logits_PV.float(), torch.stack([wanted[place] for place in places_P.tolist()]), atol=1e-4)


@torch.no_grad()
def test_the_falling_bias_shuts_off_what_the_trunk_did_not_see(tiny_checkpoint: Path) -> None:
    """Wholly shut, a fresh denoiser says what the trunk says at the slots with a known left side."""
    batch = batches(tiny_checkpoint)[2]
    state = read_state(tiny_checkpoint / "trunk.safetensors")
    forward = Forward(build(MODEL, state).double(), new_parameters(state, 4, 0, full=False))
    shut_PV, places_P = forward(batch, shut=1e4)
    other = batch.tokens_RML.clone()
    other[..., 1:] = torch.where(other[..., 1:] == MODEL.mask_id, 100, other[..., 1:])
    first = [row for row, place in enumerate(places_P.tolist()) if place % batch.tokens_RML.shape[2] == 0]
    assert first
    again_PV, _ = forward(replace(batch, tokens_RML=other), shut=1e4)
    assert torch.allclose(shut_PV[first], again_PV[first], atol=1e-5)
    open_PV, _ = forward(batch)
    assert not torch.allclose(shut_PV[first], open_PV[first], atol=1e-3)
