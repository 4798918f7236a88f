"""The same lines typed by llama.cpp, in a process of its own."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
from pathlib import Path
from types import TracebackType

from midspan_lsp.backends.local_control import TypedLine
from midspan_lsp.errors import BackendUnavailable

_SCRIPT = Path(__file__).with_name("llama.mjs")


class Llama:
    """Types lines; a context manager.

    Args:
        folder: where `npm i node-llama-cpp` was run.
        gguf: the weights.
        n_threads: as many as the model has in the server.

    Raises:
        BackendUnavailable: there is no node, or no node-llama-cpp in the folder.
    """

    def __init__(self, folder: Path, gguf: Path, n_threads: int) -> None:
        node = shutil.which("node")
        if node is None or not (folder / "node_modules" / "node-llama-cpp").is_dir():
            raise BackendUnavailable(
                f"no node-llama-cpp in {folder}", hint=f"Install Node.js, and run `npm i node-llama-cpp` in {folder}."
            )
        self._process = subprocess.Popen(  # noqa: S603  (what the user has asked for)
            [node, str(_SCRIPT), str(folder), str(gguf), str(n_threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def __enter__(self) -> Llama:
        return self

    def __exit__(self, _type: type[BaseException] | None, _value: object, _traceback: TracebackType | None) -> None:
        self._process.kill()
        self._process.communicate()

    def type_line(self, prefix: str) -> TypedLine:
        """Type to the end of the line, the text before it being encoded.

        Raises:
            BackendUnavailable: llama.cpp has ended; it says why on standard error.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # the missing answer says so
            print(json.dumps(prefix), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise BackendUnavailable("llama.cpp has ended", hint="Its own message stands above.")
        return TypedLine(**json.loads(answer))
