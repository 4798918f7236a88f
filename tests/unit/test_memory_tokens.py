"""Tokens: nothing of a text is lost, and an edit is lexed as the whole would be."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from midspan_lsp.memory.index import TokenIndex
from midspan_lsp.memory.segments import Document
from midspan_lsp.memory.tokens import BLANK, KEYWORD, LINE, NUMBER, SIGN, WORD, kind_of, lex
from midspan_lsp.memory.vocabulary import Vocabulary

CODE = st.text(st.sampled_from(list("ab_1. \t\n\r(=é\0\ud800")), max_size=60)


@given(st.one_of(CODE, st.text()))
def test_joined_tokens_are_the_text(text: str) -> None:
    assert "".join(lex(text)) == text


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("a_1 = 23", ["a_1", " ", "=", " ", "23"]),
        ("x:\n\n    y", ["x", ":", "\n\n    ", "y"]),
        ("x \r\n\ty\rz", ["x", " ", "\r\n\t", "y", "\r", "z"]),
        ("été->b", ["été", "-", ">", "b"]),
        ("\0\ud800", ["\0", "\ud800"]),
    ],
)
def test_tokens(text: str, tokens: list[str]) -> None:
    assert lex(text) == tokens


def test_kinds() -> None:
    kinds = [
        kind_of(token) for token in ["a", "_", "été", "return", "12", "0x1f", "(", " \t", "\n  ", "\r\n", "\0", "²"]
    ]
    assert kinds == [WORD, WORD, WORD, KEYWORD, NUMBER, NUMBER, SIGN, BLANK, LINE, LINE, SIGN, WORD]


@pytest.mark.parametrize(
    "text", ["x" * 1_000_000, "( " * 500_000, "\n" * 1_000_000, " \n" * 500_000, "\ud800" * 500_000]
)
def test_time_is_linear(text: str) -> None:
    started = time.process_time()
    assert "".join(lex(text)) == text
    assert time.process_time() - started < 2


def test_a_string_is_forgotten_with_its_last_occurrence() -> None:
    vocabulary = Vocabulary()
    first, second = vocabulary.take(["a", "b", "a"]), vocabulary.take(["b", "c"])
    assert len(vocabulary) == 3
    vocabulary.release(first)
    assert len(vocabulary) == 2
    assert vocabulary.find("a") < 0
    assert vocabulary.text(second) == "bc"
    vocabulary.release(second)
    assert len(vocabulary) == 0
    assert vocabulary.text(vocabulary.take(["d", "e"])) == "de"


@given(CODE, st.lists(CODE, max_size=4))
def test_an_edited_document_is_as_one_put_afresh(text: str, later: list[str]) -> None:
    index = TokenIndex()
    index.put_open(Document("u", "", "python", 0, text))
    for new in later:
        index.edit("u", new)
        document = index.get("u")
        assert document is not None
        tokens = [index.vocabulary.string(token) for token in document.ids.tolist()]
        assert tokens == lex(new)
        assert len(index.vocabulary) == len(set(tokens))
        assert document.segment.ids[0] == document.segment.ids[-1] == 0


def test_room_of_forgotten_strings_is_given_back() -> None:
    index = TokenIndex()
    index.put_open(Document("own", "", "python", 0, "a = b\n"))
    ids = index.vocabulary.take(lex("x = a\n"))
    index.put_file(Document("file", "/f", "python", 0), ids)
    index.put_open(Document("u", "", "python", 0, " ".join(f"name{number}" for number in range(5000))))
    before = index.n_bytes
    index.remove("u")
    assert index.n_bytes < before / 10
    texts = [index.vocabulary.text(document.ids) for document in index.documents()]
    assert texts == ["a = b\n", "x = a\n"]
    index.edit("own", "a = b\nnew\n")
    assert index.vocabulary.size == len(index.vocabulary) + 1 == 8
