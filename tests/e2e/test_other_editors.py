"""The configurations of `editor-clients/others` in the real editors, in a terminal, with the real command and weights.

Each is the program that its variable names, or the one on the PATH: MIDSPAN_HELIX, MIDSPAN_EMACS (29 or newer).
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from terminal import TMUX, Terminal

pytestmark = [pytest.mark.weights, pytest.mark.skipif(TMUX is None, reason="needs tmux")]

CONFIGURATIONS = Path(__file__).parents[2] / "editor-clients" / "others"
SETTINGS = '[tool.midspan]\ncompletion.eagerness = "always"\nmemory.enabled = false\n'
ADD = "def add(first, second):\n    return first \n\n\nprint(add(1, 2))\n"
WHOLE = "return first + second"


def program(variable: str, *names: str) -> str:
    """The editor, or skips the test."""
    found = os.environ.get(variable) or next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"needs {names[0]}, or its path in {variable}")
    return found


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def home(tmp_path: Path, embedded_weights: Path) -> Path:
    """A new home with a project in it."""
    put(tmp_path / "project" / "pyproject.toml", SETTINGS)
    (tmp_path / "project" / ".git").mkdir()
    put(tmp_path / "project" / "add.py", ADD)
    return tmp_path


def environment(home: Path) -> Mapping[str, str]:
    """That of a person whose PATH has `midspan`; nothing of the tester's own configuration."""
    cache = os.environ.get("MIDSPAN_CACHE")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "PATH": path, "LC_ALL": "C.UTF-8"}
    if "PYTHONPATH" in os.environ:
        env["PYTHONPATH"] = os.environ["PYTHONPATH"]
    return env if cache is None else {**env, "MIDSPAN_CACHE": cache}


def saved(home: Path, terminal: Terminal) -> None:
    path = home / "project" / "add.py"
    terminal.until(lambda _screen: WHOLE in path.read_text(), "the saved text")
    assert path.read_text() == ADD.replace("return first ", WHOLE)


def test_helix_offers_it_in_its_menu(home: Path) -> None:
    helix = program("MIDSPAN_HELIX", "hx", "helix")
    put(home / ".config" / "helix" / "languages.toml", (CONFIGURATIONS / "helix.toml").read_text())
    with Terminal(home / "project", [helix, "add.py:2"], environment(home)) as terminal:
        terminal.until(lambda screen: "return first" in screen, "the file")
        terminal.press("A")
        terminal.type("+ ")
        terminal.until(lambda screen: "second" in screen.split("return")[1], "the menu", again=("C-x",))
        terminal.press("Tab", "Enter", "Escape")
        terminal.type(":w")
        terminal.press("Enter")
        saved(home, terminal)


def test_emacs_eglot_completes_at_point(home: Path) -> None:
    emacs = program("MIDSPAN_EMACS", "emacs")
    command = [emacs, "-nw", "-Q", "-l", str(CONFIGURATIONS / "eglot.el"), "+2", "add.py"]
    with Terminal(home / "project", command, environment(home)) as terminal:
        terminal.until(lambda screen: "eglot" in screen.lower(), "the server")
        terminal.press("C-e")
        terminal.type("+ ")
        terminal.until(lambda screen: WHOLE in screen, "the middle", again=("M-Tab",))
        terminal.press("C-x", "C-s")
        saved(home, terminal)
