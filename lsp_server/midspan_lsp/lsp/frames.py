"""Messages in a stream of bytes: LSP 3.18, "Base Protocol". pygls' own reading takes one way of writing a header."""

from __future__ import annotations

import re
from typing import BinaryIO

MAX_HEADER_BYTES = 1 << 16
MAX_BODY_BYTES = 1 << 28

# also behind what is left of a message longer than its header said
_LENGTH = re.compile(rb"(?:^|[^\w-])content-length[ \t]*:[ \t]*(\d{1,10})\s*\Z", re.IGNORECASE)


def read_frame(reader: BinaryIO) -> bytes | None:
    """The body of the next message; None at the stream's end.

    Fields may stand in any order and have names in any case. A header without a length that can be used is skipped.

    Raises:
        OSError: the stream is broken.
    """
    while True:
        length, line = _read_header(reader)
        if not line:
            return None
        if length is not None and length <= MAX_BODY_BYTES:
            body = reader.read(length)
            return body if len(body) == length else None


def _read_header(reader: BinaryIO) -> tuple[int | None, bytes]:
    """The length it tells, and the line that ends it: empty at the stream's end."""
    length = None
    while (line := reader.readline(MAX_HEADER_BYTES)).strip():
        if match := _LENGTH.search(line):
            length = int(match[1])
    return length, line
