"""Tokens to bytes to text: tokenizer, canvas, spelling, ending."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from midspan_model.canvas import build_canvas
from midspan_model.config import DenoiseConfig
from midspan_model.ending import count_breaks, find_end
from midspan_model.spelling import spell
from midspan_model.tokenizer import Tokenizer
from tiny_model import MODEL


@pytest.fixture(scope="module")
def tokenizer(tiny_checkpoint: Path) -> Tokenizer:
    return Tokenizer(tiny_checkpoint / "tokenizer.json", MODEL.n_special)


def joined(tokenizer: Tokenizer, ids: tuple[int, ...] | list[int]) -> bytes:
    return b"".join(tokenizer.token_bytes(token_id) for token_id in ids)


@pytest.mark.parametrize("text", ["", "def f():\n\treturn 'é世😀'\r\n", "<|endoftext|><special 3>", "\x00\x0c\u2028"])
def test_tokens_spell_their_text(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode(text)
    assert joined(tokenizer, ids).decode() == text
    assert all(token_id >= MODEL.n_special for token_id in ids)


def test_a_lone_surrogate_counts_as_a_question_mark(tokenizer: Tokenizer) -> None:
    assert joined(tokenizer, tokenizer.encode("a\ud800b")) == b"a?b"


@pytest.mark.parametrize("wanted", [b"d", b"de", b"def", b"  x", b"\xf0\x9f", b"zz"])
def test_agreeing_tokens_are_those_a_scan_finds(tokenizer: Tokenizer, wanted: bytes) -> None:
    texts = {index: tokenizer.token_bytes(index) for index in range(tokenizer.vocab_size)}
    scan = {index for index, text in texts.items() if text and (text.startswith(wanted) or wanted.startswith(text))}
    agreeing = tokenizer.agreeing(wanted)
    assert set(agreeing) == scan
    assert len(agreeing) == len(scan)


def test_the_canvas_backs_up_one_token(tokenizer: Tokenizer) -> None:
    canvas = build_canvas("x def", " y", tokenizer, MODEL, DenoiseConfig())
    assert canvas.healed == b"def"
    assert canvas.prefix_ids == (MODEL.prefix_id, *tokenizer.encode("x "))
    assert canvas.suffix_ids == (MODEL.suffix_id, *tokenizer.encode(" y"))


@pytest.mark.parametrize("space", [" ", "\t", "\n", "\u3000"])
def test_of_white_space_only_the_last_character_is_healed(tokenizer: Tokenizer, space: str) -> None:
    canvas = build_canvas("x:\n  " + space, "", tokenizer, MODEL, DenoiseConfig())
    assert canvas.healed == space.encode()
    assert joined(tokenizer, canvas.prefix_ids) == b"x:\n  "


def test_empty_sides_leave_only_the_special_tokens(tokenizer: Tokenizer) -> None:
    canvas = build_canvas("", "", tokenizer, MODEL, DenoiseConfig())
    assert (canvas.prefix_ids, canvas.suffix_ids, canvas.healed) == ((MODEL.prefix_id,), (MODEL.suffix_id,), b"")


def test_a_long_prefix_is_cut_in_strides(tokenizer: Tokenizer) -> None:
    config = DenoiseConfig(prefix_tokens=65)
    text = "abc(x)+y" * 50
    starts = set[int]()
    for n in range(1, 400):
        canvas = build_canvas(text[:n], "", tokenizer, MODEL, config)
        n_kept = len(canvas.prefix_ids) - 1
        assert n_kept <= 64
        assert n_kept >= min(n - 1, 32)
        starts.add(n - 1 - n_kept)
    assert starts == {0, *range(32, 353, 32)}


def test_the_suffix_keeps_to_its_budget_and_its_room(tokenizer: Tokenizer) -> None:
    for budget, n in [(48, 48), (1, 1), (0, 1), (500, MODEL.suffix_room)]:
        canvas = build_canvas("", "y" * 1000, tokenizer, MODEL, DenoiseConfig(suffix_tokens=budget))
        assert len(canvas.suffix_ids) == n


@given(text=st.text(st.sampled_from("ab é世😀\n"), max_size=12), data=st.data())
def test_spans_cover_the_text(tokenizer: Tokenizer, text: str, data: st.DataObject) -> None:
    ids = tokenizer.encode(text)
    n_healed = data.draw(st.sampled_from([len(text[:i].encode()) for i in range(len(text) + 1)]))
    got, spans = spell(ids, n_healed, tokenizer)
    assert got == text.encode()[n_healed:].decode()
    assert len(spans) == len(ids)
    assert [start for start, _ in spans[1:]] == [end for _, end in spans[:-1]]
    assert not spans or (spans[0][0], spans[-1][1]) == (0, len(got))


def test_half_a_character_at_the_end_is_left_out(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("a😀")
    assert spell(ids[:-1], 0, tokenizer)[0] == "a"


@pytest.mark.parametrize(
    ("text", "max_lines", "min_indent", "kept"),
    [
        ("a", 1, None, None),
        ("a\nb", 1, None, "a"),
        ("a\r\nb", 1, None, "a"),
        ("a\rb", 1, None, "a"),
        ("\na", 1, None, ""),
        ("a\n    b\nc", 9, 4, "a\n    b"),
        ("a\n\tb\nc", 9, 4, "a\n\tb"),
        ("a\n\n    b", 9, 4, None),
        ("a\n  ", 9, 4, None),
        ("a\n    b\n    c", 2, 4, "a\n    b"),
    ],
)
def test_where_a_middle_ends(text: str, max_lines: int, min_indent: int | None, kept: str | None) -> None:
    end = find_end(text, max_lines, min_indent)
    assert (None if end is None else text[:end]) == kept


def test_line_breaks_are_counted_as_an_editor_does() -> None:
    assert count_breaks("a\r\nb\rc\nd\x0ce\u2028") == 3
