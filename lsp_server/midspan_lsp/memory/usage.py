"""How the project's memory did, as counts by workspace folder: no text, no file's name, and never sent anywhere."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_logger = logging.getLogger(__name__)
_MOST_FOLDERS = 100
_BUSY_S = 0.2
_FAILURES = (sqlite3.Error, OSError)
_TABLES = """
CREATE TABLE IF NOT EXISTS folders (path TEXT PRIMARY KEY, used_s INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS counts (
    path TEXT NOT NULL REFERENCES folders ON DELETE CASCADE, name TEXT NOT NULL, n INTEGER NOT NULL,
    PRIMARY KEY (path, name)
);
"""


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


def add_usage(stores: Path, counts: Mapping[str, Usage]) -> None:
    """Add counts by folder to those kept; those of folders not used for long make room. Failures are only logged."""
    try:
        _add(stores, counts)
    except sqlite3.OperationalError as error:  # such as another server's writing
        _logger.debug("usage is not kept: %s", error)
    except sqlite3.DatabaseError as error:
        _logger.debug("usage is kept anew: %s", error)
        with contextlib.suppress(*_FAILURES):
            _file(stores).unlink()
            _add(stores, counts)
    except OSError as error:
        _logger.debug("usage is not kept: %s", error)


def read_usage(stores: Path) -> dict[str, Usage]:
    """Counts by folder; none where nothing was kept or it cannot be read."""
    if not _file(stores).is_file():
        return {}
    try:
        with contextlib.closing(_open(stores)) as kept:
            rows = kept.execute("SELECT path, name, n FROM counts").fetchall()
    except _FAILURES as error:
        _logger.debug("usage cannot be read: %s", error)
        return {}
    by_folder: dict[str, dict[str, int]] = {}
    for path, name, n in rows:
        if name in Usage.__dataclass_fields__:  # another version may count more
            by_folder.setdefault(path, {})[name] = n
    return {path: Usage(**counts) for path, counts in by_folder.items()}


def _add(stores: Path, counts: Mapping[str, Usage]) -> None:
    with contextlib.closing(_open(stores)) as kept, kept:
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


def _file(stores: Path) -> Path:
    return stores / "usage.db"


def _open(stores: Path) -> sqlite3.Connection:
    stores.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(_file(stores), os.O_CREAT | os.O_RDWR, 0o600))
    connection = sqlite3.connect(_file(stores), timeout=_BUSY_S)
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.executescript(_TABLES)
    except BaseException:
        connection.close()
        raise
    return connection
