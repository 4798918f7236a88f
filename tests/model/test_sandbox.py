"""Generated programs are really stopped. Each test runs a real process."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from midspan_model.evaluation import sandbox
from midspan_model.evaluation.sandbox import Limits, ProgramRun, run_program

QUICK = Limits(wall_s=10.0, memory_mib=256, file_mib=1)
BRIEF = Limits(wall_s=1.0, memory_mib=256, file_mib=1)
NAMESPACES = [False, pytest.param(True, marks=pytest.mark.skipif(not sandbox.has_namespaces(), reason="not permitted"))]


@pytest.fixture(params=NAMESPACES, ids=["hook", "namespaces"])
def namespaces(request: pytest.FixtureRequest) -> bool:
    return request.param


@pytest.fixture(autouse=True)
def _folders_and_processes_are_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Whatever a program does: its folder goes, and no process of it stays."""
    monkeypatch.setattr(sandbox.tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    yield
    assert not list((tmp_path / "temporary").iterdir())
    assert not _processes_of(tmp_path)


def _processes_of(folder: Path) -> list[str]:
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if _readable(path)]
    return [command.decode(errors="replace") for command in commands if str(folder).encode() in command]


def _readable(path: Path) -> bool:
    try:
        return bool(path.read_bytes())
    except OSError:
        return False


def test_a_program_that_does_its_work_passes(namespaces: bool) -> None:
    program = "import math\nprint('said to nobody')\nopen('here.txt', 'w').write('x')\nassert math.sqrt(4) == 2\n"
    assert run_program(program, QUICK, namespaces=namespaces) == ProgramRun(True, "passed")


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("assert 1 == 2", "AssertionError"),
        ("def f(:", "SyntaxError"),
        ("raise SystemExit(0)", "SystemExit"),
        ("import os\nos._exit(0)", "died"),
        ("import os\nos.write(1, b'passed')\nos.write(3, b'passed')\nos._exit(0)", "died"),
        ("import sys\nsys.setrecursionlimit(10**9)\nf = lambda: f()\nf()", None),
        ("import torch", "ModuleNotFoundError"),
    ],
)
def test_what_does_not_reach_its_end_has_not_passed(program: str, reason: str | None) -> None:
    run = run_program(program, QUICK)
    assert not run.passed
    assert reason is None or run.reason == reason


@pytest.mark.parametrize(
    "program",
    [
        "while True: pass",
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        "import signal, time\nfor s in set(signal.Signals) - {9, 19}: signal.signal(s, signal.SIG_IGN)\ntime.sleep(60)",
        "import os, time\nos.setsid() if os.getpid() != os.getsid(0) else None\ntime.sleep(60)",
    ],
    ids=["loop", "stubborn loop", "deaf to signals", "another session"],
)
def test_a_program_that_does_not_end_is_killed(program: str, namespaces: bool) -> None:
    began_s = time.monotonic()
    assert run_program(program, BRIEF, namespaces=namespaces) == ProgramRun(False, "timeout")
    assert time.monotonic() - began_s < BRIEF.wall_s + 5


def test_memory_has_a_limit(namespaces: bool) -> None:
    program = "held = []\nwhile True: held.append(bytearray(1 << 24))"
    assert run_program(program, QUICK, namespaces=namespaces) == ProgramRun(False, "MemoryError")
    fits = "held = bytearray(1 << 26)"
    assert run_program(fits, QUICK, namespaces=namespaces).passed, "the limit is on too much, not on anything"


def test_limits_cannot_be_raised() -> None:
    program = "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n"
    assert run_program(program, QUICK).passed
    program = (
        "import resource\nfor what in (resource.RLIMIT_AS, resource.RLIMIT_CPU):\n"
        "    soft, hard = resource.getrlimit(what)\n    assert soft == hard != resource.RLIM_INFINITY\n"
    )
    assert run_program(program, QUICK).passed


def test_files_have_a_limit(namespaces: bool) -> None:
    program = "with open('big', 'wb') as file:\n    for _ in range(64): file.write(bytes(1 << 20))"
    assert not run_program(program, QUICK, namespaces=namespaces).passed


def test_no_socket_is_opened(namespaces: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        program = f"import socket\nsocket.create_connection({server.getsockname()!r}, timeout=2)"
        assert run_program(program, QUICK, namespaces=namespaces) == ProgramRun(False, "PermissionError")
        with pytest.raises(TimeoutError):
            server.accept()


@pytest.mark.skipif(not sandbox.has_namespaces(), reason="namespaces are not permitted here")
def test_the_namespace_alone_has_no_network() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        connect = f"import socket; socket.create_connection({server.getsockname()!r}, timeout=2)"
        command = [sys.executable, "-I", "-c", connect]
        assert subprocess.run(command, check=False).returncode == 0, "outside it there is one"
        done = subprocess.run([*sandbox.namespace_command(), *command], check=False, capture_output=True, text=True)
        assert "Network is unreachable" in done.stderr


@pytest.mark.parametrize(
    "act",
    [
        "open({path!r}, 'w').write('x')",
        "open({path!r}, 'a')",
        "import os; os.open({path!r}, os.O_CREAT | os.O_WRONLY)",
        "import os; os.chdir('/'); open({path!r}[1:], 'w')",
        "import os; os.mkdir({path!r})",
        "import os; os.symlink('/', 'link'); open('link' + {path!r}, 'w')",
        "import pathlib; pathlib.Path({path!r}).write_text('x')",
    ],
)
def test_nothing_is_written_outside_its_folder(act: str, tmp_path: Path, namespaces: bool) -> None:
    outside = tmp_path / "outside"
    assert run_program(act.format(path=str(outside)), QUICK, namespaces=namespaces).reason == "PermissionError"
    assert not outside.exists()


def test_nothing_is_removed_outside_its_folder(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("kept")
    for act in (f"os.remove({str(kept)!r})", f"shutil.rmtree({str(tmp_path)!r})", f"os.truncate({str(kept)!r}, 0)"):
        assert not run_program(f"import os, shutil\n{act}", QUICK).passed
        assert kept.read_text() == "kept"


@pytest.mark.parametrize(
    "act", ["os.fork()", "os.system('true')", "subprocess.run(['true'])", "os.execv('/bin/true', ['true'])"]
)
def test_no_other_process_is_started(act: str, namespaces: bool) -> None:
    run = run_program(f"import os, subprocess\n{act}", QUICK, namespaces=namespaces)
    assert run == ProgramRun(False, "PermissionError")
