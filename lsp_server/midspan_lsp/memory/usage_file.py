"""The SQLite file of what `midspan stats` tells: counts only, and several servers may write to it."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

_logger = logging.getLogger(__name__)
_BUSY_S = 0.4
_FAILURES = (sqlite3.Error, OSError)
_TABLES = """
CREATE TABLE IF NOT EXISTS folders (path TEXT PRIMARY KEY, used_s INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS counts (
    path TEXT NOT NULL REFERENCES folders ON DELETE CASCADE, name TEXT NOT NULL, n INTEGER NOT NULL,
    PRIMARY KEY (path, name)
);
CREATE TABLE IF NOT EXISTS languages (
    language TEXT NOT NULL, name TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (language, name)
);
"""


def change(stores: Path, work: Callable[[sqlite3.Connection], None]) -> bool:
    """Have `work` write, all of it or nothing; whether it is kept. Failures are only logged.

    A file that is none of ours is made anew.
    """
    try:
        _change(stores, work)
    except sqlite3.OperationalError as error:  # such as a full disk, or another server that does not finish
        _logger.debug("usage is not kept: %s", error)
    except sqlite3.DatabaseError as error:
        _logger.debug("usage is kept anew: %s", error)
        with contextlib.suppress(*_FAILURES):
            _file(stores).unlink()
            _change(stores, work)
            return True
    except OSError as error:
        _logger.debug("usage is not kept: %s", error)
    else:
        return True
    return False


def rows(stores: Path, query: str) -> list[Any]:
    """What is kept; nothing where there is no file or it cannot be read. Leaves the file as it is."""
    if not _file(stores).is_file():
        return []
    try:
        address = f"{_file(stores).absolute().as_uri()}?mode=ro"
        with contextlib.closing(sqlite3.connect(address, uri=True, timeout=_BUSY_S)) as kept:
            return kept.execute(query).fetchall()
    except _FAILURES as error:  # a table may be missing too: an older version wrote it
        _logger.debug("usage cannot be read: %s", error)
        return []


def _change(stores: Path, work: Callable[[sqlite3.Connection], None]) -> None:
    with contextlib.closing(_open(stores)) as kept, kept:
        work(kept)


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
