"""The extension's settings are the server's."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

import pytest
from midspan_lsp.config import Settings, read_settings

MANIFEST = json.loads((Path(__file__).parents[2] / "editor-clients" / "vscode" / "package.json").read_text("utf-8"))
PROPERTIES: dict[str, dict[str, Any]] = MANIFEST["contributes"]["configuration"]["properties"]
OF_THE_EDITOR = {"midspan.enable", "midspan.server.path"}
TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", tuple: "array"}


def leaves() -> Iterator[tuple[str, Field[Any], Any]]:
    """Key, field and default of each of the server's settings."""
    for group in fields(Settings):
        values = getattr(Settings(), group.name)
        for leaf in fields(values):
            yield f"{group.name}.{leaf.name}", leaf, getattr(values, leaf.name)


def test_there_are_the_same_settings() -> None:
    assert set(PROPERTIES) - OF_THE_EDITOR == {f"midspan.{key}" for key, _, _ in leaves()}


@pytest.mark.parametrize(("key", "leaf", "default"), list(leaves()), ids=[key for key, _, _ in leaves()])
def test_a_setting_is_the_servers(key: str, leaf: Field[Any], default: Any) -> None:
    shown = PROPERTIES[f"midspan.{key}"]
    assert shown["type"] == TYPES[type(default)]
    assert shown["default"] == (list(default) if isinstance(default, tuple) else default)
    assert (shown.get("minimum"), shown.get("maximum")) == leaf.metadata.get("bounds", (None, None))
    assert tuple(shown.get("enum", ())) == leaf.metadata.get("choices", ())


def test_the_server_takes_the_defaults_as_the_editor_gives_them() -> None:
    given = {key.removeprefix("midspan."): PROPERTIES[key]["default"] for key in set(PROPERTIES) - OF_THE_EDITOR}
    assert read_settings(given) == (Settings(), [])


def test_no_workspace_chooses_where_middles_come_from() -> None:
    """VS Code takes settings of this scope from the user alone."""
    own = [shown for key, shown in PROPERTIES.items() if key.startswith("midspan.backend.")]
    assert own
    assert all(shown["scope"] == "machine" for shown in own)


def test_every_group_is_sent() -> None:
    """The extension names the groups of settings that it sends."""
    source = (Path(__file__).parents[2] / "editor-clients" / "vscode" / "src" / "settings.ts").read_text("utf-8")
    line = next(line for line in source.splitlines() if line.startswith("const SERVER_GROUPS"))
    assert {group.name for group in fields(Settings)} == set(json.loads(line.partition(" = ")[2].partition(" as ")[0]))


def test_neovim_serves_the_same_languages() -> None:
    config = (Path(__file__).parents[2] / "editor-clients" / "neovim" / "lsp" / "midspan.lua").read_text("utf-8")
    filetypes = re.findall(r'"(\w+)"', config.partition("filetypes = {")[2].partition("}")[0])
    assert {f"onLanguage:{one}" for one in filetypes} == set(MANIFEST["activationEvents"])


def test_each_command_of_the_extension_is_offered() -> None:
    source = (Path(__file__).parents[2] / "editor-clients" / "vscode" / "src" / "extension.ts").read_text("utf-8")
    block = source.partition("const commands: Record<string, () => unknown> = {\n")[2].partition("\n  };")[0]
    registered = re.findall(r"^    (\w+)[:,]", block, re.MULTILINE)
    assert {one["command"] for one in MANIFEST["contributes"]["commands"]} == {f"midspan.{one}" for one in registered}
