"""Runs one program under limits; started by `sandbox` as a script of its own, and imports nothing but the library.

    python -I sandbox_guard.py FOLDER MEMORY_MIB FILE_MIB CPU_S        (a token on standard input)

Says the token and then "passed" or the exception's name. The program cannot say so for itself: its own standard
output leads nowhere, and the token is known here only.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable
from types import CodeType

_FORBIDDEN_EVENTS = (
    *("socket.", "subprocess.", "ctypes.", "shutil.", "ftplib.", "http.", "urllib.", "smtplib.", "webbrowser."),
    *("os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "os.startfile", "os.kill", "pty."),
    *("os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink"),
    *("os.setxattr", "os.truncate", "os.utime", "os.chflags", "signal.pthread_kill", "syslog."),
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_MIB = 1 << 20


def main() -> None:
    """Limit this process, run the program, say how it ended, and end at once."""
    folder, memory_mib, file_mib, cpu_s = sys.argv[1], *map(int, sys.argv[2:5])
    token = sys.stdin.read()
    say = os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    with open("program.py", encoding="utf-8") as file:  # noqa: PTH123  (pathlib is slow to import)
        source = file.read()
    _limit(memory_mib, file_mib, cpu_s)
    sys.argv[:] = ["program.py"]
    sys.addaudithook(_guard(os.path.realpath(folder) + os.sep))
    try:
        code: CodeType = compile(source, "program.py", "exec")
        exec(code, {"__name__": "__main__"})  # noqa: S102  (what this file is for)
        reason = "passed"
    except BaseException as error:
        reason = type(error).__name__
    os.write(say, f"{token}\n{reason}\n".encode())
    os._exit(0)


def _limit(memory_mib: int, file_mib: int, cpu_s: int) -> None:
    """Set the limits, hard ones included, so that they cannot be raised again."""
    for what, most in (
        (resource.RLIMIT_AS, memory_mib * _MIB),
        (resource.RLIMIT_FSIZE, file_mib * _MIB),
        (resource.RLIMIT_CPU, cpu_s),
        (resource.RLIMIT_NPROC, 1),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))


def _guard(folder: str) -> Callable[[str, tuple[object, ...]], None]:
    """An audit hook that forbids the network, other processes, and writing outside the folder.

    It sees what the library does, not what foreign machine code does; such code is not loaded.
    """

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event.startswith(_FORBIDDEN_EVENTS):
            raise PermissionError(f"{event} is not permitted here")
        if event == "open" and _writes(arguments) and not _within(arguments[0], folder):
            raise PermissionError("files are written in the program's own folder only")

    return hook


def _within(path: object, folder: str) -> bool:
    """Whether a path leads into the folder; a number is a file that is open already."""
    return not isinstance(path, str | bytes) or os.path.realpath(os.fsdecode(path)).startswith(folder)


def _writes(arguments: tuple[object, ...]) -> bool:
    flags = arguments[2]
    return isinstance(flags, int) and bool(flags & _WRITING)


if __name__ == "__main__":
    main()
