"""What a process has used, where the system tells it."""

from __future__ import annotations

import os
from pathlib import Path


def cpu_s(pid: int) -> float | None:
    """Processor seconds of all its threads so far; None where that is not known."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_megabytes(pid: int) -> float | None:
    """The most memory it had at any time; None where that is not known."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")), None)


def usable_processors() -> int:
    """Processors that this process and its children may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
