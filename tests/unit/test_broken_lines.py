from __future__ import annotations

import pytest
from midspan_lsp.syntax.broken_lines import document_faults, suspects


@pytest.mark.parametrize(
    ("language_id", "text", "guilty"),
    [
        ("python", "def f(a):\n    print(a, b\n    return a\n\n\ndef g():\n    return 1\n", "print(a, b"),
        ("python", "def f(a)\n    return a\n", "def f(a)"),
        ("python", "é = '😀'\n\n\ndef f(a):\n    x = a +\n    return a\n", "x = a +"),
        ("python", "def f(a):\n    return (a + 1))\n\n\nb = 1\n", "return (a + 1))"),
        ("javascript", "function f(a) {\n  const x = g(a;\n  return x;\n}\n", "const x = g(a;"),
        ("go", "package p\n\nfunc f(a int) int {\n\tif a > 1\n\t\treturn 2\n\t}\n\treturn a\n}\n", "if a > 1"),
    ],
)
def test_the_guilty_line_is_among_the_suspects(language_id: str, text: str, guilty: str) -> None:
    faults = document_faults(text, language_id)
    assert faults
    spans = suspects(text, language_id, faults[0])
    assert guilty in [text[span.start : span.end] for span in spans]
    assert len(spans) <= 5


def test_a_sound_document_has_no_faults_and_an_unknown_language_no_opinion() -> None:
    assert document_faults("x = 1\n", "python") == ()
    assert document_faults("x = 1\n", "klingon") is None
    assert document_faults("", "python") == ()
