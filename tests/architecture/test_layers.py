"""The layout's rules that an import can show."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted([*ROOT.glob("lsp_server/midspan_lsp/**/*.py"), *ROOT.glob("model/midspan_model/**/*.py")])


def test_the_import_contracts_hold() -> None:
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "module",
    [
        "midspan_lsp.cli.serve",
        "midspan_lsp.lsp.server",
        "midspan_lsp.cli.main",
        "midspan_lsp.engine.pipeline",
        "midspan_model",
    ],
)
def test_nothing_that_starts_a_server_imports_torch(module: str) -> None:
    code = f"import sys, {module}; sys.exit(any(name in sys.modules for name in ('torch', 'numpy', 'gguf')))"
    assert subprocess.run([sys.executable, "-P", "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_files_are_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 250


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_what_is_public_says_what_it_is(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), "the file says what it is"
    for node in ast.walk(tree):
        public = isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith(
            "_"
        )
        if public and node in tree.body:
            assert ast.get_docstring(node), f"{node.name} has no docstring"
