"""What many tests need: a tiny random checkpoint of the real classes, and the real weights where asked for."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def tiny_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint folder of the real classes: 2 layers, a tokenizer of single bytes, seeded weights."""
    from tiny_model import write_tiny_checkpoint

    return write_tiny_checkpoint(tmp_path_factory.mktemp("tiny-checkpoint"))


@pytest.fixture(scope="session")
def embedded_weights() -> Path:
    """Folder of the embedded model's trunk, fetched into the cache if need be (marker `weights`)."""
    from midspan_model.embedded import fetch_trunk

    return fetch_trunk(lambda _what, _done, _total: None)
