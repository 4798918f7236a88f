"""DreamOn's growing and shrinking block, on hand-made logits; and that a canvas holds its middle only."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from midspan_model.config import ModelConfig
from midspan_model.denoising.block import Finish
from midspan_model.denoising.canvas_block import CanvasBlock, ElasticBlock
from midspan_model.denoising.choosing import policy_of
from midspan_model.denoising.constraints import Constraints
from midspan_model.denoising.loop import denoise
from midspan_model.tokenizer import Tokenizer
from tiny_model import MODEL, Stop

MASK, END, EXPAND = MODEL.mask_id, MODEL.end_id, 3


@pytest.fixture(scope="module")
def tokenizer(tiny_checkpoint: Path) -> Tokenizer:
    return Tokenizer(tiny_checkpoint / "tokenizer.json", MODEL.n_special)


@pytest.fixture(scope="module")
def constraints(tokenizer: Tokenizer) -> Constraints:
    config = ModelConfig(vocab_size=MODEL.vocab_size, end_id=END, mask_id=MASK)
    return Constraints(tokenizer, config, frozenset({EXPAND}))


def elastic(constraints: Constraints, n: int, **changes: object) -> ElasticBlock:
    return ElasticBlock([99] + [MASK] * n, [1.0] * (n + 1), constraints, expand_id=EXPAND, **changes)  # type: ignore[arg-type]


def letters(tokenizer: Tokenizer, text: str) -> list[int]:
    return [tokenizer.encode(character)[0] for character in text]


def test_the_expand_token_becomes_two_masks(tokenizer: Tokenizer, constraints: Constraints) -> None:
    a, c = letters(tokenizer, "ac")
    block = elastic(constraints, 3)
    block.commit([1, 2, 3], [a, EXPAND, c], [0.9, 0.8, 0.7])
    assert block.tokens == [99, a, MASK, MASK, c]
    assert block.confidences == [1.0, 0.9, 1.0, 1.0, 0.7]
    assert block.masked == [2, 3]


def test_the_end_token_deletes_its_slot_and_the_masks_behind_it(tokenizer: Tokenizer, constraints: Constraints) -> None:
    a, d = letters(tokenizer, "ad")
    block = elastic(constraints, 5)
    block.commit([4], [d], [0.9])
    block.commit([1, 2], [a, END], [0.8, 0.7])
    assert block.tokens == [99, a, d], "what is written behind it stays, as in DreamOn's generator"
    assert (block.masked, block.end, block.finish) == ([], 3, Finish.LENGTH)


def test_several_at_once_are_taken_from_the_right(tokenizer: Tokenizer, constraints: Constraints) -> None:
    (b,) = letters(tokenizer, "b")
    block = elastic(constraints, 4)
    block.commit([1, 2, 3], [EXPAND, b, EXPAND], [0.5, 0.6, 0.5])
    assert block.tokens == [99, MASK, MASK, b, MASK, MASK, MASK]


def test_no_slot_expands_at_the_largest_length(constraints: Constraints) -> None:
    block = elastic(constraints, 2, most=3)
    assert not block.banned
    block.commit([1], [EXPAND], [0.5])
    assert len(block.tokens) == 4
    assert block.banned == {slot: frozenset({EXPAND}) for slot in (1, 2, 3)}
    logits = torch.zeros(3, MODEL.vocab_size)
    constraints.apply(logits, [1, 2, 3], block.banned, b"")
    assert logits[:, EXPAND].isneginf().all()


def test_growing_and_shrinking_comes_to_an_end(tokenizer: Tokenizer, constraints: Constraints) -> None:
    a = letters(tokenizer, "a")[0]
    n_forwards = 0

    def forward(tokens: list[int], slots: list[int]) -> torch.Tensor:
        """Expands while it may, then deletes, then expands again."""
        nonlocal n_forwards
        n_forwards += 1
        logits = torch.zeros(len(slots), MODEL.vocab_size)
        logits[:, a] = 1
        logits[0, EXPAND] = 9
        logits[1:, END] = 9
        return logits

    block = elastic(constraints, 2, most=4, budget=5)
    denoise(forward, block, policy_of("threshold", 0.9, leftmost=False), Stop())
    assert n_forwards < 20
    assert set(block.tokens[1:]) == {a}


def test_bans_move_with_their_slots(tokenizer: Tokenizer, constraints: Constraints) -> None:
    a, b = letters(tokenizer, "ab")
    block = elastic(constraints, 3, banned={1: frozenset({a}), 3: frozenset({b})})
    block.commit([2], [EXPAND], [0.5])
    assert block.banned == {1: frozenset({a}), 4: frozenset({b})}
    block.commit([2], [a], [0.5])
    assert block.banned == {1: frozenset({a}), 4: frozenset({b})}


def test_a_canvas_holds_the_middle_and_nothing_else(tokenizer: Tokenizer, constraints: Constraints) -> None:
    a, newline = letters(tokenizer, "a\n")
    block = CanvasBlock([99] + [MASK] * 4, [1.0] * 5, constraints)
    block.commit([3], [END], [0.9])
    assert block.visible == [99, MASK, MASK]
    line = CanvasBlock([99] + [MASK] * 4, [1.0] * 5, constraints)
    line.commit([1, 2], [a, newline], [0.8, 0.6])
    assert line.visible == [99, a, newline]
    assert line.confidence == 0.6
    grown = elastic(constraints, 4)
    grown.commit([1, 2], [a, newline], [0.8, 0.6])
    assert grown.tokens == grown.visible == [99, a, newline]
