"""The embedded model's own weights: what no tiny checkpoint can show."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from midspan_model.checkpoints import load_infiller, read_state
from midspan_model.config import DenoiseConfig, ModelConfig
from midspan_model.embedded import ADAPTER
from midspan_model.evaluation.typewriter import type_lines
from midspan_model.infilling import Infiller
from midspan_model.kv_cache import ContextCache
from midspan_model.lora import adapt
from midspan_model.questions import Question
from tiny_model import Stop

pytestmark = pytest.mark.weights


@pytest.fixture(scope="module")
def infiller(embedded_weights: Path) -> Infiller:
    torch.set_num_threads(1)
    return load_infiller(embedded_weights, DenoiseConfig(), adapter=ADAPTER, dtype=torch.float32)


def test_the_shape_is_the_defaults(embedded_weights: Path) -> None:
    assert ModelConfig.load(embedded_weights / "config.json") == ModelConfig()


def test_the_trunk_knows_what_a_trunk_knows(infiller: Infiller) -> None:
    """A wrong row order, position or tokenizer would leave it babbling."""
    assert "Paris" in type_lines(infiller, "The capital of France is")[0]
    assert type_lines(infiller, "for i in range(10):\n    pri")[0].startswith("nt(")


def test_the_denoiser_fills_a_middle(infiller: Infiller) -> None:
    middle = infiller.infill(Question("def add(a, b):\n    return ", "\n\n\nprint(add(1, 2))\n"), Stop())
    assert middle is not None
    assert middle.text == "a + b"


def test_merged_equals_unmerged(infiller: Infiller) -> None:
    unmerged = adapt(infiller.trunk, read_state(ADAPTER))
    question = Question("x = [1, 2, 3]\nfor item in ", "\n    print(item)\n")
    merged = infiller.infill(question, Stop())
    other = Infiller(infiller.trunk, unmerged, infiller.tokenizer).infill(question, Stop())
    assert merged is not None
    assert other is not None
    assert merged.token_ids == other.token_ids
    assert merged.confidences == pytest.approx(other.confidences, rel=1e-2)


def test_tokens_are_those_of_the_published_tokenizer(infiller: Infiller) -> None:
    """Ids as the trunk's own tokenizer gives them (digits one by one, spaces with the word behind them)."""
    text = "x = 1234567 # été 😀\r\n\tfoo  bar   baz\n\n\n   qux don't I'm 你好 12.5e3"
    assert infiller.tokenizer.encode(text) == [
        *(104, 446, 216, 33, 34, 35, 36, 37, 38, 39, 907, 216, 19380, 2756, 40303, 218, 2738, 197, 15236, 216, 2753),
        *(256, 278, 1437, 1116, 11181, 613, 104, 1326, 982, 339, 5248, 216, 18645, 250, 48392, 138, 216, 33, 34, 30),
        *(37, 85, 35),
    ]


@torch.inference_mode()
def test_packed_equals_plain(infiller: Infiller, embedded_weights: Path) -> None:
    """Divergence of what is typed from plain float32: bfloat16 throughout would have 1e-3."""
    packed = load_infiller(embedded_weights, DenoiseConfig(), adapter=ADAPTER)
    if packed.denoiser.packed_head is None:
        pytest.skip("this processor has no packing")
    token_ids = infiller.tokenizer.encode(Path(__file__).read_text())
    logs: list[torch.Tensor] = []
    for one in (infiller, packed):
        cache = ContextCache(ModelConfig(), 512, one.trunk.dtype)
        one.trunk.encode_suffix(token_ids[330:370], cache)
        one.trunk.encode_prefix(token_ids[:300], cache)
        typed_TC = one.denoiser.forward_block(token_ids[300:330], cache, causal=True)
        block_TC = one.denoiser.forward_block([token_ids[300], *[ModelConfig().mask_id] * 15], cache)
        logs.append(one.denoiser.logits(torch.cat([typed_TC, block_TC])).log_softmax(-1))
    divergence_T = (logs[0].exp() * (logs[0] - logs[1])).sum(-1)
    assert divergence_T.mean() < 3e-4
    assert divergence_T.max() < 1e-2
