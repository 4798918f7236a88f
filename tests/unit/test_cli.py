"""The command line's clear errors; a tiny checkpoint answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from midspan_lsp.backends.base import Capabilities, ReportProgress
from midspan_lsp.cli import doctor
from midspan_lsp.cli import infill as infill_command
from midspan_lsp.cli.drafts import DraftPrinter
from midspan_lsp.cli.main import main
from midspan_lsp.config import Settings
from midspan_lsp.types import CancellationToken, Candidate, InfillRequest, InfillResponse, SlotView, StepObserver


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "a b.py"
    path.write_bytes("x = 'é😀'\r\ny = \n".encode())
    return path


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("{}:9:1", "has 3 lines; there is no line 9"),
        ("{}:0:1", "there is no line 0"),
        ("{}:1:10", "columns 1 to 9; there is no column 10"),
        ("{}:1:0", "there is no column 0"),
        ("{}", "not a place in a file"),
        ("{}:1", "not a place in a file"),
        ("{}:a:b", "not a place in a file"),
        ("{}:" + "9" * 5000 + ":1", "not a place in a file"),
        ("{}x:1:1", "No such file"),
    ],
)
def test_a_place_that_is_none(source: Path, place: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["infill", place.format(source)]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"\xff\xfe\x00x", "binary"), (b"caf\xe9 = 1\n", "not UTF-8: byte 3"), (b"\0\0\0", "binary")],
)
def test_a_file_that_is_no_text(
    tmp_path: Path, content: bytes, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.py").write_bytes(content)
    assert main(["infill", f"{tmp_path / 'bad.py'}:1:1"]) == 1
    assert message in capsys.readouterr().err


def test_a_folder_is_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["infill", f"{tmp_path}:1:1"]) == 1
    assert "directory" in capsys.readouterr().err


def test_infill_prints_json(source: Path, tiny_checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["infill", f"{source}:2:5", "--json", "--model", str(tiny_checkpoint)]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["n_forwards"] >= 1
    assert set(answer) >= {"middle", "probability", "elapsed_ms", "verdict", "shown"}


def test_infill_shows_each_step(source: Path, tiny_checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["infill", f"{source}:2:5", "--steps", "--no-memory", "--model", str(tiny_checkpoint)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("  1  ")
    assert "forwards" in out
    assert "\x1b" not in out


@pytest.mark.parametrize("text", ["", "\n", "\ufeff", "x" * 5_000_000])
def test_odd_files_are_filled_all_the_same(
    tmp_path: Path, text: str, tiny_checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "odd.unknown").write_text(text, encoding="utf-8")
    place = (
        f"{tmp_path / 'odd.unknown'}:1:{max(1, len(text) // 2)}"
        if len(text) > 10
        else f"{tmp_path / 'odd.unknown'}:1:1"
    )
    assert main(["infill", place, "--json", "--model", str(tiny_checkpoint)]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "no opinion"


def test_a_model_folder_that_is_none(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["infill", f"{source}:1:1", "--model", str(tmp_path)]) == 1
    assert "config.json" in capsys.readouterr().err


def test_a_pipe_is_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    assert main(["infill", f"{tmp_path / 'pipe.py'}:1:1"]) == 1
    assert "no regular file" in capsys.readouterr().err


@pytest.mark.parametrize("redirection", ["| true", "> /dev/full", ">&-", "2>&-", "| head -c 1"])
def test_output_that_goes_nowhere_ends_quietly(source: Path, tiny_checkpoint: Path, redirection: str) -> None:
    command = f"{sys.executable} -m midspan_lsp infill '{source}:2:5' --steps --model {tiny_checkpoint} {redirection}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert "the model failed" not in done.stderr


def test_a_narrow_encoding_gets_question_marks(source: Path, tiny_checkpoint: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "midspan_lsp",
        "infill",
        f"{source}:2:5",
        "--steps",
        "--model",
        str(tiny_checkpoint),
    ]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert "?" in done.stdout


@pytest.mark.parametrize("address", ["[::1:5", "here", "localhost:", "localhost:99999", ":80"])
def test_an_address_that_is_none(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--tcp", address]) == 1
    assert "not an address" in capsys.readouterr().err


def test_steps_never_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    DraftPrinter(sys.stdout)(12, (SlotView("\x1b[2Ja\n", fresh=True), SlotView(None, fresh=False)))
    assert capsys.readouterr().out == " 12  �[2Ja⏎▒\n"


class ProposalBackend:
    """Answers with the first proposal, and has one of its own where there is none."""

    capabilities = Capabilities("proposals", can_remask=False)
    ready = True

    def __init__(self, settings: Settings) -> None:
        pass

    async def load(self, report: ReportProgress) -> None:
        pass

    async def infill(
        self, request: InfillRequest, token: CancellationToken, on_step: StepObserver | None = None
    ) -> InfillResponse:
        own = Candidate("own(0)", 0.9)
        first = [Candidate(one.text, 0.9, proposal=number) for number, one in enumerate(request.proposals)]
        return InfillResponse((*first, own)[:1])

    async def aclose(self) -> None:
        pass


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of two files; the second wants what stands in the first."""
    monkeypatch.setattr(infill_command, "open_backend", lambda settings, _: ProposalBackend(settings))
    monkeypatch.setenv("MIDSPAN_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / "pkg").mkdir()
    text = "def handler(request):\n    payload = request.read_everything(request)\n    return payload\n"
    (folder / "pkg" / "a.py").write_text(f"import os\n\n\n{text}", encoding="utf-8")
    (folder / "pkg" / "b.py").write_text(text.replace("read_everything(request)", "read_every"), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ([], "[from the project: {}:5]"),
        (["--workspace", "{project}/pkg"], "[from the project: a.py:5]"),
        (["--no-memory"], "[the model's own]"),
    ],
)
def test_infill_explains_where_a_middle_came_from(
    project: Path, flags: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = [flag.format(project=project) for flag in flags]
    place = f"{project / 'pkg' / 'b.py'}:2:33"
    assert main(["infill", place, "--explain", *flags]) == 0
    assert told.format(Path("pkg", "a.py")) in capsys.readouterr().out
    assert main(["infill", place, "--json", *flags]) == 0
    source = json.loads(capsys.readouterr().out)["source"]
    assert source is None if "own" in told else source["line"] == 5
    assert main(["infill", place, *flags]) == 0
    assert "project:" not in capsys.readouterr().out


def test_infill_without_a_project_looks_at_the_file_alone(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / ".git").rmdir()
    assert main(["infill", f"{project / 'pkg' / 'b.py'}:2:33", "--json"]) == 0
    assert "everything" not in json.loads(capsys.readouterr().out)["middle"]
    assert not (tmp_path / "cache").exists()


def test_a_workspace_that_is_no_folder(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = project / "pkg" / "b.py"
    assert main(["infill", f"{file}:2:33", "--workspace", str(file)]) == 1
    assert "is no folder" in capsys.readouterr().err


def test_doctor_tells_of_the_stores(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "(0 projects, 0.0 MB)" in doctor.describe_stores()
    assert main(["infill", f"{project / 'pkg' / 'b.py'}:2:33"]) == 0
    assert doctor.describe_stores() == f"{tmp_path / 'cache' / 'memory'} (1 project, 0.0 MB)"
