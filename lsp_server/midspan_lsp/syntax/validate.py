"""The gate: does a middle add syntax faults that the document did not have?

A document that parses, or would with a mere name at the cursor, must parse with the middle. In any other the middle
is at fault if the parser, reading from the start, stumbles over one of its tokens (or over one further along the
line that it took before), if it leaves a string or bracket of its own open within a line, or if a fault appears
where none was. So code that is broken elsewhere, or half typed, does not veto.
"""

from __future__ import annotations

import re
from functools import lru_cache

from tree_sitter import Tree

from midspan_lsp.syntax.languages import text_closers
from midspan_lsp.syntax.parsing import OutOfTimeError, TimeLimit, encode
from midspan_lsp.syntax.trees import ByteRange, Hole, faults, leaves, parse_text
from midspan_lsp.types import Span, SyntaxReport, Verdict

TIME_LIMIT_S = 0.5
"""For the document, and again for each middle; beyond it there is no opinion."""
MAX_LENGTH = 500_000
"""Code points of a document; longer ones are not looked at."""

_OPENERS = {")": "(", "]": "[", "}": "{"}
_QUOTES = frozenset({'"', "'", "`", "string_start", "string_fragment", "interpreted_string_literal_content"})
_NAME = b"x"
# cannot stand together anywhere but in a string or comment
_NONSENSE = encode(")]}§")
_REST_OF_LINE = re.compile(rb"[^\r\n]*")


def validate(text_before: str, replace: Span, middle: str, language_id: str) -> SyntaxReport:
    """Judges putting `middle` in place of `replace`.

    Args:
        text_before: the document without the middle.
        replace: clamped to the document; usually empty, at the cursor.
        middle: any text.
        language_id: as an editor names it.
    """
    start = min(max(replace.start, 0), len(text_before))
    end = min(max(replace.end, start), len(text_before))
    if len(text_before) + len(middle) > MAX_LENGTH:
        return SyntaxReport(Verdict.NO_OPINION)
    tree = _tree_before(text_before, language_id)
    if tree is None:
        return SyntaxReport(Verdict.NO_OPINION)
    if middle == text_before[start:end]:
        return SyntaxReport(Verdict.VALID)
    head, old, tail = (encode(part) for part in (text_before[:start], text_before[start:end], text_before[end:]))
    new = encode(middle)
    try:
        found = _new_faults(Hole(language_id, head, old, tail, tree), new, TimeLimit(TIME_LIMIT_S))
    except OutOfTimeError:
        return SyntaxReport(Verdict.NO_OPINION)
    if not found:
        return SyntaxReport(Verdict.VALID)
    return SyntaxReport(Verdict.BROKEN, _spans_of_middle(found, len(head), new))


@lru_cache(maxsize=2)
def _tree_before(text: str, language_id: str) -> Tree | None:
    """Kept for the next middle of the same document; None too if it took too long."""
    try:
        return parse_text(language_id, text, TimeLimit(TIME_LIMIT_S))
    except OutOfTimeError:
        return None


def _new_faults(hole: Hole, new: bytes, limit: TimeLimit) -> list[ByteRange]:
    """The new faults as ranges of head, `new` and tail; none if the middle is innocent."""
    after = hole.fill(new, limit)
    if not after.root_node.has_error:
        return []
    middle = ByteRange(len(hole.head), len(hole.head) + len(new))
    found = _first_stumble(hole, new, middle, limit) or _open_bracket(after, middle, limit)
    if _was_whole(hole, limit):
        return found or [ByteRange(middle.end, middle.end)]
    found = found or _strayed_faults(hole, after, middle, limit)
    return [] if found and _is_mere_text(hole, new, limit) else found


def _was_whole(hole: Hole, limit: TimeLimit) -> bool:
    """True if the document had no fault, or none but the hole in the midst of it."""
    if not hole.tree.root_node.has_error:
        return True
    return bool(hole.tail.strip()) and not hole.fill(_NAME, limit).root_node.has_error


