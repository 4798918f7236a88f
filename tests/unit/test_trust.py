"""What a project may decide: nothing that names a file, a program or an address, and nothing that lets more be done."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest
from midspan_lsp.config import Settings
from midspan_lsp.lsp.settings import PROJECT_KEYS, ProjectFile, Sources

LEAVES = [
    (f"{group.name}.{leaf.name}", type(getattr(getattr(Settings(), group.name), leaf.name)), leaf.metadata)
    for group in fields(Settings)
    for leaf in fields(getattr(Settings(), group.name))
]
FREE_TEXTS = [key for key, kind, limits in LEAVES if kind is str and "choices" not in limits]
"""Settings that could name anything: a path, a URL, a command, a key."""

SAFE_GROUPS = {"completion", "languages", "memory"}


def test_the_whitelist_names_settings_that_there_are() -> None:
    assert {key for key, _, _ in LEAVES} >= PROJECT_KEYS
    assert {key.partition(".")[0] for key in PROJECT_KEYS} <= SAFE_GROUPS


def test_no_free_text_is_a_project_s() -> None:
    assert "model.path" in FREE_TEXTS
    assert PROJECT_KEYS.isdisjoint(FREE_TEXTS)


@pytest.mark.parametrize("key", [key for key, _, _ in LEAVES if key not in PROJECT_KEYS] + ["backend.url", "x.command"])
def test_what_is_not_on_the_whitelist_has_no_effect(key: str) -> None:
    group, _, name = key.partition(".")
    file = ProjectFile("midspan.toml", {group: {name: "https://evil.example"}})
    settings, problems = Sources(files=(file,)).read()
    assert settings == Settings()
    assert problems[0] == f"midspan.toml: {key}: only the editor sets this"


@pytest.mark.parametrize("key", ["completion.in_comments", "completion.in_strings", "memory.enabled"])
def test_what_the_user_has_switched_off_stays_off(key: str) -> None:
    group, _, name = key.partition(".")
    for users, projects, wanted in ((False, True, False), (True, False, False), (True, True, True)):
        file = ProjectFile("midspan.toml", {group: {name: projects}})
        settings, problems = Sources({group: {name: users}}, files=(file,)).read()
        assert problems == []
        assert getattr(getattr(settings, group), name) is wanted


def test_in_vs_code_an_untrusted_workspace_decides_on_none_of_them() -> None:
    """Where settings of a workspace cannot be told from the user's own, the editor has to keep them apart."""
    path = Path(__file__).parents[2] / "editor-clients" / "vscode" / "package.json"
    manifest = json.loads(path.read_text("utf-8"))
    restricted = manifest["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]
    assert {f"midspan.{key}" for key in FREE_TEXTS} <= set(restricted)
