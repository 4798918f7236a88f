"""The real server around an engine that does as the documents' names tell it.

The settings' `model.path` chooses how the engine loads: "" at once, "gate" once `release-load.py` is completed, "fail"
with an error for the user, "crash" with another. A completion in a document named:
    wait*.py      waits until it is cancelled, closed or released
    release-X.py  lets X go on: the loading, or a document's stem
    journal.py    answers with what has happened so far, as JSON
    noise.py      prints on every kind of standard output first
    crash.py      fails unexpectedly
    bad.py        fails with an error for the user
    busy.py       blocks a thread that nothing can stop, and waits
    hang.py       blocks the loop
    chatter.py    logs more than a pipe holds
    text*.py      answers with the text that the server has, as JSON
    many*.py      answers "FIRST()", "SECOND()", "THIRD()"
    any other     answers "MIDDLE()" at the cursor at once
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections import defaultdict
from pathlib import PurePosixPath

from midspan_lsp.backends.base import LoadProgress, ReportProgress
from midspan_lsp.backends.notices import Notices
from midspan_lsp.config import MemorySettings, Settings
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine.feedback import Feedback
from midspan_lsp.engine.outcome import Tally
from midspan_lsp.engine.recall import Recall
from midspan_lsp.errors import BackendUnavailable, BadResponse
from midspan_lsp.lsp.connections import Address
from midspan_lsp.lsp.serve import serve
from midspan_lsp.types import CancellationToken, InfillStats, Span, Suggestion, Trigger, Verdict


class FakeEngine:
    """The engine's interface, and a script."""

    def __init__(self, settings: Settings) -> None:
        self._load_mode = settings.model.path
        self._events: dict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._journal: list[str] = ["torch" if "torch" in sys.modules else "no torch"]
        self.ready = False
        self.recall = Recall(MemorySettings(enabled=False))
        self.notices = Notices()
        self.tally = Tally(n_requests=7, n_encoded_tokens=11)
        self.feedback = Feedback(enabled=False)

    async def load(self, report: ReportProgress) -> None:
        if self._load_mode == "fail":
            raise BackendUnavailable("the weights are missing", hint="Run: midspan fetch")
        if self._load_mode == "crash":
            raise RuntimeError("unexpected")
        if self._load_mode == "gate":
            await asyncio.to_thread(report, LoadProgress("half", 50))
            await self._events["load"].wait()
        self.ready = True

    async def complete(
        self, snapshot: DocumentSnapshot, offset: int, trigger: Trigger, token: CancellationToken | None = None
    ) -> list[Suggestion]:
        name = PurePosixPath(snapshot.uri).stem
        if name.startswith("release-"):
            self._events[name.removeprefix("release-")].set()
        if not self.ready:
            return []
        text = await self._run(name, snapshot, trigger)
        texts = ["FIRST()", "SECOND()", "THIRD()"] if name.startswith("many") else [text] if text else []
        return [Suggestion(one, Span(offset, offset), 1.0, Verdict.VALID, InfillStats()) for one in texts]

    async def _run(self, name: str, snapshot: DocumentSnapshot, trigger: Trigger) -> str:
        if name.startswith("wait"):
            return await self._wait(name)
        if name == "journal":
            return json.dumps(self._journal)
        if name == "noise":
            make_noise()
        elif name == "crash":
            raise RuntimeError("unexpected")
        elif name == "bad":
            raise BadResponse("the model gave nonsense", hint="Restart the editor.")
        elif name == "busy":
            threading.Thread(target=time.sleep, args=(600,)).start()
            await asyncio.Event().wait()
        elif name == "hang":
            time.sleep(600)  # noqa: ASYNC251
        elif name == "chatter":
            logging.getLogger("chatter").warning("x" * 200_000)
        elif name.startswith("text"):
            return json.dumps(snapshot.text)
        self._journal.append(f"{trigger.value} {name}")
        return "MIDDLE()"

    async def _wait(self, name: str) -> str:
        try:
            await self._events[name].wait()
        except asyncio.CancelledError:
            self._journal.append(f"cancelled {name}")
            raise
        return "MIDDLE()"

    def opened(self, snapshot: DocumentSnapshot) -> None:
        pass

    def changed(self, snapshot: DocumentSnapshot) -> None:
        pass

    def forget(self, uri: str) -> None:
        name = PurePosixPath(uri).stem
        self._journal.append(f"forgot {name}")
        self._events[name].set()

    async def apply(self, settings: Settings) -> bool:
        self._journal.append(f"lines {settings.completion.max_lines} memory {settings.memory.enabled}")
        return False

    async def aclose(self) -> None:
        await self.feedback.aclose()
        print("closed")


def make_noise() -> None:
    print("from Python", flush=True)
    os.write(1, b"from the file descriptor\n")
    libc = ctypes.CDLL(None)
    libc.puts(b"from C")
    libc.fflush(None)
    subprocess.run([sys.executable, "-c", "print('from a child', input())"], check=False)


def address() -> Address | None:
    """Of `--tcp HOST:PORT` or `--websocket HOST:PORT`."""
    if len(sys.argv) == 1:
        return None
    host, _, port = sys.argv[2].partition(":")
    return Address(sys.argv[1].removeprefix("--"), host, int(port), tuple(sys.argv[3:]))  # type: ignore[arg-type]  # tcp or websocket


if __name__ == "__main__":
    serve(FakeEngine, at=address())  # type: ignore[arg-type]  # it has the interface, not the class
