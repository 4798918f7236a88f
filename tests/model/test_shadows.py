"""The embedded denoiser predicts what is written without seeing it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from midspan_model.architecture import Transformer
from midspan_model.evaluation.holes import Hole
from midspan_model.evaluation.ways import ways_of
from midspan_model.kv_cache import ContextCache
from tiny_model import MODEL, tiny_infiller

BLOCK = [40, 41, MODEL.mask_id, 43, MODEL.mask_id]


@torch.inference_mode()
def run(model: Transformer, block: list[int], slots: list[int]) -> torch.Tensor:
    cache = ContextCache(model.config, 40, torch.float32)
    model.encode_prefix([20, 21, 22], cache)
    model.encode_suffix([30, 31], cache)
    return model.forward_blind(block, slots, cache) if slots else model.forward_block(block, cache)


def one_layer() -> Transformer:
    torch.manual_seed(0)
    model = Transformer(replace(MODEL, n_layers=1)).eval()
    with torch.no_grad():
        model.mask_embedding.normal_()
    return model


def test_a_shadow_does_not_see_its_slot_and_nobody_sees_a_shadow() -> None:
    """With one layer nobody else can tell it."""
    model, other = one_layer(), [*BLOCK[:3], 50, BLOCK[4]]
    one, two = run(model, BLOCK, [1, 3]), run(model, other, [1, 3])
    torch.testing.assert_close(one[: len(BLOCK)], run(model, BLOCK, []), atol=1e-5, rtol=0)
    torch.testing.assert_close(one[-1], two[-1], atol=1e-5, rtol=0)
    assert (one[-2] - two[-2]).abs().max() > 1e-3, "the shadow of slot 1 sees slot 3"


def test_there_must_be_room_for_shadows() -> None:
    model = one_layer()
    cache = ContextCache(model.config, 4, torch.float32)
    with torch.inference_mode():
        model.encode_prefix([20, 21, 22, 23], cache)
        with pytest.raises(ValueError, match="no room"):
            model.forward_blind(BLOCK, [1, 3, 3, 3], cache)


def test_every_policy_is_a_way_to_be_measured(tiny_checkpoint: Path) -> None:
    names = ["denoising-0.5", "factor-1", "entropy-0.35", "margin-0.5", "klass-0.5", "wino-0.1", "remdm-0.5"]
    hole = Hole("x.py", "python", "def f(x):\n    return ", "x", "\n\nprint(f(1))\n")
    for way in ways_of(tiny_infiller(tiny_checkpoint), names).values():
        assert way(hole).n_forwards > 0
