"""Where the servers of one user meet: a folder that nobody else can look into, and a name for each way to load."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import stat
import tempfile
from pathlib import Path

from midspan_lsp import __version__
from midspan_lsp.config import Settings
from midspan_lsp.errors import BackendUnavailable

VARIABLE = "MIDSPAN_RUNTIME"


@dataclasses.dataclass(frozen=True)
class Meeting:
    """Where one model is shared.

    Attributes:
        socket: its host listens on.
        lock: its host holds while it lives; the system lets go of it, however the host ends.
        log: of its host.
    """

    socket: Path
    lock: Path
    log: Path


def meeting_of(settings: Settings) -> Meeting:
    """Where a model with these settings is shared: servers whose models would differ do not meet.

    Raises:
        BackendUnavailable: somebody else can write to the folder.
    """
    shared = {"model": dataclasses.asdict(settings.model), "context": dataclasses.asdict(settings.context)}
    folder = _folder()
    key = json.dumps([__version__, shared], sort_keys=True)
    name = hashlib.sha256(key.encode()).hexdigest()[:12]  # short: a socket's path has at most 104 bytes
    return Meeting(folder / f"{name}.sock", folder / f"{name}.lock", folder / f"{name}.log")


def _folder() -> Path:
    chosen, session = os.environ.get(VARIABLE), os.environ.get("XDG_RUNTIME_DIR")
    if chosen:
        folder = Path(chosen).absolute()
    elif session:
        folder = Path(session) / "midspan"
    else:
        folder = Path(tempfile.gettempdir()) / f"midspan-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
    except OSError as error:
        raise BackendUnavailable(f"{folder}: {error.strerror or error}", hint=f"Set {VARIABLE} to a folder.") from error
    is_mine = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077
    if not is_mine:
        raise BackendUnavailable(
            f"{folder} is not a folder of yours alone",
            hint=f"Remove it, or `chmod 700` it, or set {VARIABLE} to another.",
        )
    return folder
