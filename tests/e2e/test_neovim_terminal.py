"""Ghost text in a real Neovim in a real terminal; with MIDSPAN_PICTURES, a folder, a picture of it is left there."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from terminal import TMUX, Terminal

pytest.importorskip("pynvim", reason="needs pynvim, which drives Neovim")
from test_neovim import COMMAND, NVIM, PLUGIN, set_up

pytestmark = [
    pytest.mark.weights,
    pytest.mark.skipif(NVIM is None, reason="needs nvim"),
    pytest.mark.skipif(TMUX is None, reason="needs tmux"),
]
BIGGEST = "def biggest(values):\n    best = values[0]\n    for value in values:\n\n    return best\n"
PAGE = """<html><style>body {{ margin: 0; background: #14161b; }}
pre {{ font: 15px/1.2 'DejaVu Sans Mono'; color: #e0e2ea; margin: 8px; }}</style><pre>{code}</pre></html>"""


def take_picture(screen: str, path: Path) -> None:
    """A picture of a terminal's screen."""
    rich_console, rich_text = pytest.importorskip("rich.console"), pytest.importorskip("rich.text")
    console = rich_console.Console(record=True, width=100, file=io.StringIO(), color_system="truecolor")
    console.print(rich_text.Text.from_ansi(screen))
    page = path.with_suffix(".html")
    page.write_text(console.export_html(inline_styles=True, code_format=PAGE), encoding="utf-8")
    browser = [str(shutil.which("chromium")), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command = [*browser, "--window-size=920,260", f"--screenshot={path}", page.as_uri()]
    subprocess.run(command, check=True, capture_output=True)
    page.unlink()


def test_several_lines_are_seen_in_grey(tmp_path: Path, embedded_weights: Path) -> None:
    package = tmp_path / "data" / "nvim" / "site" / "pack" / "midspan" / "start" / "midspan"
    shutil.copytree(PLUGIN, package)
    status = "vim.o.statusline = \"%f %m%=%{v:lua.require'midspan'.status()} \"\nvim.o.termguicolors = true\n"
    (tmp_path / "init.lua").write_text(status + set_up(COMMAND))
    (tmp_path / "biggest.py").write_text(BIGGEST)
    env = {f"XDG_{name.upper()}_HOME": str(tmp_path / name) for name in ("data", "config", "state", "cache")}
    env |= {name: os.environ[name] for name in ("MIDSPAN_CACHE", "PYTHONPATH") if name in os.environ}
    env["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    command = [str(NVIM), "-n", "-i", "NONE", "-u", str(tmp_path / "init.lua"), "+4", "biggest.py"]
    with Terminal(tmp_path, command, env, n_lines=12) as terminal:
        terminal.until(lambda screen: "loading" in screen, "the loading to be shown")
        terminal.until(lambda screen: screen.rstrip().endswith(" Midspan"), "the model")
        terminal.press("A")
        terminal.type("        ")
        screen = terminal.until(lambda screen: "best = value\n" in screen, "ghost text")
        assert screen.index("if ") < screen.index("best = value\n") < screen.index("return best")
        coloured = terminal.screen(coloured=True)
        (ghost,) = [line for line in coloured.split("\n") if "best = value" in line and "[0]" not in line]
        assert "\x1b[" in ghost.partition("best")[0], "it is not of the text's colour"
        if pictures := os.environ.get("MIDSPAN_PICTURES"):
            take_picture(coloured, Path(pictures) / "neovim.png")
