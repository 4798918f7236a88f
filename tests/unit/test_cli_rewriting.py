"""`midspan refill`, `fill` and `repair`, with a scripted model, and the tiny one behind the real backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from midspan_lsp.cli import infill
from midspan_lsp.cli.main import main
from midspan_lsp.types import Candidate, InfillRequest
from scripted_backend import Answering, candidate

HOLES = "def f(a):\n    b = ...\n    return b\n\n\ndef g():\n    return ...\n"
Script = Callable[[Callable[[InfillRequest], Sequence[Candidate]]], None]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    """Has the commands use a backend that answers like this."""

    def use(answer: Callable[[InfillRequest], Sequence[Candidate]]) -> None:
        monkeypatch.setattr(infill, "open_backend", lambda *_: Answering(answer, can_remask=False))

    return use


def run(command: str, place: object, *more: str) -> int:
    return main([command, str(place), "--no-memory", *more])


def test_a_diff_is_shown_and_only_written_if_asked_for(
    tmp_path: Path, script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"\xef\xbb\xbf" + HOLES.replace("\n", "\r\n").encode())
    before = path.read_bytes()
    script(lambda _: [candidate("a + 1")])
    assert run("fill", path) == 0
    shown = capsys.readouterr().out
    assert "-    b = ...\r\n+    b = a + 1" in shown
    assert path.read_bytes() == before
    assert run("fill", path, "--write") == 0
    assert path.read_bytes() == before.replace(b"b = ...", b"b = a + 1")
    assert run("fill", f"{path}:7", "--write") == 0
    assert path.read_bytes() == before.replace(b"b = ...", b"b = a + 1").replace(b"return ...", b"return a + 1")
    assert run("fill", path) == 1
    assert "nothing to fill" in capsys.readouterr().err


def test_of_several_ways_one_is_chosen(tmp_path: Path, script: Script, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.py"
    path.write_text("x = first\n")
    script(lambda _: [replace(candidate(text), probability=n) for text, n in (("second", 0.5), ("third", 0.25))])
    assert run("refill", f"{path}:1:5-1:10", "--write", "--choose", "2") == 0
    shown = capsys.readouterr().out
    assert "# 1 of 2, probability 0.50" in shown
    assert "+x = third\n" in shown
    assert path.read_text() == "x = third\n"
    assert run("refill", f"{path}:1:5-1:10", "--choose", "3") == 1
    assert "only 1 to choose from" in capsys.readouterr().err
    script(lambda _: [candidate("third")])
    assert run("refill", f"{path}:1:5-1:10") == 1
    assert "nothing better" in capsys.readouterr().err


def test_a_syntax_error_is_repaired(tmp_path: Path, script: Script, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.py"
    path.write_text("def f(a)\n    return a")
    script(lambda request: [replace(candidate(one.text), proposal=n) for n, one in enumerate(request.proposals)])
    assert run("repair", path, "--write") == 0
    assert path.read_text() == "def f(a):\n    return a"
    assert run("repair", path) == 0
    assert "has no syntax error" in capsys.readouterr().err
    unknown = tmp_path / "a.klingon"
    unknown.write_text("(")
    assert run("repair", unknown) == 1
    assert "no grammar" in capsys.readouterr().err


def test_a_file_that_changed_meanwhile_is_not_written(
    tmp_path: Path, script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.py"
    path.write_text(HOLES)

    def answer(_: InfillRequest) -> Sequence[Candidate]:
        path.write_text("# edited\n" + HOLES)
        return [candidate("a")]

    script(answer)
    assert run("fill", path, "--write") == 1
    assert "has changed meanwhile" in capsys.readouterr().err
    assert path.read_text() == "# edited\n" + HOLES


@pytest.mark.parametrize("place", ["a.py", "a.py:1:1", "a.py:1:1-", "a.py:1:9-1:5", "a.py:1:5-9:1", "none.py:1:1-1:2"])
def test_what_is_no_selection_is_refused(
    tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text("x = first\n")
    assert run("refill", place) == 1
    assert capsys.readouterr().err.startswith("midspan: ")


def test_all_three_run_on_the_real_backend(tmp_path: Path, tiny_checkpoint: Path) -> None:
    """What random weights write is not to be shown; nothing of the way there may fail."""
    path = tmp_path / "a.py"
    path.write_text("def f(a)\n    b = (a + 1\n    return ...\n")
    model = ("--model", str(tiny_checkpoint))
    assert run("refill", f"{path}:2:9-2:15", *model) in {0, 1}
    assert run("fill", f"{path}:3", *model) in {0, 1}
    assert run("repair", path, *model) in {0, 1}
    assert path.read_text().startswith("def f(a)\n")
