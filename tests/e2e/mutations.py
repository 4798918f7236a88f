"""Messages that no editor should send. As a program it sends many: `mutations.py 10000`."""

from __future__ import annotations

import argparse
import asyncio
import copy
import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import raw_client
from raw_client import COMPLETION, TRANSPORTS, RawClient, Transport

ROUND = 50
_URI = "file:///a.py"
_PLACE = {"line": 0, "character": 4}
_ITEM = {"uri": _URI, "languageId": "python", "version": 1, "text": "x = "}
_CHANGE = {"range": {"start": _PLACE, "end": _PLACE}, "text": "é"}
_MESSAGES: list[tuple[str, Any]] = [
    ("initialize", {"processId": None, "rootUri": None, "capabilities": {}}),
    ("initialized", {}),
    ("textDocument/didOpen", {"textDocument": _ITEM}),
    ("textDocument/didChange", {"textDocument": {"uri": _URI, "version": 2}, "contentChanges": [_CHANGE]}),
    ("textDocument/didClose", {"textDocument": {"uri": _URI}}),
    ("textDocument/didSave", {"textDocument": {"uri": _URI}}),
    (COMPLETION, {"textDocument": {"uri": _URI}, "position": _PLACE, "context": {"triggerKind": 1}}),
    ("$/cancelRequest", {"id": 7}),
    ("workspace/didChangeConfiguration", {"settings": {"midspan": {"completion": {"max_lines": 2}}}}),
    ("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": [{"uri": _URI, "name": "a"}]}}),
    ("workspace/didChangeWatchedFiles", {"changes": [{"uri": _URI, "type": 1}]}),
    ("workspace/didRenameFiles", {"files": [{"oldUri": _URI, "newUri": _URI}]}),
    ("workspace/executeCommand", {"command": "x", "arguments": [1]}),
    ("midspan/work", None),
    ("$/setTrace", {"value": "off"}),
]
_VALUES: list[Any] = [
    *(None, True, 0, -1, 2**31, 2**63, 1.5, 1e300, "", "x", "😀", "\ud800", "a" * 10_000, [], {}, [[]], {"a": {}}),
    *("file:///", "untitled:1", "file:///%", "file://[", {"jsonrpc": "2.0", "id": 1, "method": "exit"}, [None] * 50),
]


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each value within a value."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    for key in keys:
        yield (*path, key)
        yield from _paths(value[key], (*path, key))


def mutate(draw: random.Random, msg_id: int) -> bytes:
    """A message with something else in some places, or broken bytes."""
    method, params = draw.choice(_MESSAGES)
    message: Any = {"jsonrpc": "2.0", "id": msg_id, "method": method, "params": copy.deepcopy(params)}
    if draw.random() < 0.5:
        del message["id"]
    for _ in range(draw.randint(1, 3)):
        *way, last = draw.choice(list(_paths(message)) or [("jsonrpc",)])
        place = message
        for key in way:
            place = place[key]
        if draw.random() < 0.25:
            place.pop(last, None) if isinstance(place, dict) else place.pop(last)
        else:
            place[last] = copy.deepcopy(draw.choice(_VALUES))
    body = bytearray(json.dumps(message).encode())
    if draw.random() < 0.2:
        for _ in range(draw.randint(1, 5)):
            place = draw.randrange(len(body) + 1)
            body[place : place + draw.randint(0, 3)] = draw.randbytes(draw.randint(0, 3))
    return bytes(body)


def frame(draw: random.Random, body: bytes) -> bytes:
    """Its frame, now and then with a header that is wrong in a way that loses no more than this message."""
    kind = draw.random()
    if kind < 0.02:
        return b"Content-Length: nonsense\r\n\r\n"
    if kind < 0.04:
        return b"Content-Length: %d\r\n\r\n%s" % (len(body) // 2, body.replace(b"\n", b""))
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


async def mutate_messages(
    command: Sequence[str], draw: random.Random, n_messages: int, transport: Transport = "stdio"
) -> Counter[object]:
    """Sends them, and after each round a good request, which has to be answered; how often which error came.

    Frames are broken too, where there are any: a WebSocket's are not ours.

    Raises:
        TimeoutError: the server hangs.
        asyncio.IncompleteReadError: it is dead.
    """
    codes: Counter[object] = Counter()
    async with RawClient(command, transport=transport) as client:
        await client.initialize()
        for start in range(0, n_messages, ROUND):
            for number in range(start, min(start + ROUND, n_messages)):
                body = mutate(draw, 1_000_000 + number)
                if b"shutdown" in body or b'"method": "exit"' in body[:60]:
                    continue
                if transport == "websocket":
                    client.send_bytes(body)
                else:
                    client.writer.write(frame(draw, body))
            if transport != "websocket":
                client.writer.write(b"\r\n\r\n")  # ends what a wrong header may have left open
            client.open("a.py")
            answer = await client.complete("a.py")
            assert "error" not in answer
            codes.update(one.get("error", {}).get("code") for one in client.others)
            client.others.clear()
        assert client.process.returncode is None
        await client.request("shutdown")
        client.notify("exit")
        assert await client.ended() == 0
    return codes


def main() -> None:
    """Sends many over each transport, and prints how they were answered."""
    from conftest import FAKE_COMMAND

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n_messages", type=int)
    parser.add_argument("seed", nargs="?", default="messages")
    parser.add_argument("--transport", choices=TRANSPORTS, action="append", help="default: all")
    given = parser.parse_args()
    raw_client.TIMEOUT_S = 60.0  # others may be at work on this machine
    for transport in given.transport or TRANSPORTS:
        codes = asyncio.run(mutate_messages(FAKE_COMMAND, random.Random(given.seed), given.n_messages, transport))
        print(json.dumps({"transport": transport, "answers": {str(code): n for code, n in codes.items()}}))


if __name__ == "__main__":
    main()
