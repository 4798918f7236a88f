"""Nodes as places for holes."""

from __future__ import annotations

import pytest
from midspan_lsp.syntax.nodes import nodes


@pytest.mark.parametrize(
    ("language", "text", "wanted"),
    [
        ("python", "é = '😀'\nx = call(é, 12)\n", {"é = '😀'", "call(é, 12)", "'😀'", "12"}),
        ("go", "package a\n\nfunc f() int { return 1 + g(2) }\n", {"g(2)", "1 + g(2)", "return 1 + g(2)"}),
        ("rust", "fn f() -> i32 { g(2) }\n", {"g(2)", "{ g(2) }"}),
    ],
)
def test_nodes_are_spans_of_the_text(language: str, text: str, wanted: set[str]) -> None:
    assert wanted <= {text[start:end] for start, end in nodes(text, language)}


def test_an_unknown_language_has_none() -> None:
    assert nodes("anything", "plaintext") == []
