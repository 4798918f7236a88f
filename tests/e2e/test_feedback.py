"""What the server tells of itself and what it counts: `midspan/status`, acceptance, `midspan stats`; real processes."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import FAKE_COMMAND
from raw_client import COMPLETION, TIMEOUT_S, RawClient
from test_workspace import COMMAND

STATUS = "midspan/status"
EXECUTE = "workspace/executeCommand"
WANTED = {"experimental": {"midspan": {"status": True}}}


@asynccontextmanager
async def counting(cache: Path, folder: Path | None = None, **settings: Any) -> AsyncIterator[RawClient]:
    """A real engine with a cache of its own, until it has ended well."""
    env = {**os.environ, "MIDSPAN_CACHE": str(cache)}
    async with RawClient(COMMAND, env=env) as client:
        folders = None if folder is None else [{"uri": folder.as_uri(), "name": folder.name}]
        await client.initialize(initializationOptions=settings, workspaceFolders=folders)
        client.open("loaded.py")
        while (await client.complete("loaded.py"))["result"] is None:
            pass
        yield client
        await client.request("shutdown")
        client.notify("exit")
        assert await client.ended() == 0


def told(cache: Path) -> str:
    """What `midspan stats` prints."""
    command = [sys.executable, "-m", "midspan_lsp", "stats"]
    env = {**os.environ, "MIDSPAN_CACHE": str(cache)}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=60).stdout


async def ask(
    client: RawClient, name: str, text: str, kind: int = 2, language_id: str = "python"
) -> dict[str, Any] | None:
    """The first item at the end of a new document's text."""
    client.open(name, text, language_id)
    position = {"line": text.count("\n"), "character": len(text.rpartition("\n")[2])}
    params = {"textDocument": {"uri": f"file:///{name}"}, "position": position, "context": {"triggerKind": kind}}
    result = (await client.request(COMPLETION, params))["result"]
    return result["items"][0] if result else None


