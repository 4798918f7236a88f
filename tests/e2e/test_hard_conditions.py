"""A full disk, a home that cannot be written, two servers on one cache, a server killed while it writes.

Real processes with the real engine and the project's memory (`memory_server.py`). None of it may show the user an
error, or cost a suggestion.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import raw_client
from raw_client import TIMEOUT_S, RawClient
from test_feedback import ask, told
from test_workspace import CALL, COMMAND, REST, WHOLE

N_FILES = 60


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """More code than a small disk holds."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "first.py").write_text(WHOLE)
    for number in range(N_FILES):
        lines = (f"def function_{number}_{line}(a):\n    return a + {number * line}\n\n\n" for line in range(100))
        (folder / f"module{number}.py").write_text("".join(lines))
    return folder


@asynccontextmanager
async def working(
    project: Path, env: dict[str, str] | None = None, command: list[str] = COMMAND
) -> AsyncIterator[RawClient]:
    """A server that has the project's text at hand, and after the test still has, and ends well."""
    async with RawClient(command, env={**os.environ, **(env or {})}) as client:
        await client.initialize(workspaceFolders=[{"uri": project.as_uri(), "name": "project"}])
        await has_the_project_s_text(client)
        yield client
        await has_the_project_s_text(client)
        assert (await client.request("shutdown"))["result"] is None
        client.notify("exit")
        assert await client.ended() == 0
        assert not any(one.get("method") == "window/showMessage" for one in client.others)
        assert "Traceback" not in await client.errors()


async def has_the_project_s_text(client: RawClient) -> None:
    async with asyncio.timeout(3 * TIMEOUT_S):
        found = ""
        while REST not in found:
            await asyncio.sleep(0.1)
            item = await ask(client, "new.py", CALL, kind=1)
            found = item["insertText"] if item else ""


def mount(folder: Path, *options: str) -> bool:
    """A small disk of its own, where this process may make one."""
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(folder)]
    return sys.platform == "linux" and subprocess.run(command, capture_output=True, check=False).returncode == 0


def unmount(folder: Path) -> None:
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk of so many bytes."""
    folder = tmp_path / "disk"
    if not mount(folder, f"size={request.param}"):
        pytest.skip("only who may mount can make a small disk; a limit for files is tested beside it")
    yield folder
    unmount(folder)


@pytest.mark.parametrize("disk", ["40k", "200k"], indirect=True)
@pytest.mark.parametrize("is_full", [False, True], ids=["becomes full", "is full"])
async def test_the_disk_of_the_cache_is_full(project: Path, disk: Path, is_full: bool) -> None:
    if is_full:
        with contextlib.suppress(OSError), (disk / "filled").open("wb") as file:
            while True:
                file.write(b"x" * 512)
                file.flush()
    async with working(project, {"MIDSPAN_CACHE": str(disk)}) as client:
        for number in range(20):
            assert await ask(client, f"a{number}.py", "x = ") is not None
    told(disk)


@pytest.mark.parametrize("n_blocks", [0, 8])
async def test_files_cannot_grow(project: Path, tmp_path: Path, n_blocks: int) -> None:
    """As with a quota: each write beyond it fails."""
    limited = ["bash", "-c", f'ulimit -f {n_blocks}; exec "$@"', "limited", *COMMAND]
    async with working(project, {"MIDSPAN_CACHE": str(tmp_path / "cache")}, limited) as client:
        assert await ask(client, "a.py", "x = ") is not None
    told(tmp_path / "cache")


async def test_what_was_counted_is_not_lost_to_a_full_disk(tmp_path: Path, project: Path) -> None:
    cache = {"MIDSPAN_CACHE": str(tmp_path / "cache")}
    async with working(project, cache):
        pass
    before = told(tmp_path / "cache")
    assert before.startswith("python\n")
    limited = ["bash", "-c", 'ulimit -f 0; exec "$@"', "limited", *COMMAND]
    async with working(project, cache, limited):
        pass
    assert told(tmp_path / "cache").startswith("python\n")


def places(tmp_path: Path) -> dict[str, dict[str, str]]:
    """Environments in which nothing can be kept, by what is wrong."""
    (tmp_path / "a file").write_text("")
    nowhere = {"MIDSPAN_CACHE": "", "XDG_CACHE_HOME": ""}
    return {
        "home is no folder": {**nowhere, "HOME": str(tmp_path / "a file")},
        "home is not there": {**nowhere, "HOME": "/proc/none/home"},
        "home is the system's": {**nowhere, "HOME": "/proc/self"},
        "the cache is a file": {"MIDSPAN_CACHE": str(tmp_path / "a file")},
        "the cache is a device": {"MIDSPAN_CACHE": "/dev/null"},
    }


@pytest.mark.parametrize("name", list(places(Path("/tmp"))) if sys.platform == "linux" else [])
async def test_nothing_can_be_kept(project: Path, tmp_path: Path, name: str) -> None:
    env = places(tmp_path)[name]
    async with working(project, env) as client:
        assert await ask(client, "a.py", "x = ") is not None


async def test_a_read_only_home(project: Path, tmp_path: Path) -> None:
    """A disk that is mounted so, or, for who cannot mount, a folder without the right to write."""
    home = tmp_path / "home"
    is_mounted = mount(home, "ro")
    if not is_mounted:
        home.chmod(0o500)
    try:
        env = {"HOME": str(home), "MIDSPAN_CACHE": "", "XDG_CACHE_HOME": ""}
        async with working(project, env) as client:
            assert await ask(client, "a.py", "x = ") is not None
        assert list(home.iterdir()) == []
    finally:
        if is_mounted:
            unmount(home)


async def test_two_servers_at_once_on_one_cache(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They read and keep the same project, count at the same time, and end at the same time."""
    monkeypatch.setattr(raw_client, "TIMEOUT_S", 40.0)  # they start at the same time too
    cache = tmp_path / "cache"
    n_each = 15

    async def session() -> None:
        async with working(project, {"MIDSPAN_CACHE": str(cache)}) as client:
            for number in range(n_each):
                assert await ask(client, f"a{number}.go", "x := ", language_id="go") is not None
            async with asyncio.timeout(60):  # reading waits while somebody asks
                while n_kept() < N_FILES:  # noqa: ASYNC110  (other processes do it)
                    await asyncio.sleep(0.2)

    def n_kept() -> int:
        """Files in the one store; -1 while there is none that can be read."""
        for path in (cache / "memory").glob("*.sqlite"):
            with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as kept:
                return int(kept.execute("SELECT count(*) FROM files").fetchone()[0])
        return -1

    await asyncio.gather(session(), session())
    (store,) = (cache / "memory").glob("*.sqlite")
    with contextlib.closing(sqlite3.connect(store)) as kept:
        assert kept.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert kept.execute("SELECT count(*) FROM files").fetchone()[0] >= N_FILES
    lines = told(cache).splitlines()
    assert lines[lines.index("go") + 1].split(",")[0].split() == ["requests:", str(2 * n_each)]


async def test_killed_while_it_writes(project: Path, tmp_path: Path) -> None:
    """What it leaves behind is mended by the next one."""
    env = {**os.environ, "MIDSPAN_CACHE": str(tmp_path / "cache")}
    for pause_s in (0.4, 0.8, 1.2):
        async with RawClient(COMMAND, env=env) as client:
            await client.initialize(workspaceFolders=[{"uri": project.as_uri(), "name": "project"}])
            await asyncio.sleep(pause_s)
            client.process.send_signal(signal.SIGKILL)
            await client.ended()
    async with working(project, {"MIDSPAN_CACHE": str(tmp_path / "cache")}):
        pass
