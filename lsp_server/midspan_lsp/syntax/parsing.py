"""From bytes to a tree within a time limit: the ways of py-tree-sitter that callers need not know.

Before its version 0.26.1 a progress callback crashes the process.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable

from tree_sitter import Parser, Point, Tree

_CHUNK_BYTES = 4096
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class OutOfTimeError(Exception):
    """The limit is over."""


class StoppedError(Exception):
    """The parse was ended, as it had told enough."""


class TimeLimit:
    """Ends after `limit_s` seconds from now."""

    def __init__(self, limit_s: float) -> None:
        self._end_s = time.monotonic() + limit_s

    def over(self) -> bool:
        """True once the time is up."""
        return time.monotonic() >= self._end_s

    def check(self) -> None:
        """Raises OutOfTimeError once the time is up."""
        if self.over():
            raise OutOfTimeError


def encode(text: str) -> bytes:
    """UTF-8. Lone surrogates become U+FFFD: the parser must not see bytes that are no UTF-8."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _LONE_SURROGATE.sub("\ufffd", text).encode()


class _Window(threading.local):
    """The part of a source that the parser sees, one for each thread.

    py-tree-sitter 0.26.1 never lets go of what a read callback returns, so it must always be the same object.
    """

    def __init__(self) -> None:
        self.shown = bytearray()

    def show(self, source: bytes, begin: int, end: int) -> bytearray:
        """Shows a range, and the rest of its last character: one cut in two would crash the parser at its end."""
        while end < len(source) and source[end] & 0xC0 == 0x80:
            end += 1
        self.shown[:] = source[begin:end]
        return self.shown


_window = _Window()


def parse(
    parser: Parser,
    source: bytes,
    limit: TimeLimit,
    old_tree: Tree | None = None,
    on_reach: tuple[int, Callable[[Point], None]] | None = None,
    enough: Callable[[], bool] = lambda: False,
) -> Tree:
    """Parses.

    Args:
        parser: used for nothing else.
        source: valid UTF-8, as `encode` gives it.
        limit: when to give up.
        old_tree: of an earlier source, already told what has changed since.
        on_reach: told the place whenever the parser reads from a byte offset on.
        enough: asked now and then; ends the parse once it is true.

    Raises:
        OutOfTimeError: the limit is over.
        StoppedError: it was enough.
    """
    reach, tell = on_reach or (0, None)

    def read(byte_offset: int, place: Point) -> bytearray:
        if limit.over() or enough():  # within one long token nothing but this asks
            return _window.show(source, 0, 0)
        if byte_offset < reach:
            return _window.show(source, byte_offset, min(byte_offset + _CHUNK_BYTES, reach))
        if tell is not None:
            tell(place)
        return _window.show(source, byte_offset, byte_offset + _CHUNK_BYTES)

    def stop_parse(_byte_offset: int, _has_error: bool) -> bool:
        return limit.over() or enough()

    try:
        if old_tree is None:
            tree = parser.parse(read, progress_callback=stop_parse)
        else:
            tree = parser.parse(read, old_tree, progress_callback=stop_parse)
    except ValueError as error:  # "Parsing failed": stopped
        raise StoppedError if enough() else OutOfTimeError from error
    if enough():
        raise StoppedError
    limit.check()
    return tree
