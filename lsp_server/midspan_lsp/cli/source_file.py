"""Reads a file and a place in it from the command line, and says clearly what is wrong with either."""

from __future__ import annotations

import re
import stat
from pathlib import Path

from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.errors import DocumentError
from midspan_lsp.syntax.languages import language_id_of

MAX_BYTES = 64_000_000
_PLACE = re.compile(r"(?P<path>.+):(?P<line>[0-9]{1,9}):(?P<column>[0-9]{1,9})", re.DOTALL)


def read_place(place: str) -> tuple[DocumentSnapshot, int]:
    """The document and the offset that FILE:LINE:COL names; both count from 1, columns in code points.

    Raises:
        DocumentError: the file cannot be completed, or has no such place.
    """
    match = _PLACE.fullmatch(place)
    if match is None:
        raise DocumentError(f"{place}: not a place in a file", hint="Give FILE:LINE:COL, such as app.py:12:8.")
    path, line, column = Path(match["path"]), int(match["line"]), int(match["column"])
    snapshot = read_document(path)
    lines = snapshot.lines
    if not 1 <= line <= lines.n_lines:
        raise DocumentError(f"{path} has {lines.n_lines} lines; there is no line {line}")
    start, end = lines.line_span(line - 1)
    if not 1 <= column <= end - start + 1:
        raise DocumentError(f"line {line} of {path} has columns 1 to {end - start + 1}; there is no column {column}")
    return snapshot, start + column - 1


def read_document(path: str | Path) -> DocumentSnapshot:
    """A file as an editor would open it.

    Raises:
        DocumentError: it cannot be read, or is no text in UTF-8.
    """
    path = Path(path)
    text = read_source(path)
    language_id = language_id_of(str(path), text.split("\n", 1)[0])
    return DocumentSnapshot(path.absolute().as_uri(), language_id, None, text)


def workspace_of(snapshot: DocumentSnapshot, given: str | None = None) -> Path | None:
    """The folder of a document's project: the one given, or else the nearest above with a `.git`; None: there is none.

    Raises:
        DocumentError: what is given is no folder.
    """
    if given is not None:
        if not Path(given).is_dir():
            raise DocumentError(f"{given} is no folder", hint="Give the project's folder.")
        return Path(given).resolve()
    path = Path(snapshot.path or "").resolve()
    return next((folder for folder in path.parents if (folder / ".git").exists()), None)


def read_source(path: Path) -> str:
    """The text of a source file, its line ends as they are.

    Raises:
        DocumentError: it cannot be read, or is no text in UTF-8.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) and not path.is_dir():
            raise DocumentError(f"{path} is no regular file")
        if status.st_size > MAX_BYTES:
            raise DocumentError(f"{path} has {status.st_size} bytes; Midspan reads at most {MAX_BYTES}")
        content = path.read_bytes()
    except OSError as error:
        raise DocumentError(f"{path}: {error.strerror or error}") from error
    if b"\0" in content:
        raise DocumentError(f"{path} is a binary file")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentError(f"{path} is not UTF-8: byte {error.start} cannot be decoded") from error
