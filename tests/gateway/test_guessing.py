"""The language of a text that nobody names: right where it is clear, and nothing where it is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from midspan_lsp.gateway.guessing import language_of

ROOT = Path(__file__).parents[2]
TEXTS = {
    "go": 'package main\n\nimport (\n\t"fmt"\n)\n\nfunc main() {\n\tx := 1\n\tfmt.Println(x)\n}\n',
    "rust": "use std::io;\n\npub fn add(a: i32, b: i32) -> i32 {\n    let c = a + b;\n    c\n}\n",
    "javascript": "const fs = require('fs');\n\nfunction f(a) {\n  console.log(a);\n}\n",
    "typescript": "interface A { b: string }\n\nexport function f(a: A): string {\n  const c: string = a.b;\n}\n",
    "java": "package a.b;\n\nimport java.util.List;\n\npublic class A {\n    private int b = 1;\n}\n",
    "c": '#include <stdio.h>\n\nint main(void) {\n    printf("a");\n    return 0;\n}\n',
    "cpp": "#include <vector>\n\nnamespace a {\ntemplate <typename T> void f(std::vector<T> x);\n}\n",
}


@pytest.mark.parametrize("language_id", TEXTS)
def test_clear_texts_are_known_by_their_look(language_id: str) -> None:
    text = TEXTS[language_id]
    assert language_of(text[: len(text) // 2], text[len(text) // 2 :]) == language_id


def test_python_is_known_by_its_look() -> None:
    text = (ROOT / "tests/examples/geometry.py").read_text(encoding="utf-8")
    assert language_of(text[:400], text[400:]) == "python"


@pytest.mark.parametrize("text", ["", "hello world, this is a sentence.\nAnd one more.", "a: 1\nb: 2\n", "{}", "x = 1"])
def test_nothing_is_said_of_what_is_not_clear(text: str) -> None:
    assert language_of(text, "") == ""


def test_what_is_told_counts_first_and_then_the_path_and_the_shebang() -> None:
    assert language_of(TEXTS["go"], "", "a.rs", "Python") == "python"
    assert language_of(TEXTS["go"], "", "a.rs") == "rust"
    assert language_of(TEXTS["go"], "", "notes.unknown") == ""
    assert language_of("#!/usr/bin/env python3\n", "") == "python"
