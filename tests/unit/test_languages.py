"""The table of languages."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest
from midspan_lsp.syntax import languages
from midspan_lsp.syntax.languages import language_id_of, missing_grammars, parser_for, text_closers, validated_languages

ALL = [
    "python", "javascript", "javascriptreact", "typescript", "typescriptreact", "go", "rust", "java", "c", "cpp",
    "csharp", "ruby", "php", "shellscript", "lua", "kotlin", "scala", "swift", "haskell", "html", "css", "json", "yaml",
    "toml", "sql", "markdown",
]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "language_id"),
    [
        ("a.py", "python"),
        ("stubs/a.pyi", "python"),
        ("a.js", "javascript"),
        ("a.mjs", "javascript"),
        ("a.cjs", "javascript"),
        ("a.jsx", "javascriptreact"),
        ("a.ts", "typescript"),
        ("a.d.mts", "typescript"),
        ("a.cts", "typescript"),
        ("a.tsx", "typescriptreact"),
        ("a.go", "go"),
        ("a.rs", "rust"),
        ("a.h", "cpp"),
        ("a.c", "c"),
        ("a.rake", "ruby"),
        ("a.kts", "kotlin"),
        ("a.yml", "yaml"),
        ("SETUP.PY", "python"),
        (Path("/tmp/some folder/a.rs"), "rust"),
        (r"C:\work\a.go", "go"),
        ("a.txt", ""),
        ("Makefile", ""),
        (".py", ""),
        ("py", ""),
        ("", ""),
    ],
)
def test_by_name(path: str | Path, language_id: str) -> None:
    assert language_id_of(path, "") == language_id


@pytest.mark.parametrize(
    ("first_line", "language_id"),
    [
        ("#!/usr/bin/env python3", "python"),
        ("#!/usr/bin/python3.11 -u", "python"),
        ("#! /usr/local/bin/python\r\n", "python"),
        ("#!/usr/bin/env -S PYTHONPATH=. python -I", "python"),
        ("#!/usr/bin/env node", "javascript"),
        ("#!/usr/bin/env -S node --flag", "javascript"),
        ("\ufeff#!/usr/bin/node", "javascript"),
        ("#!/bin/sh", "shellscript"),
        ("#!/usr/bin/env lua5.4", "lua"),
        ("#!/usr/bin/ruby -w", "ruby"),
        ("#!/usr/bin/pythonic", ""),
        ("#!/opt/python/bin/perl", ""),
        ("#!", ""),
        ("# python", ""),
        ("", ""),
    ],
)
def test_by_shebang(first_line: str, language_id: str) -> None:
    assert language_id_of("script", first_line) == language_id


@pytest.mark.parametrize(("alias", "language_id"), [("sh", "shellscript"), ("cs", "csharp"), ("dockercompose", "yaml")])
def test_editors_name_some_in_several_ways(alias: str, language_id: str) -> None:
    assert text_closers(alias) == text_closers(language_id)
    assert parser_for(alias) is not None


def test_the_name_is_believed_before_the_shebang() -> None:
    assert language_id_of("a.js", "#!/usr/bin/env python3") == "javascript"


def test_all_grammars_are_installed_here() -> None:
    assert validated_languages() == ALL


@pytest.mark.parametrize("language_id", ALL)
def test_every_language_parses(language_id: str) -> None:
    parser = parser_for(language_id)
    assert parser is not None
    assert not parser.parse(b"").root_node.has_error
    assert text_closers(language_id) or language_id == "markdown"


@pytest.mark.parametrize("language_id", ["", "cobol", "Python", "plaintext"])
def test_unknown_languages_have_no_parser(language_id: str) -> None:
    assert parser_for(language_id) is None
    assert text_closers(language_id) == ()


def test_parsers_are_never_shared() -> None:
    assert parser_for("python") is not parser_for("python")


def test_a_missing_wheel_is_said_once(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setitem(sys.modules, "tree_sitter_go", None)
    languages._grammar.cache_clear()
    try:
        with caplog.at_level(logging.WARNING):
            assert parser_for("go") is None
            assert parser_for("go") is None
            assert "go" not in validated_languages()
            assert missing_grammars() == {"go": "tree-sitter-go"}
        assert len(caplog.records) == 1
    finally:
        languages._grammar.cache_clear()


def test_grammars_are_loaded_when_needed() -> None:
    program = (
        "import sys; from midspan_lsp.syntax.languages import parser_for;"
        "before = [name for name in sys.modules if name.startswith('tree_sitter_')];"
        "parser_for('go'); print(before, 'tree_sitter_go' in sys.modules, 'tree_sitter_rust' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "True", "False"]
