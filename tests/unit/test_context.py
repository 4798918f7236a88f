"""What the model is shown, and how long a middle is wanted."""

from __future__ import annotations

import itertools

import pytest
from midspan_lsp.config import ContextSettings
from midspan_lsp.context.shape import Shape, middle_shape
from midspan_lsp.context.window import CHARACTERS_PER_TOKEN, window

SETTINGS = ContextSettings(prefix_tokens=20, suffix_tokens=4)
SIZE = SETTINGS.prefix_tokens * CHARACTERS_PER_TOKEN


def test_a_short_document_is_shown_whole() -> None:
    assert window("abc def", 4, SETTINGS) == ("abc ", "def")
    assert window("", 0, SETTINGS) == ("", "")


@pytest.mark.parametrize("line_length", [7, 30, 10_000])
def test_the_prefix_starts_at_a_place_that_rarely_moves(line_length: int) -> None:
    text = ("x" * (line_length - 1) + "\n") * (4000 // line_length + 1)
    starts: list[int] = []
    for offset in range(4000):
        prefix, suffix = window(text, offset, SETTINGS)
        start = offset - len(prefix)
        assert text[start:offset] == prefix
        assert text[offset:].startswith(suffix)
        assert len(suffix) <= SETTINGS.suffix_tokens * CHARACTERS_PER_TOKEN
        assert len(prefix) < 2 * SIZE
        assert offset < SIZE or len(prefix) >= SIZE // 2
        assert start == 0 or line_length > SIZE // 2 or text[start - 1] == "\n"
        starts.append(start)
    moves = sum(one != other for one, other in itertools.pairwise(starts))
    assert moves <= 4000 // SIZE


@pytest.mark.parametrize(
    ("prefix", "suffix", "shape"),
    [
        ("def f():\n    ", "\n\nx = 1\n", Shape(4, 4)),
        ("def f():  # why\n    ", "\n", Shape(4, 4)),
        ("def f():\r\n    ", "\r\nx", Shape(4, 4)),
        ("fn f() {\n\t", "\n}\n", Shape(4, 8)),
        ("const f = () => {\n  ", "\n};\n", Shape(4, 2)),
        ("x = [\n    ", "\n]\n", Shape(4, 4)),
        ("def f(a,\n      b):\n    ", "\n", Shape(4, 4)),
        ("if (a &&\n    b) {\n  ", "\n}\n", Shape(4, 2)),
        ('x = "http://y"\n    ', "\n", Shape()),
        ("def f():\n    return 1\n    ", "\n", Shape()),
        ("def f():\n    x = ", "\n", Shape()),
        ("def f():\n", "\n", Shape()),
        ("def f():\n    ", "return 1\n", Shape()),
        ("", "", Shape()),
        ("\n\n    ", "", Shape()),
    ],
)
def test_several_lines_only_where_a_body_is_to_be_written(prefix: str, suffix: str, shape: Shape) -> None:
    assert middle_shape(prefix, suffix, 4) == shape
    assert middle_shape(prefix, suffix, 1) == Shape()
