"""A program in a real terminal (tmux), as a person at a keyboard has it."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

TMUX = shutil.which("tmux")
TIMEOUT_S = 180
AGAIN_S = 10


class Terminal:
    """A program of its own tmux server. Use as a context manager.

    Args:
        folder: the working folder; tmux's socket lies in it too.
        command: the program and its arguments.
        env: set for it.
        n_lines: of the terminal; it has 100 columns.
    """

    def __init__(self, folder: Path, command: list[str], env: Mapping[str, str], *, n_lines: int = 24) -> None:
        self._tmux = [str(TMUX), "-f", "/dev/null", "-S", str(folder / "tmux")]
        settings = [f"{name}={value}" for name, value in env.items()]
        size = ["-x", "100", "-y", str(n_lines), "-c", str(folder)]
        self._run("new-session", "-d", *size, "env", "TERM=tmux-256color", "COLORTERM=truecolor", *settings, *command)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self._run("kill-server")

    def press(self, *keys: str) -> None:
        """Presses keys by their names: `Enter`, `Escape`, `C-x`."""
        self._run("send-keys", *keys)

    def type(self, text: str) -> None:
        """Types text key by key, as fast as a person."""
        for character in text:
            self._run("send-keys", "-l", character)
            time.sleep(0.05)

    def screen(self, *, coloured: bool = False) -> str:
        """What is on the screen, with its colours as escape sequences if wanted."""
        return self._run("capture-pane", "-p", *(["-e"] if coloured else []))

    def until(self, found: Callable[[str], bool], what: str, *, again: tuple[str, ...] = ()) -> str:
        """Waits until the screen is so; the screen. Some keys are pressed again and again: the model may still load."""
        end_s = time.monotonic() + TIMEOUT_S
        press_s = time.monotonic()
        while time.monotonic() < end_s:
            screen = self.screen()
            if found(screen):
                return screen
            if again and time.monotonic() >= press_s:
                for key in again:  # an editor that sees two at once may see no change
                    self.press(key)
                    time.sleep(1)
                press_s = time.monotonic() + AGAIN_S
            time.sleep(0.1)
        raise AssertionError(f"waited in vain for {what}; the screen:\n{self.screen()}")

    def _run(self, *arguments: str) -> str:
        done = subprocess.run([*self._tmux, *arguments], capture_output=True, text=True, check=True)
        return done.stdout
