"""The real command with a tiny checkpoint of another family, over stdio."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from conftest import running_editor
from family_checkpoints import write_family
from lsprotocol import types as lsp

COMMAND = [sys.executable, "-m", "midspan_lsp", "serve"]


async def test_a_published_checkpoint_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIDSPAN_CACHE", str(tmp_path / "cache"))
    path = write_family("SDAR", tmp_path / "sdar", seed=5)  # these random weights say something here
    options = {
        "completion": {"eagerness": "always", "timeout_ms": 60_000},
        "model": {"path": str(path), "device": "cpu"},
    }
    async with running_editor(options, command=COMMAND, progress=True) as editor:
        uri = editor.open("a.txt", "one two\nthree\n", language_id="plaintext")
        async with asyncio.timeout(120):
            while not editor.loading_ended():
                await editor.client.wait_for_notification(lsp.PROGRESS)
        item = await editor.complete(uri, 0, 4)
    assert item is not None
    assert str(item.insert_text).strip()
