"""Second parsers: the languages' own, or another that is no tree-sitter, where one is installed.

Those of npm (`typescript` 5, `css-tree`, `parse5`, `scalameta-parsers`) are looked for where `NODE_PATH` leads,
Kotlin's compiler where `KOTLIN_COMPILER` does (the `lib` folder of npm's `kotlin-compiler`), Swift's is
`swift-frontend`, SQL's is `sqlglot` of PyPI. Any text is Markdown. `parse5` tells errors of tokens only, not of tags
that nobody closes, as the standard has it. In SQL a template's values stand for names; what servers know that `sqlglot`
does not is not judged, as it refuses the file as it is.
"""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import tempfile
import tomllib
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from shutil import which
from typing import Any

from midspan_lsp.syntax.languages import parser_for

Sound = Callable[[str, Path], bool]
"""(text of a whole file, its path) -> whether the parser takes it."""


def _by_command(*command: str, ending: str = "", refused: str = "", headers: bool = False) -> Sound | None:
    """A check by a program that is given a file.

    Args:
        command: that program and its options.
        ending: of the file's name; "": its own.
        refused: what it says of a syntax error, if it says more.
        headers: it is to look for headers near the file.
    """
    if which(command[0]) is None:
        return None

    def sound(text: str, path: Path) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / f"{path.stem or 'a'}{ending or path.suffix}"
            copy.write_text(text, encoding="utf-8", newline="")
            near = [one for above in path.resolve().parents[:3] for one in (above, above / "include")]
            options = [f"-I{one}" for one in near] if headers else []
            whole = [*command, *options, str(copy)]
            done = subprocess.run(whole, capture_output=True, text=True, check=False, errors="replace", cwd=folder)
        return re.search(refused, done.stderr + done.stdout) is None if refused else done.returncode == 0

    return sound


def _python(text: str, _path: Path) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "a.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def _json(text: str, _path: Path) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _toml(text: str, _path: Path) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _yaml() -> Sound | None:
    try:
        import yaml
    except ImportError:
        return None

    def sound(text: str, _path: Path) -> bool:
        try:
            for _ in yaml.parse(text):
                pass
        except yaml.YAMLError:
            return False
        return True

    return sound


# Jinja's, and commands of psql
_OF_TEMPLATES = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|(?m:^\\\w[^\n]*$)", re.DOTALL)


def _sql() -> Sound | None:
    try:
        import sqlglot
    except ImportError:
        return None
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)

    def sound(text: str, _path: Path) -> bool:
        plain = _OF_TEMPLATES.sub(lambda found: "x" if found[0].startswith("{{") else "", text)
        return any(map(partial(_parses, sqlglot, plain), ("postgres", "mysql", "sqlite")))

    return sound


def _parses(sqlglot: Any, text: str, dialect: str) -> bool:
    """Whether each statement is one: what the parser does not know it takes for a command, with a warning."""
    try:
        statements = sqlglot.parse(text, read=dialect)
    except sqlglot.errors.SqlglotError:
        return False
    return not any(isinstance(one, sqlglot.exp.Command) for one in statements)


def _by_node(package: str) -> Sound | None:
    """A check by a package of npm."""
    script = Path(__file__).with_suffix(".cjs")
    if which("node") is None:
        return None
    found = subprocess.run(["node", "-e", f"require('{package}')"], capture_output=True, check=False)
    return _by_command("node", str(script), package) if found.returncode == 0 else None


def _kotlin() -> Sound | None:
    folder = os.environ.get("KOTLIN_COMPILER")
    if not folder:
        return None
    compiler = ("java", "-cp", f"{folder}/*", "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler", "-no-stdlib", "-no-jdk")
    return _by_command(*compiler, refused=r"error: syntax error")


# what gcc says of names and types is not syntax; what is below is
_GCC = (
    r"fatal error|error: (?:expected|stray|missing terminating|unterminated|extraneous|'else' without"
    r"|.* before '.*' token)"
)
_JAVAC = (
    r"error: (?:.*expected|illegal start|class, interface|not a statement|reached end|unclosed|'\w+' without|orphaned"
    r"|<identifier>|invalid method|illegal character|unnamed classes|empty character|unexpected)"
)
_GHC = r"(?s)error:.{0,40}?(?:[Pp]arse error|lexical error|unterminated|last statement in a|empty 'do')"
_ALL: dict[str, Sound | None] = {
    "python": _python,
    "json": _json,
    "toml": _toml,
    "yaml": _yaml(),
    "javascript": _by_command("node", "--check", ending=".mjs"),
    "go": _by_command("gofmt", "-e", "-l"),
    "rust": _by_command("rustfmt", "--check", "--edition", "2021", "--config", "skip_children=true", refused=r"^error"),
    "ruby": _by_command("ruby", "-c"),
    "php": _by_command("php", "-l"),
    "shellscript": _by_command("bash", "-n"),
    "lua": _by_command("luac5.4", "-p"),
    "c": _by_command("gcc", "-fsyntax-only", "-w", refused=_GCC, headers=True),
    "java": _by_command("javac", "-proc:none", "-implicit:none", refused=_JAVAC),
    "cpp": _by_command("g++", "-std=c++20", "-fsyntax-only", "-w", refused=_GCC, headers=True),
    **dict.fromkeys(("typescript", "typescriptreact", "javascriptreact"), _by_node("typescript")),
    "css": _by_node("css-tree"),
    "html": _by_node("parse5"),
    "kotlin": _kotlin(),
    "sql": _sql(),
    "csharp": _by_command("mcs", "--parse", refused=r"error CS(?:1\d{3}|[89]\d{3}|0589)"),
    "scala": _by_node("scalameta-parsers"),
    "swift": _by_command("swift-frontend", "-parse"),
    "haskell": _by_command("ghc", "-fno-code", refused=_GHC),
}
CHECKS: dict[str, Sound] = {
    name: check for name, check in _ALL.items() if check is not None and parser_for(name) is not None
}
