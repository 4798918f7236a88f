"""What was read of a workspace, kept for the next start: one SQLite file a workspace, readable by its owner only.

A row is one file, whole in itself: with the row its text is gone (SQLite overwrites what is deleted). Anything wrong
with the store costs nothing but time: it is deleted and made anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import sqlite3
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from midspan_lsp.memory.vocabulary import Ids

_logger = logging.getLogger(__name__)
_T = TypeVar("_T")
_VERSION = 1
_BUSY_S = 0.05
_LEFT_ALONE_S = 5.0  # so long nothing is saved after another server was found to write
_FAILURES = (sqlite3.Error, OSError, ValueError, zlib.error)


@dataclass(frozen=True)
class StoreSummary:
    """How much of a workspace is kept, on the disk.

    Attributes:
        workspace: absolute path of the folder.
        n_files: files.
        n_tokens: of all of them.
        n_bytes: the store's.
    """

    workspace: str
    n_files: int
    n_tokens: int
    n_bytes: int


def summaries(folder: Path) -> list[StoreSummary]:
    """What the stores hold; those that cannot be read are left out, and none is changed."""
    found: list[StoreSummary] = []
    for path in sorted(folder.glob("*.sqlite")):
        try:
            with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=_BUSY_S)) as kept:
                ((workspace,),) = kept.execute("SELECT workspace FROM about").fetchall()
                sizes = [len(zlib.decompress(row[0])) for row in kept.execute("SELECT numbers FROM files")]
                n_tokens = sum(sizes) // np.dtype(np.int32).itemsize
                found.append(StoreSummary(workspace, len(sizes), n_tokens, path.stat().st_size))
        except _FAILURES as error:
            _logger.debug("a store of the memory cannot be read: %s", error)
    return found


class Store:
    """The files of one workspace: their tokens, valid by size and time.

    Args:
        folder: where the stores are.
        workspace: absolute path of the workspace folder.
    """

    def __init__(self, folder: Path, workspace: str) -> None:
        self._workspace = workspace
        name = hashlib.sha256(os.fsencode(workspace)).hexdigest()[:32]
        self.path = folder / f"{name}.sqlite"
        self._connection: sqlite3.Connection | None = None
        self._busy_until_s = 0.0
        try:
            self._connection = self._open()
        except _FAILURES as error:
            self._start_afresh(error)

    def load(self, path: str, size: int, mtime_ns: int) -> tuple[list[str], Ids] | None:
        """A file's distinct tokens and, for each of its tokens, the number of one; None if it is not up to date."""
        row = self._try(
            lambda connection: connection.execute(
                "SELECT strings, numbers FROM files WHERE path = ? AND size = ? AND mtime_ns = ?",
                (path, size, mtime_ns),
            ).fetchone()
        )
        if row is None:
            return None
        try:
            strings = zlib.decompress(row[0]).decode("utf-8").split("\0")
            numbers = np.frombuffer(zlib.decompress(row[1]), np.int32)
            if len(numbers) and not 0 <= numbers.min() <= numbers.max() < len(strings):
                raise ValueError("a token that is not there")
        except _FAILURES as error:
            self._start_afresh(error)
            return None
        return strings, numbers

    def save(self, path: str, size: int, mtime_ns: int, strings: list[str], numbers: Ids) -> None:
        """Keep a file's tokens; shapes as `load` returns them."""
        row = (path, size, mtime_ns, zlib.compress("\0".join(strings).encode(), 1), zlib.compress(numbers.tobytes(), 1))
        if time.monotonic() < self._busy_until_s:
            return

        def insert(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)", row)
            connection.commit()  # so that another server of the same folder need not wait

        self._try(insert)

    def delete(self, path: str) -> None:
        """Forget a file, or all files of a folder."""
        folder = path.rstrip(os.sep)
        # by the order of paths, so that not every row is looked at
        first, behind = folder + os.sep, folder + chr(ord(os.sep) + 1)
        self._try(
            lambda connection: connection.execute(
                "DELETE FROM files WHERE path = ? OR (path > ? AND path < ?)", (path, first, behind)
            )
        )

    def paths(self) -> list[str]:
        """The files it has."""
        rows = self._try(lambda connection: connection.execute("SELECT path FROM files").fetchall())
        return [row[0] for row in rows or []]

    def flush(self) -> None:
        """Write what was changed."""
        self._try(lambda connection: connection.commit())

    def close(self) -> None:
        """Write what was changed and let go of the file."""
        self.flush()
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
        self._connection = None

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        self.path.chmod(0o600)
        connection = sqlite3.connect(self.path, timeout=_BUSY_S, check_same_thread=False)
        try:
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("CREATE TABLE IF NOT EXISTS about (version INTEGER, workspace TEXT)")
            about = connection.execute("SELECT version, workspace FROM about").fetchall()
            if not about:
                connection.execute("INSERT INTO about VALUES (?, ?)", (_VERSION, self._workspace))
                connection.execute(
                    "CREATE TABLE files "
                    "(path TEXT PRIMARY KEY, size INTEGER, mtime_ns INTEGER, strings BLOB, numbers BLOB)"
                )
                connection.commit()
            elif about != [(_VERSION, self._workspace)]:
                raise ValueError("of another version or workspace")
            connection.execute("SELECT path, size, mtime_ns, strings, numbers FROM files LIMIT 1").fetchall()
        except BaseException:
            connection.close()
            raise
        return connection

    def _start_afresh(self, error: BaseException) -> None:
        """Delete the file and make a new one; without one, nothing is kept."""
        _logger.debug("the memory's store is made anew: %s", error)
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
        self._connection = None
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            return  # another server has it
        try:
            self.path.unlink(missing_ok=True)
            Path(f"{self.path}-journal").unlink(missing_ok=True)
            self._connection = self._open()
        except _FAILURES as again:
            _logger.debug("the memory is not kept: %s", again)

    def _try(self, work: Callable[[sqlite3.Connection], _T]) -> _T | None:
        if self._connection is None:
            return None
        try:
            return work(self._connection)
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                self._busy_until_s = time.monotonic() + _LEFT_ALONE_S
                return None
            self._start_afresh(error)
        except _FAILURES as error:
            self._start_afresh(error)
        return None
