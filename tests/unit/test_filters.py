"""Filters: each alone, and all of them twice."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from midspan_lsp.engine.cutting import cut_overlap_with_suffix, drop_repeated_line, trim_trailing_space
from midspan_lsp.engine.filters import ADAPTERS, CUTS, Filter, apply_filters, filter_middle
from midspan_lsp.types import Span


@pytest.mark.parametrize(
    ("middle", "prefix", "suffix", "kept"),
    [
        ("x)", "f(", ")\n", "x"),
        ("x)", "f(g(", ")\n", "x)"),
        ("x))", "f(g(", "))\n", "x"),
        ("'a'", "f('", "')\n", "'a'"),
        ("a, b):", "def f(", "):\n", "a, b"),
        ("a]", "x[", "] = 3\n", "a"),
        ("value) as handle:", "with open(", " as handle:\n", "value)"),
        ("a", "x = ", "a\n", "a"),
        ("x)", "f(", "\n", "x)"),
        ("{a}", "x = {", "}\n", "{a}"),
        ("", "f(", ")", ""),
        ("foo();", "const x = ", ";\n", "foo()"),
        ("Vec::new();", "let v = ", ";\n", "Vec::new()"),
        ("2,", "[1, ", ", 3]\n", "2"),
        ('hello"', 'x = "', '"\n', "hello"),
        ("hello'", "x = f('", "')\n", "hello"),
        ("h(x))", "f(g(", "))\n", "h(x)"),
        ("a) ", "x = foo(", " )\n", "a"),
        ("-> int:", "def f(x)", ":\n", "-> int"),
        ("x::", "use foo::", "::bar;\n", "x"),
        ("1, 1, ", "x = [1, 1, ", "1, 1, 1]\n", "1, 1, "),
        ("x)", "    b, ", ")\n", "x"),
    ],
)
def test_overlap_with_the_rest_of_the_line(middle: str, prefix: str, suffix: str, kept: str) -> None:
    assert cut_overlap_with_suffix(middle, prefix, suffix) == kept


@pytest.mark.parametrize(
    ("middle", "suffix", "kept"), [("a  ", "\nb", "a"), ("a ", "+ b\n", "a "), ("a\n    ", "\nb", "a"), ("  ", "", "")]
)
def test_trailing_space(middle: str, suffix: str, kept: str) -> None:
    assert trim_trailing_space(middle, "", suffix) == kept


@pytest.mark.parametrize(
    ("middle", "prefix", "suffix", "kept"),
    [
        ("return x", "    ", "\n    return x\n", ""),
        ("turn x", "    re", "\n\n    return x\n", ""),
        ("return None", "        ", "\n    return None\n", "return None"),
        ("[0, 0],", "    ", "\n    [0, 0],\n", "[0, 0],"),
        ("end", "  ", "\n  end\n", "end"),
        ("break;", "  ", "\n  break;\n", "break;"),
        ("return y", "    ", "\n    return x\n", "return y"),
        ("}", "  ", "\n}\n", "}"),
    ],
)
def test_the_next_line_is_not_offered_again(middle: str, prefix: str, suffix: str, kept: str) -> None:
    assert drop_repeated_line(middle, prefix, suffix) == kept


# what filters look for, whole and cut
PIECES = [
    *"ab ()[]{}'\",;:\t\n\r_é", "\r\n", "\n    ", "\n  ", "\n\t", "    ", "return x", "return ", "foo(a)", "```",
    "<|end|>", "if a:", "else", "}\n", "});", "end", "x = 1\n", "abc" * 6, "diff --git a", "</think>", "# ",
    "def f(x):\n",
]  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), max_size=8).map("".join) | st.text(max_size=8)


@settings(max_examples=300)
@given(texts, texts, texts)
def test_all_of_them_change_nothing_the_second_time(middle: str, prefix: str, suffix: str) -> None:
    once = apply_filters(middle, prefix, suffix)
    assert apply_filters(once, prefix, suffix) == once


@pytest.mark.parametrize("one", ADAPTERS + CUTS, ids=lambda one: one.__name__)
@settings(max_examples=200)
@given(texts, texts, texts)
def test_each_alone_changes_nothing_the_second_time(one: Filter, middle: str, prefix: str, suffix: str) -> None:
    once = one(middle, prefix, suffix)
    assert one(once, prefix, suffix) == once


@pytest.mark.parametrize("one", CUTS, ids=lambda one: one.__name__)
@settings(max_examples=100)
@given(texts, texts, texts)
def test_cuts_give_back_a_beginning(one: Filter, middle: str, prefix: str, suffix: str) -> None:
    assert middle.startswith(one(middle, prefix, suffix))


@settings(max_examples=300)
@given(texts, texts, texts)
def test_each_character_is_known_by_where_it_was(middle: str, prefix: str, suffix: str) -> None:
    filtered = filter_middle(middle, prefix, suffix)
    if not filtered.text:
        return
    assert len(filtered.origins) == len(filtered.text) + 1
    assert list(filtered.origins) == sorted(filtered.origins)
    assert all(
        character == middle[origin] or (character.isspace() and (middle[origin].isspace()))
        for character, origin in zip(filtered.text, filtered.origins, strict=False)
        if origin < len(middle)
    )
    assert "".join(filtered.text.split()) in "".join(middle.split())
    of_characters = [filtered.span(Span(place, place + 1)) for place in range(len(middle))]
    assert all(one.end == following.start for one, following in pairwise(of_characters))
    assert filtered.span(Span(0, len(middle))) == Span(0, len(filtered.text))


@pytest.mark.parametrize(
    ("middle", "prefix", "suffix", "of_middle", "now"),
    [
        ("return x + y", "    return ", "\n", Span(7, 8), Span(1, 2)),
        ("return x + y", "    return ", "\n", Span(0, 4), Span(0, 0)),
        ("x)", "f(", ")\n", Span(0, 1), Span(0, 1)),
        ("x)", "f(", ")\n", Span(1, 2), Span(1, 1)),
        ("  a = 1", "def f():\n    b = 2\n    ", "\n", Span(2, 3), Span(0, 1)),
        ("if a:\n        b", "def f():\n\t", "\n\tc\n", Span(14, 15), Span(8, 9)),
        ("if a:\n        b", "def f():\n\t", "\n\tc\n", Span(6, 14), Span(6, 8)),
        ("a\nb", "x\r\n", "\r\n", Span(2, 3), Span(3, 4)),
        ("abab", "x = 1\nabab", "", Span(0, 2), Span(0, 0)),
    ],
)
def test_spans_move_with_their_text(middle: str, prefix: str, suffix: str, of_middle: Span, now: Span) -> None:
    assert filter_middle(middle, prefix, suffix).span(of_middle) == now
