"""A small editor: JSON-RPC with a server process over its standard streams."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from midspan_lsp.bench.traces import Hole
from midspan_lsp.errors import BackendUnavailable, BadResponse

COMMAND = (sys.executable, "-P", "-m", "midspan_lsp", "serve")
_CANCELLED = -32800
_LOADING_TIMEOUT_S = 600.0
_ERROR = 1


class Editor:
    """One session. All of it belongs to one event loop.

    Args:
        process: the server's.
        began_s: when it was started, by `time.perf_counter`.
    """

    def __init__(self, process: Process, began_s: float) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.pid = process.pid
        self._process, self._began_s = process, began_s
        self._reader, self._writer = process.stdout, process.stdin
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._n_requests = 0
        self._loaded: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, settings: Mapping[str, object], folders: tuple[Path, ...]) -> Editor:
        """Start a server and greet it."""
        began_s = time.perf_counter()
        process = await asyncio.create_subprocess_exec(*COMMAND, stdin=PIPE, stdout=PIPE, stderr=DEVNULL)
        editor = cls(process, began_s)
        workspace = [{"uri": folder.as_uri(), "name": folder.name} for folder in folders]
        await editor.request(
            "initialize",
            {
                "processId": None,
                "rootUri": None,
                "capabilities": {"window": {"workDoneProgress": True}},
                "workspaceFolders": workspace,
                "initializationOptions": {"stats": {"enabled": False}, **settings},  # not the user's own typing
            },
        )
        editor.notify("initialized", {})
        return editor

    async def loaded(self) -> float:
        """Seconds from the start of the process until the model was loaded.

        Raises:
            BackendUnavailable: the server says that it cannot be.
        """
        return await asyncio.wait_for(asyncio.shield(self._loaded), _LOADING_TIMEOUT_S)

    def notify(self, method: str, params: object) -> None:
        """Send what has no answer."""
        self._send({"method": method, "params": params})

    def ask(self, method: str, params: object) -> tuple[int, asyncio.Future[Any]]:
        """Send a request; its number, for a cancel, and its result to come."""
        self._n_requests += 1
        number = self._n_requests
        self._answers[number] = asyncio.get_running_loop().create_future()
        self._send({"id": number, "method": method, "params": params})
        return number, self._answers[number]

    async def request(self, method: str, params: object) -> Any:
        """The result of a request."""
        return await self.ask(method, params)[1]

    def open(self, hole: Hole, text: str) -> None:
        """Open a hole's document with this text."""
        item = {"uri": hole.path.as_uri(), "languageId": hole.language_id, "version": 0, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})

    def change(self, hole: Hole, text: str) -> None:
        """Give it another text."""
        document = {"uri": hole.path.as_uri(), "version": self._n_requests + 1}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    def close(self, hole: Hole) -> None:
        """Close it."""
        self.notify("textDocument/didClose", {"textDocument": {"uri": hole.path.as_uri()}})

    def ask_completion(self, hole: Hole, n_typed: int = 0) -> tuple[int, asyncio.Future[Any]]:
        """Ask for ghost text at the cursor."""
        line, column = hole.position(n_typed)
        document, position = {"uri": hole.path.as_uri()}, {"line": line, "character": column}
        params = {"textDocument": document, "position": position, "context": {"triggerKind": 2}}
        return self.ask("textDocument/inlineCompletion", params)

    def cancel(self, number: int) -> None:
        """A request's answer is not wanted any more."""
        self.notify("$/cancelRequest", {"id": number})

    async def work(self) -> dict[str, int]:
        """What the server has done so far."""
        return dict(await self.request("midspan/work", {}))

    async def stop(self) -> None:
        """End the server."""
        await self.request("shutdown", None)
        self.notify("exit", None)
        await self._process.wait()
        self._reading.cancel()

    def _send(self, message: dict[str, object]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    async def _read(self) -> None:
        try:
            while True:
                header = await self._reader.readuntil(b"\r\n\r\n")
                length = int(header.split(b"Content-Length: ")[1].split(b"\r\n")[0])
                self._take(json.loads(await self._reader.readexactly(length)))
        except asyncio.IncompleteReadError:
            self._fail(BadResponse("the server has ended", hint="Try `midspan doctor`."))

    def _take(self, message: dict[str, Any]) -> None:
        method: str | None = message.get("method")
        params: dict[str, Any] = message.get("params") or {}
        if method is None:
            answer = self._answers.pop(message["id"])
            error = message.get("error")
            if error is None or error["code"] == _CANCELLED:
                answer.set_result(message.get("result"))
            else:
                answer.set_exception(BadResponse(f"the server answers: {error['message']}"))
        elif "id" in message:
            self._send({"id": message["id"], "result": None})
        elif method == "window/showMessage" and params["type"] == _ERROR:
            self._fail(BackendUnavailable(params["message"]))
        elif method == "$/progress" and params["value"]["kind"] == "end" and not self._loaded.done():
            self._loaded.set_result(time.perf_counter() - self._began_s)

    def _fail(self, error: Exception) -> None:
        for future in (self._loaded, *self._answers.values()):
            if not future.done():
                future.set_exception(error)


def text_of(result: Any) -> str:
    """The ghost text of an answer; empty if there is none."""
    items = result["items"] if isinstance(result, dict) else result or []  # pyright: ignore[reportUnknownVariableType]
    return str(items[0]["insertText"]) if items else ""  # pyright: ignore[reportUnknownArgumentType]
