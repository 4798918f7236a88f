"""The whole memory: after any history it answers as one built afresh, and what is private is in no draft."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from midspan_lsp.config import MemorySettings
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.memory import index
from midspan_lsp.memory.memory import ProjectMemory
from midspan_lsp.memory.store import Store
from midspan_lsp.memory.tokens import lex

MEMORY = MemorySettings()
CALL = "def handler(request):\n    payload = request.read_everything("
REST = "limit=4096, strict=True)\n    return payload\n"


def put(folder: Path, name: str, text: str = CALL + REST) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")
    return path


def scan(memory: ProjectMemory, folder: Path) -> None:
    for _ in memory.scan(folder):
        pass


def answers(memory: ProjectMemory, text: str = CALL, uri: str = "untitled:x") -> list[str]:
    return [draft.text for draft in memory.drafts(DocumentSnapshot(uri, "python", 1, text), len(text))]


WANTED = "limit=4096, strict=True)"


def test_a_workspace_is_read_and_read_again(tmp_path: Path) -> None:
    memory = ProjectMemory(MEMORY, keep=False)
    assert answers(memory) == []
    put(tmp_path, "a.py")
    scan(memory, tmp_path)
    assert WANTED in answers(memory)
    put(tmp_path, "a.py", CALL + "other)\n")
    scan(memory, tmp_path)
    assert answers(memory)[:1] == ["other)"]
    (tmp_path / "a.py").unlink()
    scan(memory, tmp_path)
    assert answers(memory) == []
    assert memory.stats().n_documents == 0
    assert memory.stats().n_hits == 2
    assert memory.stats().n_requests == 4


@pytest.mark.parametrize(
    "name", [".env", "secrets.py", "id_rsa", "server.pem", "credentials.py", "logs/a.py", "node_modules/a.py", "own.py"]
)
def test_private_text_is_in_no_draft_even_if_open(tmp_path: Path, name: str) -> None:
    path = put(tmp_path, name)
    put(tmp_path, ".gitignore", "logs/\n")
    memory = ProjectMemory(MemorySettings(ignore=("own.py",)), tmp_path / "cache")
    scan(memory, tmp_path)
    assert answers(memory) == []
    memory.open(path.as_uri(), str(path), "python", CALL + REST)
    assert answers(memory) == []
    memory.change(path.as_uri(), CALL + REST + "\n")
    assert answers(memory) == []
    memory.renamed(path.as_uri(), path.as_uri() + "x", str(path), str(path))
    assert answers(memory) == []
    memory.close(path.as_uri() + "x")
    memory.refresh(str(path))
    assert answers(memory) == []
    assert memory.stats().n_documents == 0
    memory.aclose()


def test_an_open_document_that_is_ignored_later_is_left_out(tmp_path: Path) -> None:
    path = put(tmp_path, "logs/a.py")
    memory = ProjectMemory(MEMORY, keep=False)
    memory.open(path.as_uri(), str(path), "python", CALL + REST)
    assert WANTED in answers(memory)
    put(tmp_path, ".gitignore", "logs/\n")
    scan(memory, tmp_path)
    assert answers(memory) == []


def test_a_secret_line_is_in_no_draft_nor_in_the_store(tmp_path: Path) -> None:
    text = "def connect():\n    password = 'hunter22'\n    return password\n"
    put(tmp_path, "work/a.py", text)
    memory = ProjectMemory(MEMORY, tmp_path / "cache")
    scan(memory, tmp_path / "work")
    memory.open("untitled:y", None, "python", text)
    for begun in ["    password = ", "    pass", "    password = 'hun", "    "]:
        assert not any("hunter" in answer or "'" in answer for answer in answers(memory, "def connect():\n" + begun))
    memory.aclose()
    assert all(b"hunter" not in file.read_bytes() for file in (tmp_path / "cache").iterdir())


def test_a_restart_answers_the_same_and_removed_text_is_gone(tmp_path: Path) -> None:
    work, cache = tmp_path / "work", tmp_path / "cache"
    put(work, "a.py")
    put(work, "b.py", "x = unmistakable_name(1)\n")
    first = ProjectMemory(MEMORY, cache)
    scan(first, work)
    stats = first.stats()
    first.aclose()
    again = ProjectMemory(MEMORY, cache)
    scan(again, work)
    assert WANTED in answers(again)
    assert again.stats().n_tokens == stats.n_tokens
    (work / "a.py").unlink()
    again.forget(str(work / "a.py"))
    assert WANTED not in answers(again)
    again.aclose()
    (work / "b.py").unlink()
    third = ProjectMemory(MEMORY, cache)
    scan(third, work)
    assert third.stats().n_documents == 0
    third.aclose()


def test_two_workspaces_do_not_share(tmp_path: Path) -> None:
    put(tmp_path, "one/a.py")
    put(tmp_path, "two/b.py", "x = 1\n")
    one = ProjectMemory(MEMORY, tmp_path / "cache")
    scan(one, tmp_path / "one")
    one.aclose()
    two = ProjectMemory(MEMORY, tmp_path / "cache")
    scan(two, tmp_path / "two")
    assert answers(two) == []
    two.aclose()
    assert len(list((tmp_path / "cache").iterdir())) == 2


def test_a_folder_that_was_left_is_forgotten(tmp_path: Path) -> None:
    put(tmp_path, "a.py")
    memory = ProjectMemory(MEMORY, keep=False)
    scan(memory, tmp_path)
    memory.leave(tmp_path)
    assert answers(memory) == []


@pytest.mark.parametrize("order", [("", "sub"), ("sub", "")])
def test_a_file_of_two_folders_counts_once_and_as_long_as_one_is_there(tmp_path: Path, order: tuple[str, str]) -> None:
    work, cache = tmp_path / "work", tmp_path / "cache"
    put(work, "a.py", "x = 1\n")
    path = put(work, "sub/b.py")
    for left in order:
        memory = ProjectMemory(MEMORY, cache)
        for folder in order:
            scan(memory, work / folder)
        assert memory.stats().n_documents == 2
        memory.leave(work / left)
        assert WANTED in answers(memory)
        assert memory.stats().n_documents == (2 if left == "sub" else 1)
        put(work, "sub/b.py", CALL + "other)\n")
        memory.refresh(str(path))
        assert answers(memory)[:1] == ["other)"]
        memory.leave(work / next(folder for folder in order if folder != left))
        assert memory.stats().n_documents == 0
        put(work, "sub/b.py")
        memory.aclose()


def test_what_one_of_two_folders_ignores_is_not_read(tmp_path: Path) -> None:
    path = put(tmp_path, "sub/logs/b.py")
    put(tmp_path, "sub/logs/c.py", "x = 1\n")
    memory = ProjectMemory(MemorySettings(ignore=("sub/logs/",)), keep=False)
    for folder in (tmp_path / "sub", tmp_path, tmp_path / "sub"):
        scan(memory, folder)
        assert (WANTED in answers(memory)) is (folder != tmp_path and memory.stats().n_documents == 2)
    assert memory.stats().n_documents == 0
    memory.refresh(str(path))
    assert answers(memory) == []
    memory.leave(tmp_path)
    scan(memory, tmp_path / "sub")
    assert WANTED in answers(memory)


def test_many_files_are_read_again_in_steps(tmp_path: Path) -> None:
    for number in range(300):
        put(tmp_path, f"a{number}.py", f"x{number} = {number}\n" * 400)
    memory = ProjectMemory(MEMORY, keep=False)
    scan(memory, tmp_path)
    paths = [str(put(tmp_path, f"a{number}.py", CALL + REST + f"x{number} = 1\n" * 400)) for number in range(0, 300, 2)]
    for number in range(1, 300, 2):
        (tmp_path / f"a{number}.py").unlink()
        paths.append(str(tmp_path / f"a{number}.py"))
    n_steps = sum(1 for _ in memory.reread([*paths, str(tmp_path / "never.py"), str(tmp_path)]))
    assert n_steps > 5
    assert memory.stats().n_documents == 150
    fresh = ProjectMemory(MEMORY, keep=False)
    scan(fresh, tmp_path)
    assert answers(memory) == answers(fresh)
    assert memory.stats().n_tokens == fresh.stats().n_tokens


def test_a_scan_can_be_dropped_at_any_step(tmp_path: Path) -> None:
    for number in range(12):
        put(tmp_path, f"a{number}.py", CALL + REST + "x = 1\n" * 9000)
    memory = ProjectMemory(MEMORY, keep=False)
    for n_steps in range(1, 9):
        steps = memory.scan(tmp_path)
        for _ in range(n_steps):
            next(steps, None)
        steps.close()
    scan(memory, tmp_path)
    full = memory.stats()
    memory.forget(str(tmp_path))
    assert full.n_documents == 12
    assert memory.stats().n_bytes < 100_000


def test_memory_is_bounded_and_the_latest_stay(tmp_path: Path) -> None:
    memory = ProjectMemory(MemorySettings(max_megabytes=1), keep=False)
    for number in range(40):
        put(tmp_path, f"a{number:02}.py", "".join(f"name_{number}_{line} = {line}\n" for line in range(1000)))
    scan(memory, tmp_path)
    assert 0.5 * 2**20 < memory.stats().n_bytes <= 2**20
    assert memory.stats().n_documents < 40
    put(tmp_path, "a39.py")
    memory.refresh(str(tmp_path / "a39.py"))
    assert memory.stats().n_bytes <= 2**20
    assert WANTED in answers(memory)


def test_a_disabled_memory_holds_nothing(tmp_path: Path) -> None:
    put(tmp_path, "a.py")
    memory = ProjectMemory(MemorySettings(enabled=False), tmp_path / "cache")
    scan(memory, tmp_path)
    memory.open("untitled:y", None, "python", CALL + REST)
    memory.refresh(str(tmp_path / "a.py"))
    assert answers(memory) == []
    assert memory.stats().n_documents == 0
    assert not (tmp_path / "cache").exists()


def test_a_file_that_is_opened_as_it_was_read_is_not_lexed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(tmp_path, "a.py", CALL + REST + "x = 1\r\n\n" * 3000)
    memory = ProjectMemory(MEMORY, keep=False)
    scan(memory, tmp_path)
    lexed: list[str] = []
    monkeypatch.setattr(index, "lex", lambda text: lexed.append(text) or lex(text))
    for text, n_lexed in ((path.read_bytes().decode(), 0), (CALL + REST, 1)):
        lexed.clear()
        memory.open(path.as_uri(), str(path), "python", text)
        assert len(lexed) == n_lexed
        assert WANTED in answers(memory)
        assert memory.stats().n_tokens == len(lex(text))
        memory.close(path.as_uri())
    assert memory.stats().n_tokens == len(lex(path.read_bytes().decode()))


def test_a_document_too_large_is_left_out_until_it_is_smaller() -> None:
    memory = ProjectMemory(MemorySettings(max_file_kilobytes=1), keep=False)
    memory.open("untitled:y", None, "python", CALL + REST + "x = 1\n" * 1000)
    assert answers(memory) == []
    memory.change("untitled:y", CALL + REST)
    assert WANTED in answers(memory)


LINES = [
    "def f(a, b):",
    "    return a + b",
    "x = f(1, 2)",
    "y = f(3, 4)",
    "print(x)",
    "",
    "    total = g(b, a)",
    "x = f(1, ",
]
TEXT = st.lists(st.sampled_from(LINES), max_size=6).map("\n".join)
NAMES = ["a.py", "b.py", "sub/c.py"]
NAME = st.sampled_from(NAMES)
STEP = st.one_of(
    st.tuples(st.just("open"), NAME, TEXT),
    st.tuples(st.just("change"), NAME, TEXT),
    st.tuples(st.just("close"), NAME, st.just("")),
    st.tuples(st.just("write"), NAME, TEXT),
    st.tuples(st.just("delete"), NAME, st.just("")),
    st.tuples(st.just("rename"), NAME, NAME),
    st.tuples(st.just("scan"), st.just(""), st.just("")),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(STEP, max_size=14))
@example([("write", "b.py", "def f(a, b):\n    total = g(b, a)"), ("write", "a.py", "def f(a, b):\ndef f(a, b):")])
def test_any_history_answers_as_a_memory_built_afresh(steps: list[tuple[str, str, str]]) -> None:
    folder = Path(tempfile.mkdtemp()).resolve()
    try:
        put(folder, "a.py", "\n".join(LINES))
        memory = ProjectMemory(MEMORY, folder / ".cache")
        scan(memory, folder)
        now: dict[str, str] = {}
        for what, name, value in steps:
            _do(memory, folder, now, what, name, value)
        fresh = ProjectMemory(MEMORY, keep=False)
        for name, text in now.items():
            fresh.open((folder / name).as_uri(), str(folder / name), "python", text)
        scan(fresh, folder)
        for name in [*now, "other.py"]:
            text = now.get(name, "x = f(")
            for offset in {0, len(text) // 2, len(text)}:
                asked = DocumentSnapshot((folder / name).as_uri(), "python", 1, text)
                assert memory.drafts(asked, offset) == fresh.drafts(asked, offset)
        ours, theirs = memory.stats(), fresh.stats()
        assert (ours.n_documents, ours.n_tokens) == (theirs.n_documents, theirs.n_tokens)
        memory.aclose()
    finally:
        shutil.rmtree(folder)


def _do(memory: ProjectMemory, folder: Path, now: dict[str, str], what: str, name: str, value: str) -> None:
    path = folder / name
    if what == "scan":
        scan(memory, folder)
    elif what == "open" or (what == "change" and name in now):
        now[name] = value
        if what == "open":
            memory.open(path.as_uri(), str(path), "python", value)
        else:
            memory.change(path.as_uri(), value)
    elif what == "close":
        now.pop(name, None)
        memory.close(path.as_uri())
    elif what == "write":
        put(folder, name, value)
        memory.refresh(str(path))
    elif what == "delete":
        path.unlink(missing_ok=True)
        memory.forget(str(path))
    elif what == "rename" and path.exists() and name != value:
        target = folder / value
        target.parent.mkdir(exist_ok=True)
        path.replace(target)
        now.pop(value, None)
        memory.close(target.as_uri())
        if name in now:
            now[value] = now.pop(name)
        memory.renamed(path.as_uri(), target.as_uri(), str(path), str(target))


def test_a_store_that_another_writes_to_is_not_waited_for_at_each_file(tmp_path: Path) -> None:
    ids = np.zeros(3, np.int32)
    ours, other = Store(tmp_path, "/w"), Store(tmp_path, "/w")
    ours.save("/w/a.py", 1, 1, ["x"], ids)
    other.save("/w/b.py", 1, 1, ["x"], ids)
    assert ours.load("/w/b.py", 1, 1) is not None
    other.delete("/w/b.py")  # holds the file until it is flushed
    began_s = time.monotonic()
    for number in range(50):
        ours.save(f"/w/{number}.py", 1, 1, ["x"], ids)
    assert time.monotonic() - began_s < 1
    ours.close()
    other.close()
