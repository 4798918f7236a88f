"""A progress line on standard error: it moves on a terminal and stays plain elsewhere."""

from __future__ import annotations

import sys

from midspan_lsp.backends.base import LoadProgress

_BAR_WIDTH = 30


class ProgressLine:
    """Shows the progress of a load; call it with each `LoadProgress`."""

    def __init__(self) -> None:
        self._moving = sys.stderr.isatty()
        self._message = ""

    def __call__(self, progress: LoadProgress) -> None:
        """Show one more step."""
        if self._moving:
            print(f"\r\x1b[K{_line(progress)}", end="", file=sys.stderr, flush=True)
        elif progress.message != self._message:
            print(f"{progress.message} ...", file=sys.stderr, flush=True)
        self._message = progress.message

    def say(self, message: str) -> None:
        """Show what is being done."""
        self(LoadProgress(message))

    def close(self) -> None:
        """Leave the terminal's line clean."""
        if self._moving and self._message:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _line(progress: LoadProgress) -> str:
    if progress.percentage is None:
        return f"{progress.message} ..."
    done = _BAR_WIDTH * progress.percentage // 100
    return f"{progress.message} {'█' * done}{'░' * (_BAR_WIDTH - done)} {progress.percentage} %"
