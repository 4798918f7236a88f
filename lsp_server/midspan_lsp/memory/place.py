"""Where what is remembered is kept."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def memory_folder() -> Path:
    """Where the stores are: below `MIDSPAN_CACHE`, or else the user's cache folder for Midspan."""
    chosen = os.environ.get("MIDSPAN_CACHE")
    # not `Path.expanduser`, which raises where there is no such user
    base = Path(os.path.expanduser(chosen)).absolute() if chosen else platformdirs.user_cache_path("midspan", False)
    return base / "memory"
