"""How the project's memory did, as counts by workspace folder: no text, no file's name, and never sent anywhere."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from midspan_lsp.memory.usage_file import change, rows

_MOST_FOLDERS = 100


@dataclass(frozen=True)
class Usage:
    """Counts of one workspace folder.

    Attributes:
        n_requests: middles asked of the memory, for documents in the folder.
        n_proposed: those it had a proposal for, in time.
        n_shown: middles that an editor was given.
        n_from_project: those of them that came from the project.
    """

    n_requests: int = 0
    n_proposed: int = 0
    n_shown: int = 0
    n_from_project: int = 0


def add_usage(stores: Path, counts: Mapping[str, Usage]) -> bool:
    """Add counts by folder to those kept; those of folders not used for long make room. Whether they are kept."""

    def add(kept: sqlite3.Connection) -> None:
        for folder, usage in counts.items():
            real = os.path.realpath(folder)
            kept.execute("INSERT OR IGNORE INTO folders VALUES (?, 0)", (real,))
            kept.execute("UPDATE folders SET used_s = ? WHERE path = ?", (int(time.time()), real))
            kept.executemany(
                "INSERT INTO counts VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
                [(real, name, n) for name, n in vars(usage).items()],
            )
        kept.execute(
            "DELETE FROM folders WHERE path NOT IN (SELECT path FROM folders ORDER BY used_s DESC LIMIT ?)",
            (_MOST_FOLDERS,),
        )

    return change(stores, add)


def read_usage(stores: Path) -> dict[str, Usage]:
    """Counts by folder; none where nothing was kept or it cannot be read."""
    by_folder: dict[str, dict[str, int]] = {}
    for path, name, n in rows(stores, "SELECT path, name, n FROM counts"):
        if name in Usage.__dataclass_fields__:  # another version may count more
            by_folder.setdefault(path, {})[name] = n
    return {path: Usage(**counts) for path, counts in by_folder.items()}