async def test_what_becomes_of_requests_is_told_by_language(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    async with counting(cache, completion={"in_comments": False}, languages={"disabled": ["markdown"]}) as client:
        items = [await ask(client, f"a{number}.py", f"unlikely_name{number} = ") for number in range(4)]
        for item in items[:2]:
            assert item is not None
            command = item["command"]
            assert command["command"] == "midspan.accepted"
            arguments = {"command": command["command"], "arguments": command["arguments"]}
            assert (await client.request(EXECUTE, arguments))["result"] is None
        assert await ask(client, "a3.py", "unlikely_name3 = ") == items[3]  # known; by hand it would be asked anew
        assert await ask(client, "word.py", "x = 1;") is None
        assert await ask(client, "comment.py", "x = 1  # unlikely_comment ") is None
        assert await ask(client, "comment.py", "x = 1  # unlikely_comment ", kind=1) is not None  # by hand
    lines = told(cache).splitlines()
    assert lines[0] == "python"
    n_requests = int(lines[1].split()[1].rstrip(","))
    assert n_requests >= 8
    assert "answered by what was shown before" in lines[1]
    assert lines[2].split(",")[0].split() == ["shown:", "6"]
    assert "33 % accepted" in lines[2]
    assert "(median)" in lines[3]
    assert any("1 nothing is wanted at such a place" in line for line in lines)
    assert any("1 in a comment" in line for line in lines)
    kept = (cache / "memory" / "usage.db").read_bytes()
    assert b"unlikely" not in kept
    assert b".py" not in kept


async def test_switched_off_there_is_no_command_and_nothing_is_kept(tmp_path: Path) -> None:
    async with counting(tmp_path / "cache", stats={"enabled": False}) as client:
        item = await ask(client, "a.py", "x = ")
        assert item is not None
        assert "command" not in item
        arguments = {"command": "midspan.accepted", "arguments": ["python"]}
        assert (await client.request(EXECUTE, arguments))["result"] is None
    assert not (tmp_path / "cache" / "memory" / "usage.db").exists()
    assert told(tmp_path / "cache").startswith("nothing is kept")


@pytest.mark.parametrize("place", ["in_comments", "in_strings"])
async def test_comments_and_strings_can_be_left_out_while_it_runs(tmp_path: Path, place: str) -> None:
    texts = {"in_comments": "x = 1  # and ", "in_strings": "x = 'and "}
    async with counting(tmp_path / "cache") as client:
        for number, is_on in enumerate((True, False, True)):
            settings = {"completion": {place: is_on}}
            client.notify("workspace/didChangeConfiguration", {"settings": {"midspan": settings}})
            await asyncio.sleep(0.3)
            for other, text in texts.items():
                shown = await ask(client, f"{other}{number}.py", text)
                assert (shown is not None) is (is_on or other != place), (number, other)
                assert await ask(client, f"{other}{number}.py", text, kind=1) is not None  # by hand always
            assert await ask(client, f"code{number}.py", "x = ") is not None


@pytest.mark.parametrize(
    "text", ["", "\n\n", "x = 1\n\n", "let x = 1;"], ids=["empty", "blank", "blank at the end", "semicolon"]
)
async def test_nothing_is_asked_where_nothing_is_wanted(tmp_path: Path, text: str) -> None:
    async with counting(tmp_path / "cache") as client:
        before = (await client.request("midspan/work"))["result"]["forwards"]
        assert await ask(client, "unwanted.py", text) is None
        assert (await client.request("midspan/work"))["result"]["forwards"] == before
        assert await ask(client, "unwanted.py", text, kind=1) is not None


@pytest.mark.parametrize("arguments", [None, [], [5], [None], [{"a": 1}], ["python", "x"], ["x" * 100_000]])
async def test_a_command_s_nonsense_does_no_harm(tmp_path: Path, arguments: Any) -> None:
    async with counting(tmp_path / "cache") as client:
        answer = await client.request(EXECUTE, {"command": "midspan.accepted", "arguments": arguments})
        assert answer.get("error", {}).get("code") in (None, -32602)
        assert await ask(client, "a.py", "x = ") is not None


async def test_the_counts_of_before_are_kept_where_they_are(tmp_path: Path) -> None:
    """A file that an earlier version has written: without the table of languages."""
    stores, project = tmp_path / "cache" / "memory", tmp_path / "project"
    stores.mkdir(parents=True)
    project.mkdir()
    with sqlite3.connect(stores / "usage.db") as kept:
        kept.executescript(
            "CREATE TABLE folders (path TEXT PRIMARY KEY, used_s INTEGER NOT NULL);"
            "CREATE TABLE counts (path TEXT NOT NULL REFERENCES folders ON DELETE CASCADE, name TEXT NOT NULL,"
            " n INTEGER NOT NULL, PRIMARY KEY (path, name));"
        )
        kept.execute("INSERT INTO folders VALUES (?, 1)", (str(project),))
        kept.execute("INSERT INTO counts VALUES (?, 'n_requests', 1000)", (str(project),))
    kept.close()
    assert "requests:  1,000" in told(tmp_path / "cache")
    async with counting(tmp_path / "cache", project) as client:
        path = str(project / "a.py").lstrip("/")
        assert await ask(client, path, "x = ") is not None
    assert "requests:  1,001" in told(tmp_path / "cache")
    assert told(tmp_path / "cache").startswith("python\n")


async def status(client: RawClient, state: str) -> dict[str, Any]:
    """The next status of a kind."""
    async with asyncio.timeout(TIMEOUT_S):
        while (found := (await client.message(STATUS))["params"])["state"] != state:
            pass
        return found


async def test_the_status_of_loading() -> None:
    async with RawClient(FAKE_COMMAND) as client:
        options = {"model": {"path": "gate"}}
        await client.initialize(capabilities=WANTED, initializationOptions=options)
        assert await status(client, "loading") == {"state": "loading", "message": "half", "percentage": 50}
        await client.complete("release-load.py")
        client.open("release-load.py")
        await client.complete("release-load.py")
        assert await status(client, "ready") == {"state": "ready", "message": ""}
        assert (await client.request(STATUS))["result"] == {"state": "ready", "message": ""}


async def test_the_status_of_a_failure_has_a_hint() -> None:
    async with RawClient(FAKE_COMMAND) as client:
        await client.initialize(capabilities=WANTED, initializationOptions={"model": {"path": "fail"}})
        wanted = {"state": "error", "message": "the weights are missing", "hint": "Run: midspan fetch"}
        assert await status(client, "error") == wanted
        assert (await client.request(STATUS, {}))["result"] == wanted


async def test_the_status_goes_back_once_a_request_goes_well() -> None:
    async with RawClient(FAKE_COMMAND) as client:
        await client.initialize(capabilities=WANTED)
        await status(client, "ready")
        client.open("bad.py")
        await client.complete("bad.py")
        assert (await status(client, "error"))["message"] == "the model gave nonsense"
        client.open("a.py")
        await client.complete("a.py")
        await status(client, "ready")


async def test_the_status_of_a_document() -> None:
    async with RawClient(FAKE_COMMAND) as client:
        await client.initialize(capabilities=WANTED, initializationOptions={"languages": {"disabled": ["python"]}})
        await status(client, "ready")
        client.open("a.py")
        off = {"state": "off", "message": "python is switched off", "uri": "file:///a.py"}
        assert await status(client, "off") == off
        assert (await client.request(STATUS, {"uri": "file:///a.py"}))["result"] == off
        settings = {"languages": {"disabled": []}}
        client.notify("workspace/didChangeConfiguration", {"settings": {"midspan": settings}})
        assert await status(client, "ready") == {"state": "ready", "message": "", "uri": "file:///a.py"}
        client.open(".env")
        assert (await status(client, "off"))["message"] == "the file looks as if it held secrets"


async def test_a_document_that_was_open_before_the_settings_were_known() -> None:
    async with RawClient(FAKE_COMMAND) as client:
        await client.initialize(capabilities=WANTED, initializationOptions={"languages": {"disabled": ["python"]}})
        client.open("early.py")
        assert (await status(client, "off"))["uri"] == "file:///early.py"


async def test_who_has_not_asked_for_it_is_sent_none() -> None:
    async with RawClient(FAKE_COMMAND) as client:
        await client.initialize()
        client.open(".env")
        client.open("a.py")
        while (await client.complete("a.py"))["result"] is None:
            pass
        assert not any(one.get("method") == STATUS for one in client.others)
        assert (await client.request(STATUS, {"uri": "file:///.env"}))["result"]["state"] == "off"


@pytest.mark.parametrize("experimental", [None, 5, [], {}, {"midspan": None}, {"midspan": {"status": 1}}])
async def test_nonsense_among_the_capabilities(experimental: Any) -> None:
    async with RawClient(FAKE_COMMAND) as client:
        await client.initialize(capabilities={"experimental": experimental})
        client.open(".env")
        assert (await client.complete(".env"))["result"] is None
        assert not any(one.get("method") == STATUS for one in client.others)
