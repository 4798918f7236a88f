"""Editors for the tests: real server processes over stdio, around a scripted engine."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import uuid
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from lsprotocol import types as lsp
from pytest_lsp import ClientServerConfig, LanguageClient, make_test_lsp_client
from raw_client import TIMEOUT_S, TRANSPORTS, Transport, port_of

FAKE_COMMAND = [sys.executable, str(Path(__file__).with_name("fake_server.py"))]


class Editor:
    """A session with the server, in the words of the tests."""

    def __init__(
        self,
        client: LanguageClient,
        capabilities: lsp.ServerCapabilities,
        registered: Sequence[lsp.Registration] = (),
    ) -> None:
        self.client = client
        self.capabilities = capabilities
        self.registered = registered
        self._versions: dict[str, int] = {}

    def open(self, name: str, text: str = "x = ", language_id: str = "python", uri: str = "") -> str:
        """Opens a document; its URI."""
        uri = uri or f"file:///project/{name}"
        self._versions[uri] = 1
        item = lsp.TextDocumentItem(uri, language_id, 1, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return uri

    def change(self, uri: str, text: str) -> None:
        self._versions[uri] += 1
        document = lsp.VersionedTextDocumentIdentifier(self._versions[uri], uri)
        change = lsp.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [change]))

    def change_unopened(self, uri: str) -> None:
        self._versions[uri] = 1
        self.change(uri, "x = ")

    def close(self, uri: str) -> None:
        self.client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri)))

    async def journal(self) -> list[str]:
        """What has happened to the scripted engine."""
        return json.loads(await self.script("journal.py"))

    def loading_ended(self) -> bool:
        """Whether the server has reported the end of its loading."""
        reports = [report for reports in self.client.progress_reports.values() for report in reports]
        return any(isinstance(report, lsp.WorkDoneProgressEnd) for report in reports)

    def cpu_s(self) -> float:
        """Processor time that the server has used so far."""
        process = self.client._server
        assert process is not None
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def params(
        self, uri: str, line: int = 0, column: int = 0, selected: lsp.SelectedCompletionInfo | None = None
    ) -> lsp.InlineCompletionParams:
        context = lsp.InlineCompletionContext(lsp.InlineCompletionTriggerKind.Automatic, selected)
        return lsp.InlineCompletionParams(context, lsp.TextDocumentIdentifier(uri), lsp.Position(line, column))

    async def complete(
        self, uri: str, line: int = 0, column: int = 0, selected: lsp.SelectedCompletionInfo | None = None
    ) -> lsp.InlineCompletionItem | None:
        """The one item offered, or None."""
        params = self.params(uri, line, column, selected)
        async with asyncio.timeout(TIMEOUT_S):
            answer = await self.client.text_document_inline_completion_async(params)
        if answer is None:
            return None
        assert isinstance(answer, lsp.InlineCompletionList)
        (item,) = answer.items
        return item

    def ask(
        self, uri: str, line: int = 0, column: int = 0
    ) -> tuple[str, asyncio.Future[lsp.InlineCompletionList | None]]:
        """Sends a request and does not wait; its id, for a cancel, and the answer to come."""
        msg_id = str(uuid.uuid4())
        method = lsp.TEXT_DOCUMENT_INLINE_COMPLETION
        future = self.client.protocol.send_request(method, self.params(uri, line, column), msg_id=msg_id)
        return msg_id, asyncio.ensure_future(asyncio.wait_for(asyncio.wrap_future(future), TIMEOUT_S))

    def cancel(self, msg_id: str) -> None:
        self.client.cancel_request(lsp.CancelParams(msg_id))

    async def script(self, name: str) -> str:
        """Has the scripted engine do something; what it answers."""
        item = await self.complete(self.open(name))
        return str(item.insert_text) if item else ""


def editor_params(
    options: Any, encodings: Sequence[str], progress: bool, folders: Sequence[Path] | None = None
) -> lsp.InitializeParams:
    """What an editor with inline completion says of itself (pytest-lsp's recorded ones have none)."""
    kinds = [lsp.PositionEncodingKind(encoding) for encoding in encodings]
    capabilities = lsp.ClientCapabilities(
        general=lsp.GeneralClientCapabilities(position_encodings=kinds),
        text_document=lsp.TextDocumentClientCapabilities(
            inline_completion=lsp.InlineCompletionClientCapabilities(), completion=lsp.CompletionClientCapabilities()
        ),
        window=lsp.WindowClientCapabilities(work_done_progress=progress),
    )
    operations = lsp.FileOperationClientCapabilities(did_create=True, did_rename=True, did_delete=True)
    capabilities.workspace = lsp.WorkspaceClientCapabilities(workspace_folders=True, file_operations=operations)
    found = None if folders is None else [lsp.WorkspaceFolder(folder.as_uri(), folder.name) for folder in folders]
    return lsp.InitializeParams(capabilities=capabilities, initialization_options=options, workspace_folders=found)


@asynccontextmanager
async def running_editor(
    options: Any = None,
    encodings: Sequence[str] = ("utf-16",),
    *,
    command: Sequence[str] = FAKE_COMMAND,
    progress: bool = False,
    folders: Sequence[Path] | None = None,
    watching: bool = False,
    transport: Transport = "stdio",
) -> AsyncIterator[Editor]:
    """Starts a server and an editor for it."""
    process: Process | None = None
    if transport == "stdio":
        client = await ClientServerConfig(server_command=list(command)).start()
        assert isinstance(client, LanguageClient)
    else:
        client = make_test_lsp_client()
        process = await asyncio.create_subprocess_exec(*command, f"--{transport}", "127.0.0.1:0", stderr=PIPE)
        start = client.start_tcp if transport == "tcp" else client.start_ws
        await start("127.0.0.1", await port_of(process))
    params = editor_params(options, encodings, progress, folders)
    registered: list[lsp.Registration] = []
    if watching:
        assert params.capabilities.workspace is not None
        params.capabilities.workspace.did_change_watched_files = lsp.DidChangeWatchedFilesClientCapabilities(True)
        client.feature(lsp.CLIENT_REGISTER_CAPABILITY)(lambda asked: registered.extend(asked.registrations))
    answer = await client.initialize_session(params)
    yield Editor(client, answer.capabilities, registered)
    await client.shutdown_session()
    await client.stop()
    if process is not None:
        await asyncio.wait_for(process.communicate(), TIMEOUT_S)
        assert process.returncode == 0
        closed = client.protocol.writer.close()  # type: ignore[union-attr]  # it is connected here
        if closed is not None:
            await closed


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=TRANSPORTS)
async def editor(request: pytest.FixtureRequest) -> AsyncIterator[Editor]:
    """An editor with default settings, shared by a module: give documents names of their own."""
    async with running_editor(transport=request.param) as editor:
        yield editor


@pytest.fixture
def hostile_folder(tmp_path: Path) -> Path:
    """A folder whose modules crash whoever imports them."""
    for name in ("model", "pip", "midspan_lsp", "midspan_model", "pygls", "json", "torch"):
        (tmp_path / f"{name}.py").write_text("import os\nos._exit(86)\n")
    return tmp_path
