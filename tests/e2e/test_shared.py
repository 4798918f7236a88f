"""Several editors share one model: real servers, and a real host that they start, find, lose and leave."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from raw_client import RawClient

pytestmark = pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="looks at processes in /proc")

COMMAND = [sys.executable, "-P", "-m", "midspan_lsp", "serve", "--shared"]
TEXT, END = "def f(x):\n    return x", (1, 12)
LOADING_TIMEOUT_S = 60.0
N_EDITORS = 3


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which these servers meet no others."""
    folder = tmp_path / "run"
    monkeypatch.setenv("MIDSPAN_RUNTIME", str(folder))
    return folder


def hosts(runtime: Path) -> list[int]:
    """Process ids of the hosts that belong to a folder."""
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if b"host-model" in words and (folder / "cwd").readlink() == runtime:
                found.append(int(folder.name))
        except OSError:  # it has ended meanwhile
            continue
    return found


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(LOADING_TIMEOUT_S):
        while not condition():  # noqa: ASYNC110  (other processes fulfil it)
            await asyncio.sleep(0.05)


async def answered(editor: RawClient, name: str) -> str:
    """A middle, however long its server needs until it has a model."""
    editor.open(name, TEXT, "plaintext")  # of which the syntax gate has no opinion
    async with asyncio.timeout(LOADING_TIMEOUT_S):
        while not (result := (await editor.complete(name, *END))["result"]):  # noqa: ASYNC110  (nothing tells it)
            await asyncio.sleep(0.1)
    return result["items"][0]["insertText"]


async def test_three_servers_have_one_model_until_the_last_has_gone(runtime: Path, tiny_checkpoint: Path) -> None:
    options = {"model": {"path": str(tiny_checkpoint)}, "completion": {"eagerness": "always", "timeout_ms": 30_000}}
    async with AsyncExitStack() as stack:
        editors = [await stack.enter_async_context(RawClient(COMMAND)) for _ in range(N_EDITORS)]
        await asyncio.gather(*(editor.initialize(initializationOptions=options) for editor in editors))
        texts = await asyncio.gather(*(answered(editor, f"{n}.py") for n, editor in enumerate(editors)))
        assert texts == texts[:1] * N_EDITORS, "one model, one answer"
        (host,) = hosts(runtime)
        for editor in editors:
            assert "torch" not in Path(f"/proc/{editor.process.pid}/maps").read_text()
        for path in (runtime, *runtime.iterdir()):
            assert not path.stat().st_mode & 0o077, "for nobody else"

        os.kill(editors[0].process.pid, signal.SIGKILL)
        assert await answered(editors[1], "other.py") == texts[0]
        assert hosts(runtime) == [host]

        os.kill(host, signal.SIGKILL)  # nothing tells the servers, and its socket stays behind
        await until(lambda: hosts(runtime) != [host])
        assert await asyncio.gather(*(answered(editor, "again.py") for editor in editors[1:])) == texts[1:]
        (other,) = hosts(runtime)
        assert other != host
        for editor in editors[1:]:
            editor.notify("exit")
        await asyncio.gather(*(editor.ended() for editor in editors[1:]))
        await until(lambda: not hosts(runtime))
    assert not list(runtime.glob("*.sock"))


async def test_servers_whose_models_differ_do_not_share(runtime: Path, tiny_checkpoint: Path) -> None:
    model = {"path": str(tiny_checkpoint)}
    async with RawClient(COMMAND) as one, RawClient(COMMAND) as other:
        for editor, threshold in ((one, 0.9), (other, 0.5)):
            options = {"model": {**model, "threshold": threshold}, "completion": {"eagerness": "always"}}
            await editor.initialize(initializationOptions=options)
        await asyncio.gather(answered(one, "a.py"), answered(other, "a.py"))
        assert len(hosts(runtime)) == 2
    await until(lambda: not hosts(runtime))


async def test_a_folder_of_somebody_else_is_not_used(runtime: Path, tiny_checkpoint: Path) -> None:
    runtime.mkdir(mode=0o777)
    runtime.chmod(0o777)
    async with RawClient(COMMAND) as editor:
        await editor.initialize(initializationOptions={"model": {"path": str(tiny_checkpoint)}})
        told = await editor.message("window/showMessage")
    assert "is not a folder of yours alone" in told["params"]["message"]
    assert not hosts(runtime)


async def test_a_model_that_cannot_be_loaded_is_told_with_what_to_do(runtime: Path, tmp_path: Path) -> None:
    async with RawClient(COMMAND) as editor:
        await editor.initialize(initializationOptions={"model": {"path": str(tmp_path / "nowhere")}})
        async with asyncio.timeout(LOADING_TIMEOUT_S):
            while True:
                try:
                    told = await editor.message("window/showMessage")
                    break
                except TimeoutError:  # torch is being imported
                    continue
    assert "nowhere" in told["params"]["message"]
    await until(lambda: not hosts(runtime))
