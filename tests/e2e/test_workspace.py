"""The project's memory as an editor sees it: a real process, around a backend that answers with what is proposed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Editor, running_editor
from lsprotocol import types as lsp

COMMAND = [sys.executable, str(Path(__file__).with_name("memory_server.py"))]
CALL = "def handler(request):\n    payload = request.read_everything("
REST = "limit=4096, strict=True)"
WHOLE = f"{CALL}{REST}\n    return payload\n"
TIMEOUT_S = 20


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MIDSPAN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "memory"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "a project"
    put(folder / "a.py")
    return folder


def put(path: Path, text: str = WHOLE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


async def proposed(editor: Editor, uri: str) -> list[str]:
    item = await editor.complete(uri, 1, len(CALL.splitlines()[1]))
    return json.loads(str(item.insert_text)) if item else []


async def until(editor: Editor, uri: str, wanted: Callable[[list[str]], bool]) -> None:
    """Until what is proposed at the end of `CALL` is as wanted."""
    ends_s = time.monotonic() + TIMEOUT_S
    while not wanted(found := await proposed(editor, uri)):
        assert time.monotonic() < ends_s, found
        await asyncio.sleep(0.1)


def has_it(found: list[str]) -> bool:
    return REST in found


def has_it_not(found: list[str]) -> bool:
    return REST not in found


async def test_a_workspace_folder_is_read_and_followed(project: Path, cache: Path) -> None:
    put(project / ".env", "x")
    put(project / "secrets.py", CALL + "secret_thing)\n")
    async with running_editor(command=COMMAND, folders=[project]) as editor:
        files = editor.capabilities.workspace and editor.capabilities.workspace.file_operations
        assert files
        assert files.did_create
        assert files.did_rename
        assert files.did_delete
        uri = editor.open("b.py", CALL)
        await until(editor, uri, has_it)
        assert not any("secret" in text for text in await proposed(editor, uri))
        assert [path.suffix for path in cache.iterdir() if path.suffix != ".sqlite-journal"] == [".sqlite"]

        client, path = editor.client, project / "a.py"
        path.rename(project / "c.py")
        renamed = lsp.FileRename(path.as_uri(), (project / "c.py").as_uri())
        client.workspace_did_rename_files(lsp.RenameFilesParams([renamed]))
        await until(editor, uri, has_it)
        (project / "c.py").unlink()
        gone = lsp.DeleteFilesParams([lsp.FileDelete((project / "c.py").as_uri())])
        client.workspace_did_delete_files(gone)
        await until(editor, uri, has_it_not)
        put(project / "d.py")
        made = lsp.CreateFilesParams([lsp.FileCreate((project / "d.py").as_uri())])
        client.workspace_did_create_files(made)
        await until(editor, uri, has_it)
        put(project / "d.py", "x = 1\n")
        saved = lsp.TextDocumentIdentifier((project / "d.py").as_uri())
        client.text_document_did_save(lsp.DidSaveTextDocumentParams(saved))
        await until(editor, uri, has_it_not)
        assert editor.client.messages == []


async def test_folders_come_and_go(project: Path) -> None:
    async with running_editor(command=COMMAND, folders=[]) as editor:
        uri = editor.open("b.py", CALL)
        assert has_it_not(await proposed(editor, uri))
        folder = lsp.WorkspaceFolder(project.as_uri(), "project")
        for added, removed, wanted in ([[folder], [], has_it], [[], [folder], has_it_not]):
            event = lsp.WorkspaceFoldersChangeEvent(added=added, removed=removed)
            params = lsp.DidChangeWorkspaceFoldersParams(event)
            editor.client.workspace_did_change_workspace_folders(params)
            await until(editor, uri, wanted)


async def test_files_changed_outside_of_the_editor_are_followed(project: Path) -> None:
    async with running_editor(command=COMMAND, folders=[project], watching=True) as editor:
        uri = editor.open("b.py", CALL)
        await until(editor, uri, has_it)
        (registration,) = [one for one in editor.registered if one.id == "midspan/code"]
        assert registration.method == lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES
        pattern = registration.register_options["watchers"][0]["globPattern"]  # type: ignore[index]
        assert pattern.startswith("**/{")
        assert {"*.py", "*.tsx", ".gitignore"} <= set(pattern[4:-1].split(","))
        for what, wanted in ((lsp.FileChangeType.Deleted, has_it_not), (lsp.FileChangeType.Created, has_it)):
            names = [f"a{number}.py" for number in range(100)]
            if what is lsp.FileChangeType.Created:
                for name in names:
                    put(project / name)
            else:
                (project / "a.py").unlink()
                names = ["a.py"]
            events = [lsp.FileEvent((project / name).as_uri(), what) for name in names]
            editor.client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams(events))
            await until(editor, uri, wanted)
        assert editor.client.messages == []


@pytest.mark.parametrize("enabled", [True, False])
async def test_files_are_watched_only_if_there_is_a_use_for_it(project: Path, enabled: bool) -> None:
    options = {"memory.enabled": enabled}
    async with running_editor(options, command=COMMAND, folders=[project], watching=not enabled) as editor:
        await proposed(editor, editor.open("b.py", CALL))
        watched = [one.register_options["watchers"][0]["globPattern"] for one in editor.registered]  # type: ignore[index]
        assert watched == ([] if enabled else ["**/{midspan.toml,pyproject.toml}"])
        assert editor.client.messages == []


def assert_no_text_is_kept(cache: Path) -> None:
    """Only what is counted, in numbers and names of languages."""
    for path in cache.glob("*"):
        assert path.name.startswith("usage")
        assert not any(word.encode() in path.read_bytes() for word in ("payload", "handler", "request.read", "b.py"))


async def test_without_a_folder_open_documents_are_remembered_until_closed(cache: Path) -> None:
    async with running_editor(command=COMMAND) as editor:
        uri = editor.open("b.py", CALL)
        other = editor.open("", WHOLE, uri="untitled:Untitled-1")
        await until(editor, uri, has_it)
        editor.change(other, "x = 1\n")
        await until(editor, uri, has_it_not)
        editor.change(other, WHOLE)
        await until(editor, uri, has_it)
        editor.close(other)
        await until(editor, uri, has_it_not)
    assert_no_text_is_kept(cache)


async def test_switched_off_it_is_silent(project: Path, cache: Path) -> None:
    async with running_editor({"memory.enabled": False}, command=COMMAND, folders=[project]) as editor:
        uri = editor.open("b.py", CALL)
        editor.open("c.py", WHOLE)
        await asyncio.sleep(0.5)
        assert await proposed(editor, uri) == []
    assert_no_text_is_kept(cache)


async def test_odd_folders_do_no_harm(tmp_path: Path) -> None:
    odd = [tmp_path / "not there", put(tmp_path / "file.py")]
    async with running_editor(command=COMMAND, folders=odd) as editor:
        folder = lsp.WorkspaceFolder("vscode-vfs://github/owner/name", "far away")
        event = lsp.WorkspaceFoldersChangeEvent(added=[folder], removed=[folder])
        editor.client.workspace_did_change_workspace_folders(lsp.DidChangeWorkspaceFoldersParams(event))
        uri = editor.open("b.py", CALL)
        editor.open("c.py", WHOLE)
        await until(editor, uri, has_it)
        assert editor.client.messages == []


async def test_a_folder_s_uri_may_quote_what_it_likes(project: Path) -> None:
    async with running_editor(command=COMMAND, folders=[]) as editor:
        uri = editor.open("b.py", CALL)
        quoted = "file://" + "".join("/" if c == "/" else f"%{ord(c):02x}" for c in os.fspath(project))
        event = lsp.WorkspaceFoldersChangeEvent(added=[lsp.WorkspaceFolder(quoted, "project")], removed=[])
        editor.client.workspace_did_change_workspace_folders(lsp.DidChangeWorkspaceFoldersParams(event))
        await until(editor, uri, has_it)


async def test_the_real_command_reads_the_folder_and_answers(project: Path, cache: Path, tiny_checkpoint: Path) -> None:
    options = {
        "model": {"path": str(tiny_checkpoint), "threads": 1},
        "completion": {"eagerness": "always", "timeout_ms": 60_000},
    }
    command = [sys.executable, "-m", "midspan_lsp", "serve"]
    async with running_editor(options, command=command, folders=[project], progress=True) as editor:
        async with asyncio.timeout(60):
            while not editor.loading_ended():
                await editor.client.wait_for_notification(lsp.PROGRESS)
        uri = editor.open("b.py", CALL + ")\n")
        item = await editor.complete(uri, 1, len(CALL.splitlines()[1]))
        assert item is None or item.range is not None  # the tiny model's middles are nonsense: most break the syntax
        ends_s = time.monotonic() + TIMEOUT_S
        while not has_row(cache):
            assert time.monotonic() < ends_s
            await asyncio.sleep(0.1)
        assert editor.client.messages == []


async def test_the_memory_is_switched_off_and_on_without_a_restart(project: Path) -> None:
    async with running_editor(command=COMMAND, folders=[project]) as editor:
        uri = editor.open("b.py", CALL)
        await until(editor, uri, has_it)
        settings = {"midspan": {"memory": {"enabled": False}}}
        editor.client.workspace_did_change_configuration(lsp.DidChangeConfigurationParams(settings))
        await until(editor, uri, has_it_not)
        settings = {"midspan": {"memory": {"enabled": True}}}
        editor.client.workspace_did_change_configuration(lsp.DidChangeConfigurationParams(settings))
        await until(editor, uri, has_it)
        assert editor.client.messages == []


def has_row(cache: Path) -> bool:
    """Whether some file of a project is in its store."""
    for path in cache.glob("*.sqlite"):
        with contextlib.closing(sqlite3.connect(path)) as store, contextlib.suppress(sqlite3.OperationalError):
            if store.execute("SELECT * FROM files").fetchall():
                return True
    return False
