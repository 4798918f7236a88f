"""The server as an editor sees it: a real process, around a scripted engine (see fake_server.py)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest
from conftest import FAKE_COMMAND, Editor, running_editor
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from raw_client import COMPLETION, RawClient

pytestmark = pytest.mark.asyncio(loop_scope="module")


def place(item: lsp.InlineCompletionItem | None) -> tuple[int, int]:
    """Where an item inserts; its range is empty."""
    assert item is not None
    assert item.range is not None
    assert item.range.start == item.range.end
    return item.range.start.line, item.range.start.character


def selected(start: int, end: int, text: str) -> lsp.SelectedCompletionInfo:
    return lsp.SelectedCompletionInfo(lsp.Range(lsp.Position(0, start), lsp.Position(0, end)), text)


async def test_inline_completion_is_advertised_and_the_menu_is_not(editor: Editor) -> None:
    assert editor.capabilities.inline_completion_provider == lsp.InlineCompletionOptions()
    assert editor.capabilities.completion_provider is None
    sync = editor.capabilities.text_document_sync
    assert isinstance(sync, lsp.TextDocumentSyncOptions)
    assert sync.change == lsp.TextDocumentSyncKind.Full
    assert editor.capabilities.position_encoding == "utf-16"


async def test_an_item_has_text_and_an_explicit_range(editor: Editor) -> None:
    item = await editor.complete(editor.open("plain.py"), 0, 4)
    assert place(item) == (0, 4)
    assert item is not None
    assert item.insert_text == "MIDDLE()"
    assert item.command is not None
    assert (item.command.command, list(item.command.arguments or [])) == ("midspan.accepted", ["python"])


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a = 1\r\nx = ", 1, 4),
        ("a = 1\rx = ", 1, 4),
        ("\tif x:\n\t\ty = ", 1, 6),
        ("a\x0cb\u2028c\x85d\nx = ", 1, 4),
        ("s = '😀😀' + ", 0, 13),
        ("", 0, 0),
    ],
    ids=["crlf", "cr", "tabs", "no line ends", "emoji", "empty"],
)
async def test_the_range_is_at_the_cursor(editor: Editor, text: str, line: int, column: int) -> None:
    assert place(await editor.complete(editor.open("place.py", text), line, column)) == (line, column)


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 14), ("utf-32", 11)])
async def test_columns_count_the_negotiated_units(encoding: str, column: int) -> None:
    async with running_editor(encodings=[encoding, "utf-16"]) as editor:
        assert editor.capabilities.position_encoding == encoding
        uri = editor.open("emoji.py", "s = '😀' + more")
        assert place(await editor.complete(uri, 0, column)) == (0, column)


async def test_a_position_beyond_the_text_is_clamped(editor: Editor) -> None:
    uri = editor.open("beyond.py", "ab\ncd")
    assert place(await editor.complete(uri, 0, 99)) == (0, 2)
    assert place(await editor.complete(uri, 99, 0)) == (1, 2)


async def test_a_huge_line_costs_little(editor: Editor) -> None:
    uri = editor.open("huge.py", "x" * 5_000_000)
    started_s = time.monotonic()
    assert place(await editor.complete(uri, 0, 4_000_000)) == (0, 4_000_000)
    assert time.monotonic() - started_s < 2


@pytest.mark.parametrize("uri", ["untitled:Untitled-1", "vscode-notebook-cell:/a.ipynb#W0sZmlsZQ%3D%3D"])
async def test_documents_without_a_file(editor: Editor, uri: str) -> None:
    assert await editor.complete(uri) is None
    item = lsp.TextDocumentItem(uri, "python", 1, "x = ")
    editor.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
    assert place(await editor.complete(uri, 0, 4)) == (0, 4)


async def test_a_document_that_is_not_open_is_not_read_from_disk(editor: Editor) -> None:
    assert await editor.complete(Path(__file__).as_uri()) is None
    editor.change_unopened("file:///project/never.py")
    assert await editor.complete("file:///project/never.py") is None
    assert editor.client.messages == []


async def test_closed_while_the_engine_works(editor: Editor) -> None:
    uri = editor.open("wait-closed.py")
    _, answer = editor.ask(uri)
    editor.close(uri)
    assert await answer is None
    assert "forgot wait-closed" in await editor.journal()


async def test_changed_while_the_engine_works(editor: Editor) -> None:
    uri = editor.open("wait-changed.py")
    _, answer = editor.ask(uri)
    editor.change(uri, "x = y")
    await editor.script("release-wait-changed.py")
    assert await answer is None


async def test_a_cancelled_request_is_told_so_and_so_is_the_engine(editor: Editor) -> None:
    msg_id, answer = editor.ask(editor.open("wait-cancelled.py"))
    editor.cancel(msg_id)
    with pytest.raises(JsonRpcException) as raised:
        await answer
    assert raised.value.code == lsp.LSPErrorCodes.RequestCancelled
    assert "cancelled wait-cancelled" in await editor.journal()


async def test_twenty_requests_at_once(editor: Editor) -> None:
    uri = editor.open("wait-burst.py")
    started_s = time.monotonic()
    asked = []
    for version in range(20):
        editor.change(uri, f"x = {version}")
        asked.append(editor.ask(uri))
        for msg_id, _ in asked[-2:-1]:
            editor.cancel(msg_id)
    await editor.script("release-wait-burst.py")
    answers = await asyncio.gather(*(answer for _, answer in asked), return_exceptions=True)
    codes = [answer.code for answer in answers if isinstance(answer, JsonRpcException)]
    assert codes == [lsp.LSPErrorCodes.RequestCancelled] * 19
    assert answers[-1] is not None
    assert (await editor.journal()).count("cancelled wait-burst") == 19
    assert time.monotonic() - started_s < 2


async def test_beside_an_open_menu_only_what_goes_on_from_its_item(editor: Editor) -> None:
    uri = editor.open("menu.py", "obj.")
    item = await editor.complete(uri, 0, 4, selected(4, 4, "MID"))
    assert item is not None
    assert item.insert_text == "MIDDLE()"
    item = await editor.complete(uri, 0, 4, selected(3, 4, ".MIDDLE"))
    assert item is not None
    assert item.range == lsp.Range(lsp.Position(0, 3), lsp.Position(0, 4))
    assert item.insert_text == ".MIDDLE()"
    assert await editor.complete(uri, 0, 4, selected(4, 4, "other")) is None


async def test_a_failing_engine_is_null_to_the_editor(editor: Editor) -> None:
    assert await editor.complete(editor.open("crash.py")) is None
    assert editor.client.messages == []
    uri = editor.open("bad.py")
    assert await editor.complete(uri) is None
    assert await editor.complete(uri) is None
    (message,) = editor.client.messages
    assert message.message == "Midspan: the model gave nonsense\nRestart the editor."
    assert await editor.complete(editor.open("after.py")) is not None
    editor.client.messages.clear()


async def test_null_until_loaded_with_progress() -> None:
    async with running_editor({"model": {"path": "gate"}}, progress=True) as editor:
        uri = editor.open("a.py")
        while not any(editor.client.progress_reports.values()):
            assert await editor.complete(uri) is None
        await editor.script("release-load.py")
        while await editor.complete(uri) is None:
            pass
        (reports,) = editor.client.progress_reports.values()
        assert isinstance(reports[0], lsp.WorkDoneProgressBegin)
        assert any(getattr(report, "percentage", None) == 50 for report in reports)
        assert isinstance(reports[-1], lsp.WorkDoneProgressEnd)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("fail", "Midspan: the weights are missing\nRun: midspan fetch"),
        ("crash", "Midspan could not start. Its log says why."),
    ],
)
async def test_a_failure_to_load_is_one_message(path: str, message: str) -> None:
    async with running_editor({"model": {"path": path}}) as editor:
        uri = editor.open("a.py")
        assert [await editor.complete(uri) for _ in range(3)] == [None] * 3
        (shown,) = editor.client.messages
        assert (shown.type, shown.message) == (lsp.MessageType.Error, message)
        assert editor.client.progress_reports == {}


async def test_bad_settings_are_named_in_one_message_and_good_ones_count() -> None:
    options = {"completion": {"max_lines": 0, "menu": True, "nope": 1}, "modle": {}}
    async with running_editor(options) as editor:
        uri = editor.open("a.py", "ab = fo")
        assert await editor.complete(uri) is not None
        (shown,) = editor.client.messages
        assert shown.type == lsp.MessageType.Warning
        for key in ("completion.max_lines", "completion.nope", "modle"):
            assert key in shown.message
        assert editor.capabilities.completion_provider is not None
        await check_menu(editor, uri)


async def check_menu(editor: Editor, uri: str) -> None:
    params = lsp.CompletionParams(lsp.TextDocumentIdentifier(uri), lsp.Position(0, 7))
    answer = await editor.client.text_document_completion_async(params)
    assert isinstance(answer, lsp.CompletionList)
    assert answer.is_incomplete
    (item,) = answer.items
    assert item.label == item.filter_text == item.documentation == "foMIDDLE()"
    around_word = lsp.Range(lsp.Position(0, 5), lsp.Position(0, 7))
    assert item.text_edit == lsp.TextEdit(around_word, "foMIDDLE()")
    assert not item.preselect
    params = lsp.CompletionParams(lsp.TextDocumentIdentifier("file:///never.py"), lsp.Position(0, 0))
    assert await editor.client.text_document_completion_async(params) is None


async def test_it_starts_soon_without_torch_and_nothing_but_frames_reaches_the_editor() -> None:
    started_s = time.monotonic()
    async with RawClient(FAKE_COMMAND) as client:
        await client.initialize()
        assert time.monotonic() - started_s < 5
        client.open("noise.py")
        assert (await client.complete("noise.py"))["result"] is not None
        client.open("journal.py")
        (item,) = (await client.complete("journal.py"))["result"]["items"]
        assert json.loads(item["insertText"]) == ["no torch", "invoked noise"]
        client.writer.close()
        assert await client.ended() == 1
        errors = await client.errors()
        for source in ("Python", "the file descriptor", "C"):
            assert f"from {source}\n" in errors
        assert "EOFError" in errors  # the child found no input


async def test_errors_are_the_specification_s_and_tell_no_source() -> None:
    async with RawClient(FAKE_COMMAND) as client:
        assert (await client.complete("a.py"))["error"]["code"] == -32002
        client.notify("textDocument/didOpen", {"textDocument": {"uri": "file:///a.py", "text": "SECRET"}})
        assert (await client.request("initialize", {"capabilities": 5}))["error"]["code"] == -32602
        await client.initialize()
        assert (await client.request("initialize", {"capabilities": {}}))["error"]["code"] == -32600
        client.send_bytes(b"{no json: SECRET")
        item = {"uri": "file:///a.py", "languageId": "python", "version": "SECRET", "text": "SECRET"}
        client.notify("textDocument/didOpen", {"textDocument": item})
        client.send_bytes(json.dumps({"method": "textDocument/didOpen", "params": item, "jsonrpc": "1.0"}).encode())
        client.notify("textDocument/didChange", {"textDocument": {"uri": "file:///a.py", "version": 2}})
        malformed = await client.request(COMPLETION, {"position": "SECRET"})
        assert malformed["error"]["code"] == -32602
        assert (await client.request("$/unknown"))["error"]["code"] == -32601
        failed = (await client.request("workspace/executeCommand", {"command": "none"}))["error"]
        assert failed["code"] == -32602
        assert not failed.get("data")
        client.open("crash.py", "SECRET")
        assert (await client.complete("crash.py"))["result"] is None
        assert (await client.request("shutdown"))["result"] is None
        assert (await client.complete("a.py"))["error"]["code"] == -32600
        client.notify("exit")
        assert await client.ended() == 0
        errors = await client.errors()
        assert "RuntimeError: unexpected" in errors
        assert "SECRET" not in errors
        (unread,) = client.others
        assert (unread["id"], unread["error"]["code"]) == (None, -32700)


@pytest.mark.parametrize("ending", ["shutdown", "exit", "eof", "signal"])
async def test_it_ends_at_once_though_a_thread_is_busy(ending: str) -> None:
    async with RawClient(FAKE_COMMAND) as client:
        await client.initialize()
        client.open("busy.py")
        client.ask_completion("busy.py")
        client.open("a.py")
        await client.complete("a.py")
        started_s = time.monotonic()
        if ending == "signal":
            client.process.send_signal(signal.SIGTERM)
        elif ending == "eof":
            client.writer.close()
        else:
            if ending == "shutdown":
                await client.request("shutdown")
            client.notify("exit")
        assert await client.ended() == (0 if ending == "shutdown" else 1)
        assert time.monotonic() - started_s < 1.5


async def test_it_ends_when_nobody_reads_it() -> None:
    reading, writing = os.pipe()
    client = RawClient(FAKE_COMMAND)
    client.process = await asyncio.create_subprocess_exec(*FAKE_COMMAND, stdin=PIPE, stdout=writing, stderr=PIPE)
    os.close(reading)
    os.close(writing)
    assert client.process.stdin is not None
    client.writer = client.process.stdin
    client.send_bytes(b'{"jsonrpc": "2.0", "id": 1, "method": "shutdown"}')  # the answer finds no reader
    assert await client.ended() == 1
    await client.errors()


async def test_modules_in_the_working_directory_are_not_run(hostile_folder: Path) -> None:
    # started as the console script is: its own folder, not the working directory, is on the path
    async with RawClient(FAKE_COMMAND, cwd=hostile_folder) as client:
        await client.initialize()
        client.open("a.py")
        assert (await client.complete("a.py"))["result"] is not None


async def test_the_server_tells_what_it_has_done(editor: Editor) -> None:
    work = await editor.client.protocol.send_request_async("midspan/work", {})
    assert (work.requests, work.encodedTokens, work.typedThrough) == (7, 11, 0)
