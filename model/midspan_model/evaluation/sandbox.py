"""Runs generated programs, with limits on time, memory, processes, files and the network.

It stops accidents of generated code, not an attacker: run it on a machine you can spare. A program runs as
`python -I -S` (the standard library only) in a process group and a temporary folder of its own; both end with it.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from midspan_model.errors import ModelError

_GUARD = Path(__file__).parent / "sandbox_guard.py"
_NAMESPACES = ("--user", "--map-root-user", "--net", "--pid", "--fork", "--kill-child")
_GRACE_S = 5.0
"""For a process that was killed to be gone."""


@dataclass(frozen=True)
class Limits:
    """What a program may use.

    Attributes:
        wall_s: time until it is killed.
        memory_mib: address space.
        file_mib: size of each file it writes in its folder.
    """

    wall_s: float = 5.0
    memory_mib: int = 512
    file_mib: int = 16


@dataclass(frozen=True)
class ProgramRun:
    """How a program ended.

    Attributes:
        passed: it ran through.
        reason: "passed", the name of the exception it ended with, "timeout", or "died" where it said nothing.
    """

    passed: bool
    reason: str


def run_program(program: str, limits: Limits, *, namespaces: bool | None = None) -> ProgramRun:
    """Run a program's text; it passes if its last line is reached.

    Args:
        program: Python.
        limits: what it may use.
        namespaces: whether to give it no network by a namespace; by default wherever this machine permits it.

    Raises:
        ModelError: this system has no such limits.
    """
    if os.name != "posix":
        raise ModelError("generated programs are run on Unix only", hint="leave --run-programs out")
    isolate = has_namespaces() if namespaces is None else namespaces
    token = secrets.token_hex(16)
    with tempfile.TemporaryDirectory(prefix="midspan-program-") as name:
        folder = Path(name).resolve()
        (folder / "program.py").write_text(program, encoding="utf-8")
        command = [
            *(namespace_command() if isolate else ()),
            *(sys.executable, "-I", "-S", str(_GUARD), str(folder), str(limits.memory_mib), str(limits.file_mib)),
            str(int(limits.wall_s) + 1),
        ]
        said = _run(command, folder, token, limits.wall_s)
    if said is None:
        return ProgramRun(False, "timeout")
    lines = said.split("\n")
    reason = lines[1] if lines[0] == token and len(lines) > 1 else "died"
    return ProgramRun(reason == "passed", reason)


def network_limit() -> str:
    """How programs are kept off the network here, for the report."""
    return "network namespace and audit hook" if has_namespaces() else "audit hook"


def namespace_command() -> tuple[str, ...]:
    """What to put in front of a command so that it has no network, and no process outlives it."""
    return (shutil.which("unshare") or "unshare", *_NAMESPACES)


@lru_cache(maxsize=1)
def has_namespaces() -> bool:
    """Whether this machine permits them."""
    if shutil.which("unshare") is None:
        return False
    done = subprocess.run([*namespace_command(), sys.executable, "-I", "-c", ""], check=False, capture_output=True)  # noqa: S603
    return done.returncode == 0


def _run(command: list[str], folder: Path, token: str, wall_s: float) -> str | None:
    """What the guard said; None if it had to be killed for time."""
    with subprocess.Popen(  # noqa: S603  (the guard, which runs the program)
        command,
        cwd=folder,
        env={"PATH": os.defpath, "HOME": str(folder), "TMPDIR": str(folder), "PYTHONHASHSEED": "0"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            return process.communicate(token, timeout=wall_s)[0]
        except subprocess.TimeoutExpired:
            return None
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(_GRACE_S)
