"""What the document is without a middle: whole or not, and what is at fault at the place itself."""

from __future__ import annotations

import re

from midspan_lsp.syntax.parsing import TimeLimit
from midspan_lsp.syntax.rules import unfinished_before
from midspan_lsp.syntax.trees import ByteRange, Hole, faults

NAME = b"x"
_REST_OF_LINE = re.compile(rb"[^\r\n]*")


def was_whole(hole: Hole, limit: TimeLimit) -> bool:
    """True if the document had no fault, or none but the hole in the midst of it, or the line that has begun there."""
    has_error = hole.tree.root_node.has_error
    if unfinished_before(hole, limit):
        return not has_error and _is_whole_without_line(hole, limit)
    if not has_error:
        return True
    return bool(hole.tail.strip()) and not hole.fill(NAME, limit).tree.root_node.has_error


def _is_whole_without_line(hole: Hole, limit: TimeLimit) -> bool:
    """True if nothing but what has begun on the cursor's line waits for its end."""
    line_start = hole.head.rfind(b"\n") + 1
    if not hole.head[line_start:].strip() or rest_of_line(hole).strip() or not hole.tail.strip():
        return False
    line = Hole(hole.language_id, hole.source, ByteRange(line_start, hole.old.end), hole.tree)
    bare = line.fill(b"", limit)
    without = Hole(hole.language_id, bare.source, bare.middle, bare.tree)
    return not bare.tree.root_node.has_error and not unfinished_before(without, limit)


def near_faults(hole: Hole, limit: TimeLimit) -> list[ByteRange]:
    """What is at fault or waits for its end at the place itself, or with nothing but white space between."""
    low = len(hole.head.rstrip())
    high = len(hole.source) - len(hole.tail.lstrip())
    return faults(hole.tree, limit, ByteRange(low, high)) or unfinished_before(hole, limit)


def rest_of_line(hole: Hole) -> bytes:
    """What stands behind the place on its line."""
    match = _REST_OF_LINE.match(hole.source, hole.old.end)
    return match[0] if match else b""
