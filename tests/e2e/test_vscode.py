"""The extension in a real VS Code, with the real command and weights. `vscode/setup.sh` gets what it needs."""

from __future__ import annotations

import ast
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

GIVEN = os.environ.get("MIDSPAN_CODE_SERVER", "")
FOLDER = Path(GIVEN).absolute()
pytestmark = [
    pytest.mark.weights,
    pytest.mark.skipif(not GIVEN, reason="needs MIDSPAN_CODE_SERVER, a folder made by tests/e2e/vscode/setup.sh"),
]

EXTENSION = Path(__file__).parents[2] / "editor-clients" / "vscode" / "midspan.vsix"
DRIVE = Path(__file__).with_name("vscode") / "drive.mjs"
TIMEOUT_S = 240

ADD = "def add(first, second):\n    return first \n\n\nprint(add(1, 2))\n"
SEVERAL = "def biggest(values):\n    best = values[0]\n    for value in values:\n        \n    return best\n"
PROJECT = {
    **dict.fromkeys(("plain.py", "through.py", "off.py", "killed.py"), ADD),
    "emoji.py": "# 👋🏽 Zoë\n" + ADD.replace("print(", "print('😀', "),
    "crlf.py": ADD.replace("\n", "\r\n"),
    "several.py": SEVERAL,
}
EDITOR_SETTINGS: dict[str, object] = {
    "editor.quickSuggestions": {"other": "off", "comments": "off", "strings": "off"},
    "editor.wordBasedSuggestions": "off",
    "editor.suggestOnTriggerCharacters": False,
    "chat.disableAIFeatures": True,
    "telemetry.telemetryLevel": "off",
    "workbench.startupEditor": "none",
    "midspan.completion.eagerness": "always",
    "midspan.completion.timeout_ms": 60_000,
    "midspan.memory.enabled": False,
}


def start_code_server(port: int, project: Path) -> subprocess.Popen[bytes]:
    """A code-server with a new home, the extension, and a server that tells its process."""
    program = FOLDER / "midspan"
    command = Path(sys.executable).with_name("midspan")
    program.write_text(f'#!/bin/sh\necho $$ > "{FOLDER}/server.pid"\nexec "{command}" "$@"\n')
    program.chmod(0o755)
    home = project.parent / "home"
    # a program belongs to a machine: with a remote host, as here, the user's own settings do not name it
    for folder, settings in (("User", EDITOR_SETTINGS), ("Machine", {"midspan.server.path": str(program)})):
        path = home / "data" / folder / "settings.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(settings))
    common = [FOLDER / "server/node_modules/.bin/code-server", "--config", "/dev/null"]
    common += ["--user-data-dir", home / "data", "--extensions-dir", home / "extensions"]
    env = {**os.environ, "PATH": f"{FOLDER}/node/bin:{os.environ['PATH']}", "EXTENSIONS_GALLERY": "{}"}
    subprocess.run([*common, "--install-extension", EXTENSION], env=env, check=True, capture_output=True)
    quiet = ["--auth", "none", "--disable-telemetry", "--disable-update-check", "--disable-workspace-trust"]
    listen = ["--bind-addr", f"127.0.0.1:{port}"]
    return subprocess.Popen([*common, *quiet, *listen, project], env=env, start_new_session=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port: int) -> None:
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("code-server does not listen")


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory, embedded_weights: Path) -> dict[str, dict[str, Any]]:
    """What the browser saw in each of the project's files."""
    home = tmp_path_factory.mktemp("vscode")
    project, pictures = home / "project", Path(os.environ.get("MIDSPAN_PICTURES", home))
    project.mkdir()
    for name, text in PROJECT.items():
        (project / name).write_bytes(text.encode())
    port = free_port()
    server = start_code_server(port, project)
    try:
        wait_for(port)
        drive = [FOLDER / "node/bin/node", DRIVE, FOLDER, str(port), project, pictures]
        done = subprocess.run(drive, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        assert done.returncode == 0, done.stderr
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        print(done.stdout)
        assert not any("error" in line for line in lines), done.stdout
        return {line["name"]: line for line in lines}
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait()


@pytest.mark.parametrize("name", ["plain.py", "emoji.py", "crlf.py", "killed.py"])
def test_what_is_shown_is_what_is_accepted(seen: dict[str, dict[str, Any]], name: str) -> None:
    """Before the server was killed and after."""
    (ghost, *_), text = seen[name]["ghost"], seen[name]["text"]
    assert ghost
    assert text.encode() == PROJECT[name].replace("first ", f"first + {ghost}").encode()
    ast.parse(text)


def test_several_lines_are_shown_and_accepted(seen: dict[str, dict[str, Any]]) -> None:
    text = seen["several.py"]["text"]
    assert len(text.splitlines()) > len(SEVERAL.splitlines())
    ast.parse(text)


def test_typing_through_takes_it_down(seen: dict[str, dict[str, Any]]) -> None:
    whole, rest = seen["through.py"]["ghost"]
    assert whole[1:] == rest


def test_a_language_switched_off_has_none(seen: dict[str, dict[str, Any]]) -> None:
    assert seen["off.py"]["ghost"] == []
