"""The editor's process: a server whose editor is gone has nothing to do."""

from __future__ import annotations

import ctypes
import logging
import os
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)

POLL_S = 0.5
_SYNCHRONIZE = 0x00100000
_WAIT_TIMEOUT = 258


def call_when_gone(process_id: int, stop: Callable[[], None]) -> None:
    """Have a thread call `stop` once a process has ended.

    One that is not there to begin with is not watched: the editor lives in another container or machine.
    """
    if not is_alive(process_id):
        logger.info("the editor's process %d is not to be seen from here", process_id)
        return

    def watch() -> None:
        while is_alive(process_id):
            time.sleep(POLL_S)
        logger.info("the editor's process is gone")
        stop()

    threading.Thread(target=watch, name="parent", daemon=True).start()


def is_alive(process_id: int) -> bool:
    """Whether a process runs; one that has ended and that nobody has asked after does not."""
    if process_id <= 0:
        return False
    if sys.platform == "win32":  # where `os.kill` would end it
        handle = ctypes.windll.kernel32.OpenProcess(_SYNCHRONIZE, False, process_id)
        if not handle:
            return False
        try:
            return ctypes.windll.kernel32.WaitForSingleObject(handle, 0) == _WAIT_TIMEOUT
        finally:
            ctypes.windll.kernel32.CloseHandle(handle)
    try:
        os.kill(process_id, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return not _is_zombie(process_id)


def _is_zombie(process_id: int) -> bool:
    """Only where the system tells it in /proc; elsewhere such a process counts as running."""
    try:
        stat = Path(f"/proc/{process_id}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[:1] == ["Z"]
