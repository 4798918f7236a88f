"""What `midspan doctor` and `midspan infill` say of a remote server."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from loopback_server import Exchange, LoopbackServer, free_port, serving
from midspan_lsp.backend_settings import BackendSettings
from midspan_lsp.cli.doctor_remote import check_remote
from midspan_lsp.cli.main import main
from midspan_lsp.cli.settings_file import read_settings_file
from midspan_lsp.config import Settings
from midspan_lsp.errors import ConfigError
from midspan_lsp.types import InfillRequest

KEY = "sesame-open-the-door"
QUESTION = InfillRequest("def area(width, height):\n    return width * ", "\n", "python")
ANSWER = {"choices": [{"text": "height", "finish_reason": "stop"}]}


@contextmanager
def server_on_a_thread(models: object, status: int = 200, answer: object = ANSWER) -> Iterator[LoopbackServer]:
    """A server for commands, which have loops of their own."""
    started, found = threading.Event(), list[LoopbackServer]()
    loop = asyncio.new_event_loop()

    async def handle(exchange: Exchange) -> None:
        if exchange.asked.method == "GET":
            await exchange.answer(models, 404 if models is None else status)
        else:
            await exchange.answer(answer, status)

    async def run() -> None:
        async with serving(handle) as server:
            found.append(server)
            started.set()
            await stop.wait()

    stop = asyncio.Event()
    thread = threading.Thread(target=lambda: loop.run_until_complete(run()))
    thread.start()
    started.wait()
    try:
        yield found[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


def report(**settings: Any) -> tuple[int, dict[str, str]]:
    """The status, and what is told."""
    lines: dict[str, str] = {}
    values = {"dialect": "mercury", "key_variable": "TEST_KEY"} | settings
    status = check_remote(BackendSettings(kind="http", **values), QUESTION, lines.__setitem__)
    assert KEY not in str(lines)
    return status, lines


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)


def test_a_server_that_works() -> None:
    with server_on_a_thread({"data": [{"id": "mercury-edit-2"}, {"id": "mercury-2"}]}) as server:
        status, lines = report(url=server.url)
    assert status == 0
    assert lines["remote server"] == f"mercury at {server.url}"
    assert lines["its key"] == "the variable TEST_KEY: there"
    assert lines["its models"] == "mercury-edit-2 is one of 2"
    assert lines["remote completion"].startswith("works: return width * -> 'height'")


def test_a_server_that_lists_no_models() -> None:
    with server_on_a_thread(None) as server:
        status, lines = report(url=server.url)
    assert status == 0
    assert "not told" in lines["its models"]


def test_a_model_that_is_not_there() -> None:
    with server_on_a_thread({"data": [{"id": f"m{n}"} for n in range(20)]}) as server:
        _, lines = report(url=server.url, model="other")
    assert lines["its models"].startswith("other is none of them: m0, m1")
    assert "and 12 more" in lines["its models"]
    assert "backend.model" in lines["its models"]


def test_an_ollama_model_without_its_tag() -> None:
    models = {"models": [{"name": "coder:latest"}]}
    with server_on_a_thread(models, answer={"response": "height"}) as server:
        status, lines = report(url=server.url, dialect="ollama", model="coder")
    assert (status, lines["its models"]) == (0, "coder is one of 1")


def test_a_key_that_is_not_taken() -> None:
    with server_on_a_thread({}, status=401) as server:
        status, lines = report(url=server.url)
    assert status == 1
    assert "does not take the key" in lines["remote completion"]
    assert "backend.key_variable" in lines["remote completion"]


def test_a_key_that_is_not_there() -> None:
    status, lines = report(url="http://127.0.0.1:1", key_variable="NO_SUCH_VARIABLE")
    assert status == 1
    assert "Set the variable NO_SUCH_VARIABLE" in lines["its key"]
    assert "remote completion" not in lines


def test_a_server_that_is_not_there() -> None:
    status, lines = report(url=f"http://127.0.0.1:{free_port()}")
    assert status == 1
    assert "cannot be reached" in lines["its models"]
    assert "remote completion" not in lines


def test_a_model_that_fills_nothing() -> None:
    with server_on_a_thread({"data": []}, answer={"choices": [{"text": ""}]}) as server:
        status, lines = report(url=server.url)
    assert status == 1
    assert "nothing" in lines["remote completion"]


def test_settings_that_lack_something() -> None:
    status, lines = report(dialect="openai")
    assert status == 1
    assert "backend.model" in lines["remote server"]


def settings_file(folder: Path, url: str) -> str:
    path = folder / "settings.toml"
    path.write_text(f'[backend]\nkind = "http"\ndialect = "mercury"\nkey_variable = "TEST_KEY"\nurl = "{url}"\n')
    return str(path)


def test_the_commands_take_the_users_own_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.py").write_text("def area(width, height):\n    return width * \n")
    with server_on_a_thread({"data": [{"id": "mercury-edit-2"}]}) as server:
        path = settings_file(tmp_path, server.url)
        assert main(["doctor", "--settings", path]) == 0
        assert "remote completion:    works" in capsys.readouterr().out
        assert main(["infill", f"{tmp_path / 'a.py'}:2:20", "--no-memory", "--json", "--settings", path]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["middle"], told["probability"], told["shown"]) == ("height", 0.5, True)


def test_a_server_is_enough(tmp_path: Path) -> None:
    """Without the packages of the embedded model."""
    (tmp_path / "a.py").write_text("def area(width, height):\n    return width * \n")
    place = f"{tmp_path / 'a.py'}:2:20"
    with server_on_a_thread({}) as server:
        path = settings_file(tmp_path, server.url)
        code = f"""
import sys
sys.modules |= dict.fromkeys(("torch", "safetensors", "tokenizers", "gguf"))
from midspan_lsp.cli.main import main
sys.exit(main(["infill", {place!r}, "--settings", {path!r}]))
"""
        done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("height\n")


def test_a_file_that_looks_like_a_secret_is_not_sent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".env").write_text("NAME=\n")
    with server_on_a_thread({}) as server:
        path = settings_file(tmp_path, server.url)
        assert main(["infill", f"{tmp_path / '.env'}:1:6", "--no-memory", "--settings", path]) == 1
        assert server.n_connections == 0
    assert "secrets" in capsys.readouterr().err


@pytest.mark.parametrize("text", [None, "nonsense", "[backend]\nkind = 3\n", "[backend]\nkey = 'sesame'\n"])
def test_a_file_that_cannot_be_used(text: str | None, tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigError, match=r"settings\.toml"):
        read_settings_file(str(path))
    assert read_settings_file(None) == Settings()
