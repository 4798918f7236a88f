"""A session keeps nothing of messages that are done with: pygls and cattrs by themselves would."""

from __future__ import annotations

import gc
import io
import json
import threading
import time
import tracemalloc
from pathlib import Path, PurePath
from typing import Any

import pytest
from midspan_lsp.config import Settings
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine import counting
from midspan_lsp.engine.counting import UsageCounter
from midspan_lsp.engine.pipeline import Engine
from midspan_lsp.lsp import exclusions, handlers
from midspan_lsp.lsp.exclusions import Exclusions
from midspan_lsp.lsp.server import MidspanServer
from midspan_lsp.lsp.stdio import MAX_LOG_WAITING, BackgroundWriter

URI = "file:///a.py"
MANY = 10_000


class Output:
    """Where the server writes to."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    def write(self, data: bytes) -> None:
        self.messages.append(json.loads(data))


class Unread(io.RawIOBase):
    """A pipe that nobody reads for a while."""

    def __init__(self) -> None:
        self.is_read = threading.Event()
        self.n_written = 0

    def write(self, data: object) -> int:  # type: ignore[override]
        assert self.is_read.wait(10)
        self.n_written += 1
        return len(bytes(data))  # type: ignore[call-overload]


def no_engine(_settings: Settings) -> Engine:
    raise NotImplementedError


@pytest.fixture
def output() -> Output:
    return Output()


@pytest.fixture
async def session(output: Output) -> MidspanServer:
    """A server that an editor has initialized."""
    server = MidspanServer(no_engine, lambda: None)
    handlers.register(server)
    server.protocol.set_writer(output, include_headers=False)  # type: ignore[arg-type]  # it is closed by nobody
    send(server, "initialize", {"processId": None, "rootUri": None, "capabilities": {}}, 1)
    return server


def send(server: MidspanServer, method: str, params: object, msg_id: int | None = None) -> None:
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    server.protocol.receive(json.dumps(message if msg_id is None else {**message, "id": msg_id}).encode())


async def test_nothing_is_kept_of_a_keystroke(session: MidspanServer) -> None:
    item = {"uri": URI, "languageId": "python", "version": 1, "text": ""}
    for number in range(50):
        send(session, "textDocument/didOpen", {"textDocument": item})
        change = {"textDocument": {"uri": URI, "version": number}, "contentChanges": [{"text": "x"}]}
        send(session, "textDocument/didChange", change)
        send(session, "textDocument/didClose", {"textDocument": {"uri": URI}})
        send(session, "unknown/notification", {"a": {"b": number}})
        send(session, "midspan/work", {"a": {"b": number}}, number)
        send(session, "workspace/executeCommand", {"command": "midspan.accepted", "arguments": ["python"]}, number)
    assert session.protocol._request_futures == {}


@pytest.mark.parametrize("bad", ["a" * MANY, [5] * MANY, [{"uri": 5}] * MANY, [[]] * MANY])
@pytest.mark.parametrize("method", ["workspace/didChangeWatchedFiles", "textDocument/didChange"])
async def test_a_list_of_nonsense_costs_little(session: MidspanServer, method: str, bad: object) -> None:
    """A list's every fault was kept with its traceback: 55 MB for a string of 10,000 characters."""
    params = {"changes": bad, "contentChanges": bad, "textDocument": {"uri": URI, "version": 1}}
    send(session, method, params)  # what is made once
    gc.collect()
    tracemalloc.start()
    try:
        send(session, method, params)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 10_000_000


async def test_parameters_of_methods_of_our_own_are_plain_values(session: MidspanServer, output: Output) -> None:
    """pygls would make a class of each object in them, for one message."""
    send(session, "midspan/status", {"uri": URI}, 7)
    assert output.messages[-1]["result"]["uri"] == URI


def test_no_path_is_made_anew_at_each_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each interns its names: Python's table of them doubled in mid-session, by 1 MB."""
    made: list[object] = []

    def counted(kind: type[PurePath]) -> Any:
        return lambda text: made.append(text) or kind(text)

    monkeypatch.setattr(exclusions, "PurePath", counted(PurePath))
    monkeypatch.setattr(counting, "Path", counted(Path))
    excluded, counter = Exclusions(Settings(), ["/somewhere"]), UsageCounter(enabled=True)
    for number in range(2000):
        name = f"/somewhere/{number % 20}.py"
        assert excluded.reason(DocumentSnapshot(f"file://{name}", "python", number, "x")) is None
        counter.asked(["/somewhere", "/elsewhere"], name, proposed=False)
        counter.shown(["/somewhere", "/elsewhere"], name, from_project=False)
    assert counter.take().keys() == {"/somewhere"}
    assert len(made) < 200


def test_little_is_kept_of_a_log_that_nobody_reads() -> None:
    """1.3 MB were, after half an hour in which each change of the settings failed."""
    log = Unread()
    writer = BackgroundWriter(log, may_drop=True)
    for _ in range(MANY):
        writer.write("a line\n")
    log.is_read.set()
    while log.n_written < MAX_LOG_WAITING:
        time.sleep(0.001)
    writer.write("one that is read\n")
    writer.finish(10)
    assert MAX_LOG_WAITING < log.n_written <= MAX_LOG_WAITING + 2


@pytest.mark.parametrize("language", [None, True, 5, [], {}])
async def test_a_language_that_is_none_is_no_language(session: MidspanServer, language: object) -> None:
    """Each change of the settings failed as long as such a document was open, before they counted."""
    send(session, "textDocument/didOpen", {"textDocument": {"uri": URI, "languageId": language, "text": "x"}})
    opened = session.open_document(URI)
    assert opened is not None
    assert (opened.text, opened.language_id) == ("x", "")
    session.review_documents()
    await session.configuration.refresh()
    assert session.configuration.exclusions.reason(opened) is None
