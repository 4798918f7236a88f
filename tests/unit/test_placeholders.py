from __future__ import annotations

import pytest
from midspan_lsp.syntax.placeholders import MOST, first_placeholder, function_spans, placeholders
from midspan_lsp.types import Span


def found(marked: str, language_id: str) -> list[tuple[str, str, bool]]:
    """What is replaced, what is put in front, and whether it is a body."""
    offset, text = marked.index("‸"), marked.replace("‸", "")
    marks = placeholders(text, language_id, Span(offset, offset))
    return [(text[one.span.start : one.span.end], one.lead, one.is_body) for one in marks]


@pytest.mark.parametrize(
    ("language_id", "marked", "wanted"),
    [
        (
            "python",
            "def f(a):\n    é = ...\n    for i in a:\n        pa‸ss\n    return ...\n",
            [("...", "", False), ("pass", "", True), ("...", "", False)],
        ),
        ("python", 'def f() -> tuple[int, ...]:\n    """Doc."""\n    # TODO: do it\n    ...‸\n', [("...", "", True)]),
        (
            "python",
            '‸def f(a):\n    raise NotImplementedError("x")\n',
            [('raise NotImplementedError("x")', "", True)],
        ),
        ("python", "a = ...\nb = ...‸\n", [("...", "", False)]),
        ("python", "def f():\n    def g():\n        return ...‸\n    return ...\n", [("...", "", False)]),
        ("javascript", "function f(a) {\n  // TODO: add ‸it\n}\nfunction g() { return TODO; }\n", [("", "\n  ", True)]),
        (
            "javascript",
            "function f(a) {\n  const x = /* TODO */;\n  return‸ TODO;\n}\n",
            [("/* TODO */", "", False), ("TODO", "", False)],
        ),
        ("rust", "fn f(a: u8) -> u8 {\n    ‸todo!()\n}\n", [("todo!()", "", True)]),
        ("go", "func f(a int) int {\n\t// TODO sum‸\n}\n", [("", "\n\t", True)]),
        ("java", "class A { int f(int a) {\r\n    // TODO‸\r\n  } }\n", [("", "\r\n    ", True)]),
        ("kotlin", 'fun f(a: Int): Int = TODO("x‸")\n', [('TODO("x")', "", False)]),
    ],
)
def test_what_waits_to_be_written(language_id: str, marked: str, wanted: list[tuple[str, str, bool]]) -> None:
    assert found(marked, language_id) == wanted


@pytest.mark.parametrize(
    ("language_id", "marked"),
    [
        ("python", "try:\n    f()\nexcept X:\n    pass‸\n"),
        ("python", "class E(Exception):\n    pass‸\n"),
        ("python", "def f(x: tuple[int, ...] = ...):\n    return x‸\n"),
        ("python", "def f():\n    # TODO: faster\n    return '...'‸\n"),
        ("javascript", "function f(a) {\n  // TODO: faster‸\n  return a;\n}\n"),
        ("", "..."),
        ("python", "def f():\n" + "    x = ...\n" * (MOST + 1) + "‸"),
    ],
)
def test_what_does_not(language_id: str, marked: str) -> None:
    assert found(marked if "‸" in marked else marked + "‸", language_id) == []


def test_the_first_of_a_document_and_its_functions() -> None:
    text = "def f():\n    return 1\n\n\ndef g():\n    ...\n"
    first = first_placeholder(text, "python")
    assert first is not None
    assert text[first.span.start :] == "...\n"
    assert [text[one.start : one.start + 5] for one in function_spans(text, "python")] == ["def f", "def g"]
    assert first_placeholder("x = 1\n", "python") is None
