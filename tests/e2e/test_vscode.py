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
COMMAND = str(Path(sys.executable).with_name("midspan"))
SCRIPTED = f"{sys.executable} {Path(__file__).with_name('fake_server.py')}"
TIMEOUT_S = 600

ADD = "def add(first, second):\n    return first \n\n\nprint(add(1, 2))\n"
SEVERAL = "def biggest(values):\n    best = values[0]\n    for value in values:\n        \n    return best\n"
CHOICE = "def together(first, second, third):\n    \n"
LIKE_ADD = ("plain.py", "through.py", "off.py", "off_everywhere.py", "killed.py", "many.py")
PROJECT = {
    **dict.fromkeys(LIKE_ADD, ADD),
    "emoji.py": "# 👋🏽 Zoë\n" + ADD.replace("print(", "print('😀', "),
    "crlf.py": ADD.replace("\n", "\r\n"),
    "several.py": SEVERAL,
    "candidates.py": CHOICE,
    "word.py": "def area(width, height):\n    \n\n\nprint(area(width=2, height=3))\n",
}
EDITOR_SETTINGS: dict[str, object] = {
    "editor.quickSuggestions": {"other": "off", "comments": "off", "strings": "off"},
    "editor.wordBasedSuggestions": "off",
    "editor.suggestOnTriggerCharacters": False,
    "chat.disableAIFeatures": True,
    "security.workspace.trust.startupPrompt": "never",
    "security.workspace.trust.banner": "never",
    "telemetry.telemetryLevel": "off",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.startupEditor": "none",
    "midspan.completion.eagerness": "always",
    "midspan.completion.timeout_ms": 60_000,
    "midspan.memory.enabled": False,
}


def write_program(path: Path, name: str, home: Path) -> None:
    """A program that notes its name, arguments and process, and becomes the command that `home/command` tells."""
    lines = ["#!/bin/sh", f'echo "{name} $*" >> "{home}/command.calls"']
    lines += [f'[ "$1" = serve ] || exec "{COMMAND}" "$@"', f'echo $$ > "{home}/server.pid"']
    path.write_text("\n".join([*lines, f'exec $(cat "{home}/command")', ""]))
    path.chmod(0o755)


def start_code_server(port: int, project: Path) -> subprocess.Popen[bytes]:
    """A code-server with a new home and the extension; its folder is not trusted, and names a program of its own."""
    home = project.parent
    (home / "command").write_text(f"{COMMAND} serve")
    write_program(home / "program", "user's", home)
    write_program(home / "other-program", "project's", home)
    (project / ".vscode").mkdir()
    (project / ".vscode" / "settings.json").write_text(json.dumps({"midspan.server.path": str(home / "other-program")}))
    # a program belongs to a machine: with a remote host, as here, the user's own settings do not name it
    machine = {"midspan.server.path": str(home / "program")}
    for folder, settings in (("User", EDITOR_SETTINGS), ("Machine", machine)):
        path = home / "data" / folder / "settings.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(settings))
    common = [FOLDER / "server/node_modules/.bin/code-server", "--config", "/dev/null"]
    common += ["--user-data-dir", home / "data", "--extensions-dir", home / "extensions"]
    env = {**os.environ, "PATH": f"{FOLDER}/node/bin:{os.environ['PATH']}", "EXTENSIONS_GALLERY": "{}"}
    subprocess.run([*common, "--install-extension", EXTENSION], env=env, check=True, capture_output=True)
    quiet = ["--auth", "none", "--disable-telemetry", "--disable-update-check"]
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
    """What the browser saw in each scene."""
    home = tmp_path_factory.mktemp("vscode")
    project, pictures = home / "project", Path(os.environ.get("MIDSPAN_PICTURES", home))
    project.mkdir()
    for name, text in PROJECT.items():
        (project / name).write_bytes(text.encode())
    port = free_port()
    server = start_code_server(port, project)
    paths = {"tools": FOLDER, "project": project, "pictures": pictures, "pid": home / "server.pid"}
    paths |= {"command": home / "command", "settings": home / "data/Machine/settings.json"}
    told = {name: str(path) for name, path in paths.items()} | {"port": port, "scripted": SCRIPTED}
    try:
        wait_for(port)
        drive = [FOLDER / "node/bin/node", DRIVE, json.dumps(told)]
        done = subprocess.run(drive, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        assert done.returncode == 0, done.stderr
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        print(done.stdout)
        assert not any("error" in line for line in lines), done.stdout
        return {line["name"]: line for line in lines} | {"calls": {"all": (home / "command.calls").read_text()}}
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


def test_a_word_is_accepted(seen: dict[str, dict[str, Any]]) -> None:
    ghost, text = "".join(seen["word.py"]["ghost"]), seen["word.py"]["text"]
    assert ghost.startswith("width ")
    assert text == PROJECT["word.py"].replace("    \n", "    return width\n", 1)


def test_the_real_server_s_candidates_are_gone_through(seen: dict[str, dict[str, Any]]) -> None:
    """Two at least: each is another, and the way back has the same."""
    scene = seen["candidates.py"]
    there = ["".join(one) for one in scene["there"]]
    assert all(there)
    assert len(set(there)) == len(there) >= 2
    assert ["".join(one) for one in scene["back"]] == there[::-1]
    assert "".join(scene["second"]) == there[1]
    assert scene["text"] == CHOICE.replace("    \n", f"    return {there[1]}\n")


def test_three_candidates_are_gone_through(seen: dict[str, dict[str, Any]]) -> None:
    scene = seen["many.py"]
    assert ["".join(one) for one in scene["there"]] == ["FIRST()", "SECOND()", "THIRD()"]
    assert ["".join(one) for one in scene["back"]] == ["THIRD()", "SECOND()", "FIRST()"]
    assert scene["text"] == ADD.replace("first ", "first + SECOND()")


@pytest.mark.parametrize("name", ["off.py", "off_everywhere.py"])
def test_what_is_switched_off_has_none(seen: dict[str, dict[str, Any]], name: str) -> None:
    assert seen[name]["ghost"] == []


def test_an_error_is_told_with_what_to_do(seen: dict[str, dict[str, Any]]) -> None:
    assert "the weights are missing" in seen["no weights"]["status"]
    assert "could not be started" in seen["no program"]["status"]


def test_the_log_and_the_walkthrough_are_shown(seen: dict[str, dict[str, Any]]) -> None:
    assert "Midspan" in seen["log"]["title"]
    assert len(seen["walkthrough"]["steps"]) == 4


def test_a_folder_that_is_not_trusted_does_not_choose_what_runs(seen: dict[str, dict[str, Any]]) -> None:
    assert "user's serve" in seen["untrusted"]["calls"]
    assert "project's" not in seen["untrusted"]["calls"]
    assert "project's serve" in seen["calls"]["all"]


def test_the_doctor_is_asked(seen: dict[str, dict[str, Any]]) -> None:
    assert "project's doctor" in seen["calls"]["all"]
