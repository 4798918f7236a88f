"""Every request has one answer, every broken message at most one error, and nothing ends the session."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from conftest import FAKE_COMMAND
from mutations import mutate_messages
from raw_client import COMPLETION, TRANSPORTS, RawClient, Transport

pytestmark = pytest.mark.asyncio(loop_scope="module")

N_MUTATIONS = 1500
HOVER = {"jsonrpc": "2.0", "id": 900, "method": "textDocument/hover", "params": {}}


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=TRANSPORTS)
async def client(request: pytest.FixtureRequest) -> AsyncIterator[RawClient]:
    async with RawClient(FAKE_COMMAND, transport=request.param) as client:
        await client.initialize()
        client.open("a.py")
        while (await client.complete("a.py"))["result"] is None:
            pass
        yield client


async def error_of(client: RawClient, body: bytes) -> tuple[object, int]:
    """The id and the code of the error that answers a message."""
    client.send_bytes(body)
    answer = await client.receive()
    return answer["id"], answer["error"]["code"]


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"nonsense", b"\xff\xfe", b'{"a": NaN}', b'"' + b"\xc3", b"[" * 100_000, b"1" * 5000],
    ids=["empty", "cut", "nonsense", "bytes", "not a number", "half a character", "deep", "long number"],
)
async def test_what_is_no_json(client: RawClient, body: bytes) -> None:
    assert await error_of(client, body) == (None, -32700)


@pytest.mark.parametrize(
    ("message", "msg_id"),
    [
        ([HOVER], None),
        (5, None),
        ({**HOVER, "jsonrpc": "1.0"}, 900),
        ({"id": 900, "method": "textDocument/hover"}, 900),
        ({**HOVER, "method": 5}, 900),
        ({**HOVER, "method": {}}, 900),
        ({**HOVER, "id": None}, None),
        ({**HOVER, "id": {"a": 1}}, None),
        ({**HOVER, "id": True}, None),
        ({**HOVER, "id": 1.5}, None),
    ],
)
async def test_what_is_no_message(client: RawClient, message: object, msg_id: object) -> None:
    assert await error_of(client, json.dumps(message).encode()) == (msg_id, -32600)


@pytest.mark.parametrize("method", ["textDocument/hover", "$/unknown", "foo", "", "initialised", "rpc.x", "é"])
async def test_unknown_methods(client: RawClient, method: str) -> None:
    client.notify(method, {"a": [1]})
    assert (await client.request(method, None if method else [1]))["error"]["code"] == -32601


@pytest.mark.parametrize("params", [None, 5, [], "x", {}, {"textDocument": None}, {"position": {"line": "x"}}])
async def test_malformed_parameters(client: RawClient, params: object) -> None:
    error = (await client.request(COMPLETION, params))["error"]
    assert error["code"] == -32602
    assert set(error) == {"code", "message"}


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "you too"}},
        {"jsonrpc": "2.0", "id": 12345, "result": None},
        {"jsonrpc": "2.0", "id": 12345},
        {"jsonrpc": "2.0"},
        {},
        {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "none"}},
        {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {}},
        {"jsonrpc": "2.0", "method": "$/cancelRequest"},
        {"jsonrpc": "2.0", "method": "textDocument/didSave", "params": {"textDocument": {"uri": "untitled:1"}}},
        {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": [1]},
        {"jsonrpc": "2.0", "method": "notebookDocument/didClose", "params": {}},
        {"jsonrpc": "2.0", "method": "$/setTrace", "params": {"value": "loud"}},
        {"jsonrpc": "1.0", "method": "initialized"},
    ],
)
async def test_what_is_not_answered(client: RawClient, message: dict[str, Any]) -> None:
    client.send_bytes(json.dumps(message).encode())
    client.others.clear()
    assert (await client.complete("a.py"))["result"] is not None
    assert client.others == []


@pytest.mark.parametrize(
    "header",
    [
        b"content-length: %d\r\n\r\n",
        b"CONTENT-LENGTH:%d  \r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: %d\r\n\r\n",
        b"Content-Length: %d\r\nX-Other: 3\r\nX-More\r\n\r\n",
        b"Content-Length: %d\n\n",
        b"\r\n\r\nContent-Length: %d\r\n\r\n",
        b"No-Length: 4\r\n\r\nContent-Length: -5\r\n\r\nContent-Length: x\r\n\r\nContent-Length: %d\r\n\r\n",
        b"Content-Length: 99999999999999\r\n\r\nContent-Length: %d\r\n\r\n",
        b"left over}Content-Length: %d\r\n\r\n",
    ],
)
async def test_headers(header: bytes) -> None:
    body = json.dumps(HOVER).encode()
    async with RawClient(FAKE_COMMAND) as client:
        client.writer.write(header % len(body) + body)
        assert (await client.receive())["id"] == 900


async def test_a_message_within_a_message_is_only_text(client: RawClient) -> None:
    inner = {"jsonrpc": "2.0", "id": 1, "method": "shutdown"}
    document = {"uri": "file:///nested.py", "languageId": "python", "version": 1, "text": "x = ", "extra": inner}
    client.notify("textDocument/didOpen", {"textDocument": document, "jsonrpc": "2.0", "id": 5})
    assert (await client.complete("nested.py"))["result"] is not None
    assert (await client.request("workspace/executeCommand", {"command": "x", "arguments": [inner]}))["error"][
        "code"
    ] == -32602


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_before_initialize_and_after_shutdown(transport: Transport) -> None:
    async with RawClient(FAKE_COMMAND, transport=transport) as client:
        for method in ("shutdown", "foo", COMPLETION):
            assert (await client.request(method, {}))["error"]["code"] == -32002
        client.open("a.py")
        await client.initialize()
        assert (await client.complete("a.py"))["result"] is None  # what came too early was dropped
        assert (await client.request("shutdown"))["result"] is None
        for method in ("shutdown", "initialize", "foo", COMPLETION):
            assert (await client.request(method, {}))["error"]["code"] == -32600
        client.notify("exit")
        assert await client.ended() == 0


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_mutated_messages(transport: Transport) -> None:
    await mutate_messages(FAKE_COMMAND, random.Random("messages"), N_MUTATIONS, transport)
