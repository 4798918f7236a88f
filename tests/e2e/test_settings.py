"""Settings come from where an editor or a project keeps them, and count without a restart; over real stdio."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import FAKE_COMMAND
from raw_client import COMPLETION, TIMEOUT_S, RawClient

PULL = "workspace/configuration"
SHOW = "window/showMessage"
DEFAULTS = "lines 4 memory True"
EDITORS_OWN = (
    *("model.path", "completion.timeout_ms", "server.command", "stats.enabled"),
    *("backend.url", "backend.kind", "backend.headers"),
)


@asynccontextmanager
async def session(
    told: Any = None, *, folders: tuple[Path, ...] = (), pulls: bool = True, **params: Any
) -> AsyncIterator[RawClient]:
    """A server that has loaded, for an editor that tells `told` when asked."""
    async with RawClient(FAKE_COMMAND) as client:
        client.answers = {PULL: [told], "client/registerCapability": None}
        changes = {"dynamicRegistration": True}
        workspace = {"configuration": pulls, "didChangeConfiguration": changes if pulls else {}}
        params["workspaceFolders"] = [{"uri": folder.as_uri(), "name": folder.name} for folder in folders]
        await client.initialize(capabilities={"workspace": workspace}, **params)
        client.open("loaded.py")
        while (await client.complete("loaded.py"))["result"] is None:
            pass
        yield client
        assert client.process.returncode is None


async def applied(client: RawClient, wanted: str) -> None:
    """Waits until the engine is told such settings."""
    client.open("journal.py")
    async with asyncio.timeout(TIMEOUT_S):
        told: list[str] = []
        while told[-1:] != [wanted]:
            (item,) = (await client.complete("journal.py"))["result"]["items"]
            told = [line for line in json.loads(item["insertText"]) if line.startswith("lines")]


async def shown(client: RawClient) -> str:
    return (await client.message(SHOW))["params"]["message"]


async def is_completed(client: RawClient, uri: str, language_id: str = "python") -> bool:
    document = {"uri": uri, "languageId": language_id, "version": 1, "text": "x = "}
    client.notify("textDocument/didOpen", {"textDocument": document})
    place = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 4}, "context": {"triggerKind": 1}}
    return (await client.request(COMPLETION, place))["result"] is not None


async def test_they_are_asked_for_before_the_engine_is_built() -> None:
    async with session({"languages": {"disabled": ["markdown"]}}) as client:
        assert (await client.message(PULL))["params"] == {"items": [{"section": "midspan"}]}
        (registration,) = (await client.message("client/registerCapability"))["params"]["registrations"]
        assert registration["method"] == "workspace/didChangeConfiguration"
        assert registration["registerOptions"] == {"section": "midspan"}
        assert not await is_completed(client, "file:///a.md", "markdown")
        assert await is_completed(client, "file:///b.py")


async def test_they_count_once_they_change() -> None:
    async with session({"completion": {"max_lines": 2}}) as client:
        client.answers[PULL] = [{"completion": {"max_lines": 1}, "memory.enabled": False}]
        client.notify("workspace/didChangeConfiguration", {"settings": None})
        await applied(client, "lines 1 memory False")
        client.answers[PULL] = [None]
        client.notify("workspace/didChangeConfiguration", {"settings": {}})
        await applied(client, DEFAULTS)
        assert not any(one.get("method") == SHOW for one in client.others)


async def test_an_editor_that_cannot_be_asked_sends_them() -> None:
    async with session(pulls=False, initializationOptions={"memory": {"enabled": False}}) as client:
        settings = {"midspan": {"completion": {"max_lines": 3}}, "other": {"completion": {"max_lines": 9}}}
        client.notify("workspace/didChangeConfiguration", {"settings": settings})
        await applied(client, "lines 3 memory False")
        assert not any(one.get("method") == PULL for one in client.others)


@pytest.mark.parametrize("answer", [[], None, ["x"], [{"completion": 5}], 5, {"a": 1}, [[1]]])
async def test_an_editor_that_answers_nonsense_has_the_defaults(answer: object) -> None:
    async with session() as client:
        client.answers[PULL] = answer
        client.notify("workspace/didChangeConfiguration", {"settings": None})
        await client.message(PULL)
        await client.message(PULL)
        assert await is_completed(client, "file:///a.py")


async def test_an_editor_that_does_not_answer_is_not_waited_for_long() -> None:
    async with RawClient(FAKE_COMMAND) as client:
        await client.initialize(capabilities={"workspace": {"configuration": True}})
        client.open("loaded.py")
        while (await client.complete("loaded.py"))["result"] is None:
            pass
        asked = (await client.message(PULL))["id"]
        client.answers[PULL] = [{"completion": {"max_lines": 7}}]
        late = {"jsonrpc": "2.0", "id": asked, "result": client.answers[PULL]}
        client.send_bytes(json.dumps(late).encode())
        await applied(client, "lines 7 memory True")


async def test_a_bad_value_is_named_once() -> None:
    async with session({"completion": {"max_lines": 0, "nope": 1}}) as client:
        message = await shown(client)
        assert "completion.max_lines" in message
        assert "nope" in message
        client.answers[PULL] = [{"completion": {"max_lines": 0, "timeout_ms": -1}}]
        client.notify("workspace/didChangeConfiguration", {"settings": None})
        message = await shown(client)
        assert "completion.timeout_ms" in message
        assert "max_lines" not in message


async def test_an_editor_s_own_settings_in_the_same_place_are_left_alone() -> None:
    told = {"enable": True, "disabledLanguages": [], "server": {"path": "/x"}, "completion": {"max_lines": 0}}
    async with session(told) as client:
        message = await shown(client)
        assert len(message.splitlines()) == 2
        assert "completion.max_lines" in message


async def test_what_needs_a_restart_is_told() -> None:
    async with session() as client:
        client.answers[PULL] = [{"model": {"threshold": 0.5}, "completion": {"menu": True}}]
        client.notify("workspace/didChangeConfiguration", {"settings": None})
        message = await shown(client)
        assert message == "Midspan: completion.menu, model.threshold will count once it is started again."


PYPROJECT = '[tool.midspan]\nlanguages.disabled = ["markdown"]\n[tool.midspan.completion]\nmax_lines = 2\n'


@pytest.mark.parametrize(("name", "text"), [("pyproject.toml", PYPROJECT), ("midspan.toml", "completion.max_lines=2")])
async def test_a_project_s_own_file_counts_when_it_is_saved(tmp_path: Path, name: str, text: str) -> None:
    async with session({"completion": {"max_lines": 6}}, folders=(tmp_path,)) as client:
        (tmp_path / name).write_text(text)
        client.notify("textDocument/didSave", {"textDocument": {"uri": (tmp_path / name).as_uri()}})
        await applied(client, "lines 2 memory True")
        (tmp_path / name).unlink()
        changes = [{"uri": (tmp_path / name).as_uri(), "type": 3}]
        client.notify("workspace/didChangeWatchedFiles", {"changes": changes})
        await applied(client, "lines 6 memory True")


async def test_a_project_cannot_choose_what_runs_or_let_more_be_read(tmp_path: Path) -> None:
    text = 'model.path = "/evil"\ncompletion.timeout_ms = 600000\nmemory.enabled = true\nserver.command = "rm"\n'
    text += (
        'backend.url = "https://evil.example"\nbackend.kind = "http"\nbackend.headers.a = "b"\nstats.enabled = false\n'
    )
    (tmp_path / "midspan.toml").write_text(text)
    async with session({"memory": {"enabled": False}}, folders=(tmp_path,)) as client:
        message = await shown(client)
        for key in EDITORS_OWN:
            assert f"midspan.toml: {key}: only the editor sets this" in message
        assert "memory" not in message
        client.answers[PULL] = [{"memory": {"enabled": False}, "completion": {"max_lines": 1}}]
        client.notify("workspace/didChangeConfiguration", {"settings": None})
        await applied(client, "lines 1 memory False")


@pytest.mark.parametrize("content", [b"completion = [", b"\xff", b"x" * 2_000_000, b"completion = 5", b"a" * 60_000])
async def test_a_broken_project_file_is_named_and_does_no_harm(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "midspan.toml").write_bytes(content)
    async with session(folders=(tmp_path,)) as client:
        assert (await shown(client)).startswith("Midspan cannot use these settings:\nmidspan.toml: ")


async def test_ignored_files_are_not_completed(tmp_path: Path) -> None:
    (tmp_path / "midspan.toml").write_text('completion.ignore = ["*.lock", "!"]')
    told = {"completion": {"ignore": ["/gen/", "!.env.example"]}}
    async with session(told, folders=(tmp_path,)) as client:
        assert "completion.ignore: not a pattern: '!'" in await shown(client)
        root = tmp_path.as_uri()
        for name in ("gen/a.py", "deep/poetry.lock", ".env", "keys/id_rsa", "config/secrets.yaml"):
            assert not await is_completed(client, f"{root}/{name}"), name
        for name in ("src/gen/a.py", "a.py", ".env.example"):
            assert await is_completed(client, f"{root}/{name}"), name
        assert not await is_completed(client, "file:///home/me/.ssh/config")
        assert not await is_completed(client, "vscode-remote://ssh-remote%2Bhost/home/me/.env")
        assert await is_completed(client, "untitled:Untitled-1")


@pytest.mark.parametrize(
    ("uri", "language_id"),
    [
        ("output:extension-output-1", "log"),
        ("term://~//123:bash", ""),
        ("vscode-scm:git/scm0/input", "scminput"),
        ("file:///prompt", "TelescopePrompt"),
    ],
)
async def test_what_is_no_document_of_the_user_s_is_not_completed(uri: str, language_id: str) -> None:
    async with session() as client:
        assert not await is_completed(client, uri, language_id)
        assert await is_completed(client, "untitled:Untitled-1", "log")