def _first_stumble(hole: Hole, new: bytes, middle: ByteRange, limit: TimeLimit) -> list[ByteRange]:
    """The first token that cannot stand where it does, or quote that is not closed; others may be consequences.

    It counts in the middle, and elsewhere on its line if it was no stumble before.
    """
    reading = hole.read(new + _rest_of_line(hole), limit)
    stumbles = [token for token in reading.stumbles if token.end > middle.start][:1]
    if stumbles and _was_stumble(hole, new, stumbles[0], limit):
        stumbles = []
    quotes = [
        ByteRange(node.start_byte, node.end_byte)
        for node, bare in leaves(reading.tree, middle, limit)
        if bare and node.type in _QUOTES
    ]
    return sorted(stumbles + quotes)[:1]


def _was_stumble(hole: Hole, new: bytes, token: ByteRange, limit: TimeLimit) -> bool:
    """True if the parser stumbled over this token without the middle too."""
    begin, end = len(hole.head), len(hole.head) + len(new)
    if begin <= token.start < end:
        return False
    text = (hole.head + new + hole.tail)[token.start : token.end].decode(errors="replace")
    opener = _OPENERS.get(text)
    if opener is not None and new.count(text.encode()) > new.count(opener.encode()):
        return False  # a bracket: the middle has closed its partner, whatever was wrong with it before
    was_at = token.start if token.start < begin else token.start - len(new) + len(hole.old)
    return any(old.start == was_at for old in hole.read(hole.old + _rest_of_line(hole), limit).stumbles)


def _rest_of_line(hole: Hole) -> bytes:
    match = _REST_OF_LINE.match(hole.tail)
    return match[0] if match else b""


def _open_bracket(after: Tree, middle: ByteRange, limit: TimeLimit) -> list[ByteRange]:
    """The end of the middle, if it opens a bracket that nobody closes.

    Not if that stands at the end of a line: a block or list may go on.
    """
    tokens = leaves(after, middle, limit)
    opened: list[int] = []
    for index, (node, bare) in enumerate(tokens):
        if bare and node.type in _OPENERS.values():
            opened.append(index)
        elif bare and opened and _OPENERS.get(node.type) == tokens[opened[-1]].node.type:
            opened.pop()
    if not opened or opened[-1] + 1 == len(tokens):
        return []
    last, following = (tokens[opened[-1] + n].node for n in (0, 1))
    return [ByteRange(middle.end, middle.end)] if following.start_point.row == last.end_point.row else []


def _strayed_faults(hole: Hole, after: Tree, middle: ByteRange, limit: TimeLimit) -> list[ByteRange]:
    """The faults that touch none from before; none if a fault was at the place itself, as all may follow from it."""
    low = len(hole.head.rstrip())
    old_end = len(hole.head) + len(hole.old)
    high = old_end + len(hole.tail) - len(hole.tail.lstrip())
    before = faults(hole.tree, limit)
    if any(fault.start <= high and fault.end >= low for fault in before):
        return []
    shift = middle.end - old_end
    carried = [ByteRange(*(edge if edge < low else edge + shift for edge in fault)) for fault in before]
    return [
        fault
        for fault in faults(after, limit)
        if not any(fault.start <= old.end and fault.end >= old.start for old in carried)
    ]


def _is_mere_text(hole: Hole, new: bytes, limit: TimeLimit) -> bool:
    """True if the cursor stands in an open string or comment, and the middle goes on with it without an end."""

    def stumbles(text: bytes) -> bool:
        middle_end = len(hole.head) + len(new)
        return any(token.start < middle_end for token in hole.read(text, limit).stumbles)

    return any(
        not hole.read(_NONSENSE + closer, limit).stumbles
        and hole.read(_NONSENSE + closer + _NONSENSE, limit).stumbles
        and not stumbles(new + closer)
        for closer in map(encode, text_closers(hole.language_id))
        if closer not in new and closer[::-1] in hole.head  # what opens a text mirrors what closes it
    )


def _spans_of_middle(found: list[ByteRange], begin: int, new: bytes) -> tuple[Span, ...]:
    """Ranges of the whole as code points of the middle, clamped to it."""
    n_bytes = len(new)
    edges = [[min(max(edge - begin, 0), n_bytes) for edge in byte_range] for byte_range in found]
    spans = {Span(_n_code_points(new[:start]), _n_code_points(new[:end])) for start, end in edges}
    return tuple(sorted(spans, key=lambda span: (span.start, span.end)))


def _n_code_points(encoded: bytes) -> int:
    """Counts first bytes, so also where the parser cut within a character."""
    return sum(byte & 0xC0 != 0x80 for byte in encoded)
