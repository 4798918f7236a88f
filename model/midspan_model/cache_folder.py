"""Where converted weights are kept."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def cache_folder() -> Path:
    """`MIDSPAN_CACHE` if set, else the user's cache folder for Midspan; need not exist yet."""
    chosen = os.environ.get("MIDSPAN_CACHE")
    # not `Path.expanduser`, which raises where there is no such user
    return (
        Path(os.path.expanduser(chosen)).absolute()
        if chosen
        else platformdirs.user_cache_path("midspan", appauthor=False)
    )
