"""Code actions in a real VS Code, which shows them and their preview by itself, with the real command and weights."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from action_texts import BROKEN, HOLES, SOUND
from test_vscode import FOLDER, GIVEN, free_port, start_code_server, wait_for

pytestmark = [
    pytest.mark.weights,
    pytest.mark.skipif(not GIVEN, reason="needs MIDSPAN_CODE_SERVER, a folder made by tests/e2e/vscode/setup.sh"),
]

ACTIONS = Path(__file__).with_name("vscode") / "actions.mjs"
TIMEOUT_S = 500
PROJECT = {"holes.py": HOLES, "broken.py": BROKEN, "refill.py": SOUND}
SCENES = [
    {"file": "holes.py", "line": 14, "title": "Midspan: fill the 2 holes here"},
    {"file": "broken.py", "line": 15, "title": "Midspan: repair the syntax error"},
    {"file": "refill.py", "line": 9, "title": "Midspan: write the selection another way", "selected": True},
]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory, embedded_weights: Path) -> dict[str, dict[str, Any]]:
    """What came of each action, by file."""
    home = tmp_path_factory.mktemp("vscode-actions")
    project, pictures = home / "project", Path(os.environ.get("MIDSPAN_PICTURES", home))
    project.mkdir()
    for name, text in PROJECT.items():
        (project / name).write_text(text)
    port = free_port()
    server = start_code_server(port, project)
    try:
        wait_for(port)
        drive = [FOLDER / "node/bin/node", ACTIONS, FOLDER, str(port), project, pictures, json.dumps(SCENES)]
        done = subprocess.run(drive, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        assert done.returncode == 0, done.stderr
        print(done.stdout)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert not any("error" in line for line in lines), done.stdout
        return {line["name"]: line for line in lines}
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait()


@pytest.mark.parametrize("name", PROJECT)
def test_an_action_is_previewed_and_then_applied(seen: dict[str, dict[str, Any]], name: str) -> None:
    before, after = seen[name]["before"], seen[name]["text"]
    assert before == PROJECT[name], "a preview changes nothing"
    assert after != before
    ast.parse(after)


def test_all_holes_are_filled(seen: dict[str, dict[str, Any]]) -> None:
    assert "..." not in seen["holes.py"]["text"]


def test_three_ways_are_offered_for_a_selection(seen: dict[str, dict[str, Any]]) -> None:
    offered = [one for one in seen["refill.py"]["offered"] if "write the selection" in one]
    assert len(offered) == 3
