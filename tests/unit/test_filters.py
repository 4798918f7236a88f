"""Filters: each alone, and all of them twice."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from midspan_lsp.engine.cutting import cut_overlap_with_suffix, drop_repeated_line, trim_trailing_space
from midspan_lsp.engine.filters import ADAPTERS, CUTS, Filter, apply_filters


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
