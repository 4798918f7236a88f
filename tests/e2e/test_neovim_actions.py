"""Code actions in a real Neovim, which shows them by itself, with the real command and weights."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("pynvim", reason="needs pynvim, which drives Neovim")

from action_texts import BROKEN, HOLES, SOUND
from test_neovim import COMMAND, NVIM, Neovim

pytestmark = [pytest.mark.weights, pytest.mark.skipif(NVIM is None, reason="needs nvim")]


@pytest.fixture(scope="module")
def neovim(tmp_path_factory: pytest.TempPathFactory, embedded_weights: Path) -> Iterator[Neovim]:
    command = ", ".join(f'"{word}"' for word in COMMAND)
    setup = f'require("midspan").setup({{ cmd = {{ {command} }}, settings = {{ memory = {{ enabled = false }} }} }})'
    neovim = Neovim(tmp_path_factory.mktemp("neovim-actions"), setup)
    try:
        write(neovim, "first.py", "x = 1\n")
        neovim.until(lambda: "loading" in neovim.status(), "the loading to be shown")
        neovim.until(neovim.ready, "the model")
        yield neovim
    finally:
        neovim.close()


def write(neovim: Neovim, name: str, text: str) -> None:
    """Opens a file of this text, in normal mode."""
    (neovim.home / name).write_text(text)
    neovim.rpc.command(f"edit! {neovim.home / name}")
    neovim.until(neovim.attached, "the server")


def act(neovim: Neovim, text: str, part: str, title: str) -> None:
    """Takes the code action of this title at a text."""
    begin = text.index(part)
    edges = [text[:end].split("\n") for end in (begin, begin + len(part))]
    start, end = ([len(lines), len(lines[-1].encode())] for lines in edges)
    neovim.rpc.current.window.cursor = start
    neovim.lua(
        """local start, stop, title = ...
        vim.lsp.buf.code_action({
          range = { start = start, ["end"] = stop },
          apply = true,
          filter = function(action) return action.title == title end,
        })""",
        start,
        end,
        title,
    )


def test_the_holes_of_a_function_are_filled_and_one_undo_takes_them_back(neovim: Neovim) -> None:
    write(neovim, "holes.py", HOLES)
    act(neovim, HOLES, "for", "Midspan: fill the 2 holes here")
    neovim.until(lambda: "..." not in neovim.text(), "the holes to be filled")
    ast.parse(neovim.text())
    assert neovim.text().startswith(HOLES.split("...", maxsplit=1)[0])
    neovim.rpc.command("undo")
    assert neovim.text() == HOLES.rstrip("\n")


def test_a_syntax_error_is_repaired(neovim: Neovim) -> None:
    write(neovim, "broken.py", BROKEN)
    act(neovim, BROKEN, "total += circle.area(", "Midspan: repair the syntax error")
    neovim.until(lambda: neovim.text() != BROKEN.rstrip("\n"), "the repair")
    ast.parse(neovim.text())
    changed = [line for line, old in zip(neovim.text().split("\n"), BROKEN.split("\n"), strict=False) if line != old]
    assert len(changed) == 1, neovim.text()


def test_a_selection_is_written_another_way(neovim: Neovim) -> None:
    write(neovim, "refill.py", SOUND)
    act(neovim, SOUND, "math.pi * self.radius ** 2", "Midspan: write the selection another way")
    neovim.until(lambda: neovim.text() != SOUND.rstrip("\n"), "another way")
    ast.parse(neovim.text())
    head, tail = SOUND.rstrip("\n").split("math.pi * self.radius ** 2")
    assert neovim.text().startswith(head)
    assert neovim.text().endswith(tail)
