"""`midspan stats`: counts by workspace folder, kept on this machine, without a word of anybody's text."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from pathlib import Path

import pytest
from midspan_lsp.cli.main import main
from midspan_lsp.config import MemorySettings, Settings
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine.counting import UsageCounter
from midspan_lsp.engine.pipeline import Engine
from midspan_lsp.engine.recall import Recall
from midspan_lsp.memory.memory import ProjectMemory
from midspan_lsp.memory.usage import Usage, add_usage, read_usage
from midspan_lsp.types import Candidate, Trigger
from scripted_backend import ScriptedBackend

CALL = "def handler(request):\n    payload = request.read_everything("
REST = "limit=4096, strict=True)"
END = "\n    return payload\n"


@pytest.fixture
def stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MIDSPAN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "memory"


def work(folder: Path, *, count: bool = True) -> None:
    """An editor's session: the first and the third middle shown are the project's, the second is not shown."""
    folder.mkdir(exist_ok=True)
    (folder / "unlikely_name.py").write_text(CALL + REST + END, encoding="utf-8")

    async def session() -> None:
        copied, own = Candidate(REST, 0.9, proposal=0), Candidate("own_text)", 0.9)
        backend = ScriptedBackend([copied, Candidate("x)", 0.0), copied, own, own], can_remask=False)
        recall = Recall(MemorySettings(), limit_s=None, quiet_s=0, count=count, build=ProjectMemory)
        engine = Engine(backend, Settings(), recall)
        recall.add_folder(str(folder))
        await recall.settled()
        for name, text in (("a.py", CALL), ("b.py", CALL), ("c.py", CALL), ("d.go", "nothing_alike(")):
            snapshot = DocumentSnapshot((folder / name).as_uri(), name[-2:].replace("py", "python"), 1, text + END)
            await engine.complete(snapshot, len(text), Trigger.AUTOMATIC)
        outside = DocumentSnapshot("untitled:x", "python", 1, CALL + END)
        await engine.complete(outside, len(CALL), Trigger.AUTOMATIC)
        await engine.aclose()

    asyncio.run(session())


def test_counts_add_up_and_are_told(tmp_path: Path, stores: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "project"
    work(folder)
    real = os.path.realpath(folder)
    assert read_usage(stores) == {real: Usage(4, 3, 3, 2)}
    work(folder)
    assert read_usage(stores) == {real: Usage(8, 6, 6, 4)}
    assert main(["stats"]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"{real}\n")
    assert "1 files" in told
    assert "8, 75 % with a proposal" in told
    assert "6, 67 % from the project" in told


def test_what_is_kept_of_usage_holds_no_text_and_no_file_s_name(tmp_path: Path, stores: Path) -> None:
    work(tmp_path / "project")
    kept = (stores / "usage.db").read_bytes()
    for word in (b"payload", b"handler", b"4096", b"own_text", b"nothing_alike", b"unlikely_name", b"a.py", b"d.go"):
        assert word not in kept
    assert (stores / "usage.db").stat().st_mode & 0o777 == 0o600
    with sqlite3.connect(stores / "usage.db") as opened:
        values = [value for row in opened.execute("SELECT n FROM counts") for value in row]
    assert values
    assert all(isinstance(value, int) for value in values)


def test_switched_off_nothing_is_counted(tmp_path: Path, stores: Path) -> None:
    work(tmp_path / "project", count=False)
    assert not (stores / "usage.db").exists()
    assert read_usage(stores) == {}


def test_nothing_kept_is_told(stores: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats"]) == 0
    assert capsys.readouterr().out == f"nothing is kept in {stores}\n"
    assert not stores.exists()


def test_folders_not_used_for_long_make_room(stores: Path) -> None:
    for number in range(130):
        add_usage(stores, {f"/projects/{number:03}": Usage(n_requests=number)})
    kept = read_usage(stores)
    assert len(kept) == 100
    with sqlite3.connect(stores / "usage.db") as opened:
        assert opened.execute("SELECT count(*) FROM counts").fetchone() == (400,)


def test_a_document_counts_for_the_innermost_folder_only() -> None:
    counter = UsageCounter(enabled=True)
    for path in ("/a/x.py", "/a/b/x.py", "/ab/x.py", None):
        counter.asked(["/a", "/a/b"], path, proposed=True)
    assert counter.take() == {"/a": Usage(1, 1), "/a/b": Usage(1, 1)}
    assert counter.take() == {}


@pytest.mark.parametrize("spoiled", [b"no database", b"SQLite format 3\0" + b"\xff" * 5000])
def test_spoiled_usage_is_no_failure(stores: Path, spoiled: bytes) -> None:
    stores.mkdir(parents=True)
    (stores / "usage.db").write_bytes(spoiled)
    add_usage(stores, {"/work": Usage(1)})
    assert read_usage(stores) == {"/work": Usage(1)}
