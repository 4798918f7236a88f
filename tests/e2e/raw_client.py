"""A client that sends and sees bare messages, for what pytest-lsp hides: errors' data, exit codes, broken input."""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from websocket_client import WebSocketEnd

Transport = Literal["stdio", "tcp", "websocket"]
TRANSPORTS: tuple[Transport, ...] = get_args(Transport)
TIMEOUT_S = 10.0
COMPLETION = "textDocument/inlineCompletion"


class RawClient:
    """One server process and a connection to it. Use as an async context manager.

    Args:
        command: the server's; for another transport than stdio its name and `127.0.0.1:0` are appended, as options.
        cwd: its working directory.
        transport: how to talk to it.
        env: its environment.

    Attributes:
        others: messages that nobody has waited for.
        answers: what the server is answered, by its request's method.
    """

    def __init__(
        self,
        command: Sequence[str],
        cwd: Path | None = None,
        transport: Transport = "stdio",
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._command = command if transport == "stdio" else [*command, f"--{transport}", "127.0.0.1:0"]
        self._cwd = cwd
        self._env = env
        self._transport = transport
        self._n_requests = 0
        self._end: WebSocketEnd | None = None
        self.process: Process
        self.reader: asyncio.StreamReader
        self.writer: asyncio.StreamWriter
        self.others: list[dict[str, Any]] = []
        self.answers: dict[str, Any] = {}

    async def __aenter__(self) -> RawClient:
        self.process = await asyncio.create_subprocess_exec(
            *self._command, stdin=PIPE, stdout=PIPE, stderr=PIPE, cwd=self._cwd, env=self._env
        )
        assert self.process.stdout is not None
        assert self.process.stdin is not None
        self.reader, self.writer = self.process.stdout, self.process.stdin
        if self._transport != "stdio":
            await self._connect(await port_of(self.process))
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.process.returncode is None:
            self.process.kill()
        self.writer.close()
        await self.process.communicate()

    async def _connect(self, port: int) -> None:
        if self._transport == "websocket":
            self._end = await WebSocketEnd.connect(port)
            self.writer = self._end.writer
        else:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", port)

    def send_bytes(self, body: bytes) -> None:
        if self._end is None:
            self.writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        else:
            self._end.write(body)

    async def _body(self) -> bytes:
        if self._end is not None:
            return await self._end.read()
        header = await self.reader.readuntil(b"\r\n\r\n")
        length = int(header.split(b"\r\n")[0].removeprefix(b"Content-Length: "))
        return await self.reader.readexactly(length)

    def say_goodbye(self) -> None:
        """Ends the connection as a client of its kind does."""
        if self._end is not None:
            self._end.say_goodbye()
        else:
            self.writer.close()

    def notify(self, method: str, params: object = None) -> None:
        self.send_bytes(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    def ask(self, method: str, params: object = None) -> int:
        """Sends a request and does not wait; its id."""
        self._n_requests += 1
        message = {"jsonrpc": "2.0", "id": self._n_requests, "method": method, "params": params}
        self.send_bytes(json.dumps(message).encode())
        return self._n_requests

    async def request(self, method: str, params: object = None) -> dict[str, Any]:
        """The response, with its `result` or `error`."""
        return await self.response(self.ask(method, params))

    async def response(self, msg_id: int) -> dict[str, Any]:
        """The response to a request; what comes before it is kept in `others`."""
        while (answer := await self.receive()).get("id") != msg_id or "method" in answer:
            self.others.append(answer)
        return answer

    async def receive(self) -> dict[str, Any]:
        """The next message. Anything that is no frame is an error."""
        async with asyncio.timeout(TIMEOUT_S):
            message = json.loads(await self._body())
        if "id" in message and message.get("method") in self.answers:
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": self.answers[message["method"]]}
            self.send_bytes(json.dumps(answer).encode())
        return message

    async def message(self, method: str) -> dict[str, Any]:
        """The next message of a method, perhaps one of `others`."""
        while not (found := [one for one in self.others if one.get("method") == method]):
            self.others.append(await self.receive())
        self.others.remove(found[0])
        return found[0]

    async def initialize(self, process_id: int | None = None, **params: Any) -> dict[str, Any]:
        params = {"processId": process_id, "rootUri": None, "capabilities": {}, **params}
        answer = await self.request("initialize", params)
        self.notify("initialized", {})
        return answer["result"]

    def open(self, name: str, text: str = "x = ", language_id: str = "python") -> None:
        document = {"uri": f"file:///{name}", "languageId": language_id, "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def change(self, name: str, version: object, *changes: dict[str, Any]) -> None:
        document = {"uri": f"file:///{name}", "version": version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": changes})

    def ask_completion(self, name: str, line: int = 0, character: int = 4, kind: int = 1) -> int:
        """Sends an inline completion, by hand if no kind is given, at the end of "x = " if no place is."""
        position, context = {"line": line, "character": character}, {"triggerKind": kind}
        params = {"textDocument": {"uri": f"file:///{name}"}, "position": position, "context": context}
        return self.ask(COMPLETION, params)

    async def complete(self, name: str, line: int = 0, character: int = 4) -> dict[str, Any]:
        """The response to it."""
        return await self.response(self.ask_completion(name, line, character))

    async def text(self, name: str) -> str | None:
        """A document's text as the scripted server has it (names begin with "text"); None if it has none."""
        result = (await self.complete(name))["result"]
        return json.loads(result["items"][0]["insertText"]) if result else None

    async def ended(self) -> int:
        """Waits for the process to end; its exit code."""
        async with asyncio.timeout(TIMEOUT_S):
            while self.process.returncode is None:  # noqa: ASYNC110  (`wait()` would wait for its pipes to be read too)
                await asyncio.sleep(0.01)
            return self.process.returncode

    async def errors(self) -> str:
        """All that the ended process wrote to standard error."""
        return (await self.process.communicate())[1].decode()


async def port_of(process: Process) -> int:
    """The port on which a server waits, as it tells on standard error."""
    assert process.stderr is not None
    async with asyncio.timeout(TIMEOUT_S):
        line = await process.stderr.readline()
    return int(line.rsplit(b":")[-1])
