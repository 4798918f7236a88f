"""Holes on hand-made text."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from midspan_model.tokenizer import Tokenizer
from midspan_model.training.batching import Batches
from midspan_model.training.holes import Hole, TokenText, choose_span, choose_suffix, cut_hole, tokenise
from midspan_model.training.nodes import node_source, python_nodes
from midspan_model.training.settings import BatchConfig, HoleMix
from midspan_model.training.shards import Document
from tiny_model import MODEL

TEXT = "def one(a):\n    return a + 1\n\n\ndef two(b):\n    undefined = 'é😀'\n    return undefined\n"


@pytest.fixture(scope="module")
def tokenizer(tiny_checkpoint: Path) -> Tokenizer:
    """Single bytes, "de", "def" and two spaces are tokens."""
    return Tokenizer(tiny_checkpoint / "tokenizer.json", MODEL.n_special)


def spell(ids: tuple[int, ...], tokenizer: Tokenizer) -> str:
    return b"".join(map(tokenizer.token_bytes, ids)).decode()


def cut(text: str, cursor: int, end: int, tokenizer: Tokenizer) -> tuple[str, str, Hole]:
    """Text before the block, text of its target, and the hole."""
    document = tokenise(text, tokenizer, 500)
    hole = cut_hole(document, (cursor, end), text[end:], tokenizer)
    return spell(document.ids[: hole.first], tokenizer), spell(hole.target_ids, tokenizer), hole


def test_the_block_begins_at_the_token_that_holds_the_character_before_the_cursor(tokenizer: Tokenizer) -> None:
    cursor = TEXT.index("fined") - 1  # un|defined: inside the token "def"
    before, target, hole = cut(TEXT, cursor + 1, TEXT.index(" = "), tokenizer)
    assert (before[-2:], target) == ("un", "defined")
    assert hole.cursor - len(before) == 2, "two characters are healed"
    before, target, _ = cut(TEXT, cursor + 2, TEXT.index(" = "), tokenizer)
    assert target == "defined", "the token ends at the cursor: it still holds the character before it"
    _, target, _ = cut(TEXT, cursor + 3, TEXT.index(" = "), tokenizer)
    assert target == "ined"


def test_a_hole_at_the_start_of_the_text_heals_nothing(tokenizer: Tokenizer) -> None:
    before, target, hole = cut(TEXT, 0, 11, tokenizer)
    assert (before, target, hole.first) == ("", "def one(a):", 0)


@pytest.mark.parametrize("end", range(2, len(TEXT)))
def test_nothing_crosses_the_hole_s_end(end: int, tokenizer: Tokenizer) -> None:
    """Nor is anything lost, at any end: inside a token or at its border."""
    before, target, _ = cut(TEXT, 1, end, tokenizer)
    assert before + target == TEXT[:end]


def test_a_document_s_tokens_may_end_before_its_text(tokenizer: Tokenizer) -> None:
    document = tokenise(TEXT, tokenizer, 10)
    assert len(document.ids) == 10
    assert TEXT[: document.length] == spell(document.ids, tokenizer)


def spans(document: TokenText, mix: HoleMix, n: int = 300) -> list[str]:
    chance = random.Random(3)
    found = [choose_span(document, python_nodes(document.text, "python"), mix, chance) for _ in range(n)]
    return [document.text[span[0] : span[1]] for span in found if span]


def test_kinds_of_holes(tokenizer: Tokenizer) -> None:
    document = tokenise(TEXT, tokenizer, 500)
    rests = spans(document, HoleMix(1, 0, 0, 0, inside_line=0))
    assert {"return a + 1", "turn a + 1", "def two(b):"} <= set(rests)
    assert all("\n" not in rest and f"{rest}\n" in TEXT for rest in rests)
    assert any("\n" in lines for lines in spans(document, HoleMix(0, 1, 0, 0)))
    nodes = set(spans(document, HoleMix(0, 0, 1, 0)))
    assert {"a + 1", "return a + 1", "undefined = 'é😀'", "'é😀'"} <= nodes
    assert len(set(spans(document, HoleMix(0, 0, 0, 1)))) > 100


def test_blank_text_has_no_hole(tokenizer: Tokenizer) -> None:
    assert choose_span(tokenise("\n  \n" * 9, tokenizer, 500), [], HoleMix(), random.Random(0)) is None


def test_suffixes_are_whole_cut_or_empty() -> None:
    chance = random.Random(0)
    lengths = [len(choose_suffix("x" * 100, HoleMix(empty_suffix=0.2, cut_suffix=0.3), 60, chance)) for _ in range(500)]
    assert 70 < lengths.count(0) < 150
    assert 200 < lengths.count(60) < 300
    assert len(set(lengths)) > 20


def test_node_sources_are_named() -> None:
    from midspan_model.errors import ModelError

    assert node_source("midspan_model.training.nodes:python_nodes") is python_nodes
    with pytest.raises(ModelError, match="names no function"):
        node_source("midspan_model.training.nodes:nothing")
    assert python_nodes("def broken(", "python") == python_nodes("a = 1", "go") == []


def test_a_batch_depends_on_seed_and_number_alone(tokenizer: Tokenizer) -> None:
    def make(seed: int) -> Batches:
        config = BatchConfig(documents=2, holes=3, prefix_tokens=60, suffix_tokens=20, widths=(4, 6))
        return Batches([Document(TEXT * 3, "a.py", "own", "python")], tokenizer, MODEL, config, seed, python_nodes)

    again, once = make(1), make(1)
    first = once[0]
    assert once[1].tokens_RML.shape[0] == 6
    for name, tensor in vars(again[1]).items():
        assert tensor.equal(vars(once[1])[name]), name
    assert not all(tensor.equal(vars(first)[name]) for name, tensor in vars(make(2)[0]).items())
    assert not all(tensor.equal(vars(first)[name]) for name, tensor in vars(once[1]).items())
