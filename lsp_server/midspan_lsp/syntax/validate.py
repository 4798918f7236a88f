"""The gate: does a middle add syntax faults that the document did not have?

A document that parses, or would with a mere name at the cursor, must parse with the middle, and keep its language's
rules. In any other the middle is at fault if the parser, reading from the start, stumbles over one of its tokens (or
over one further along the line that it took before), if it leaves a string or bracket of its own open within a line,
or if a fault appears where none was. So code that is broken elsewhere, or half typed, does not veto.
"""

from __future__ import annotations

from functools import lru_cache

from tree_sitter import Tree

from midspan_lsp.syntax.kept import Document, KeptTrees
from midspan_lsp.syntax.languages import text_closers
from midspan_lsp.syntax.parsing import OutOfTimeError, TimeLimit, encode
from midspan_lsp.syntax.rules import new_rule_faults
from midspan_lsp.syntax.stumbles import read, stumbles
from midspan_lsp.syntax.surroundings import hole_in
from midspan_lsp.syntax.texts import moved_texts, stray_closers, swallowed
from midspan_lsp.syntax.trees import ByteRange, Filled, Hole, faults, leaves, spans_of
from midspan_lsp.syntax.unfilled import NAME, near_faults, rest_of_line, was_whole
from midspan_lsp.types import Span, SyntaxReport, Verdict

DOCUMENT_TIME_LIMIT_S = 1.5
"""For a document that is new to the gate."""
TIME_LIMIT_S = 0.5
"""For a middle; beyond the limits there is no opinion."""
MAX_LENGTH = 2_000_000
"""Code points of a document; longer ones are not looked at."""

_OPENERS = {")": "(", "]": "[", "}": "{"}
_QUOTES = frozenset({'"', "'", "`", "string_start", "string_fragment", "interpreted_string_literal_content"})
# cannot stand together anywhere but in a string or comment
_NONSENSE = encode(")]}§")


_documents = KeptTrees(most_documents=8, most_bytes=4_000_000)


def validate(text_before: str, replace: Span, middle: str, language_id: str, uri: str = "") -> SyntaxReport:
    """Judges putting `middle` in place of `replace`.

    Args:
        text_before: the document without the middle.
        replace: clamped to the document; usually empty, at the cursor.
        middle: any text.
        language_id: as an editor names it.
        uri: whose tree is kept for the next time.
    """
    start = min(max(replace.start, 0), len(text_before))
    end = min(max(replace.end, start), len(text_before))
    if len(text_before) + len(middle) > MAX_LENGTH:
        return SyntaxReport(Verdict.NO_OPINION)
    new = encode(middle)
    try:
        hole = hole_at(text_before, Span(start, end), language_id, uri)
        if hole is None:
            return SyntaxReport(Verdict.NO_OPINION)
        found = [] if middle == text_before[start:end] else _new_faults(hole, new, TimeLimit(TIME_LIMIT_S))
    except OutOfTimeError:
        return SyntaxReport(Verdict.NO_OPINION)
    if not found:
        return SyntaxReport(Verdict.VALID)
    return SyntaxReport(Verdict.BROKEN, spans_of(found, hole.old.start, new))


def hole_at(text: str, place: Span, language_id: str, uri: str = "") -> Hole | None:
    """A place of a document, in the part of it that a middle there is judged in; None where that is not known.

    Raises:
        OutOfTimeError: it takes too long.
    """
    document = _documents.document(uri, language_id, text, TimeLimit(DOCUMENT_TIME_LIMIT_S))
    if document is None or document.base is None:
        return None
    begin = len(encode(text[: place.start]))
    return _hole(document, ByteRange(begin, begin + len(encode(text[place.start : place.end]))))


def parsed(text: str, language_id: str, uri: str = "") -> tuple[Tree, bytes] | None:
    """A document's tree and its source; None if there is no grammar for it, or parsing takes too long."""
    if len(text) > MAX_LENGTH:
        return None
    document = _documents.document(uri, language_id, text, TimeLimit(DOCUMENT_TIME_LIMIT_S))
    tree = document.parse(TimeLimit(DOCUMENT_TIME_LIMIT_S)) if document is not None else None
    return None if document is None or tree is None else (tree, document.source)


def forget(uri: str) -> None:
    """A document was closed."""
    _documents.forget(uri)


@lru_cache(maxsize=2)
def _hole(document: Document, place: ByteRange) -> Hole | None:
    """Kept for the next middle of the same place."""
    return hole_in(document, place, TimeLimit(TIME_LIMIT_S))


def _new_faults(hole: Hole, new: bytes, limit: TimeLimit) -> list[ByteRange]:
    """The new faults as ranges of the whole; none if the middle is innocent."""
    after = hole.fill(new, limit)
    by_rule = new_rule_faults(hole, after, limit)
    wrong = stray_closers(hole.language_id, after) or by_rule.wrong
    if wrong:
        return wrong
    moved = _moved_texts(hole, after, limit)
    if not after.tree.root_node.has_error:
        unfinished = moved or by_rule.unfinished
        return unfinished if unfinished and was_whole(hole, limit) else []
    whole = was_whole(hole, limit)
    near = near_faults(hole, limit)
    if not (whole or near):
        taken = swallowed(hole.language_id, hole.unfilled, after)
        if taken:
            return taken
    strayed = _strayed_faults(hole, after, limit)
    if not (whole or near or strayed):
        return _own_closer(hole, new, after.middle, limit)  # what is broken is broken elsewhere, as before
    found = _first_stumble(hole, new, after.middle, limit) or _open_bracket(after.tree, after.middle, limit)
    if whole:
        is_own = any(fault.start < after.middle.end for fault in found)
        return found if is_own else moved or found or [ByteRange(after.middle.end, after.middle.end)]
    found = found or ([] if near else strayed)  # all may follow from a fault at the place itself
    return [] if found and _is_mere_text(hole, new, limit) else found


def _moved_texts(hole: Hole, after: Filled, limit: TimeLimit) -> list[ByteRange]:
    """Where comments and strings begin or end now that held other parts of the document before."""
    found = moved_texts(hole.language_id, hole.unfilled, after)
    if found and hole.tree.root_node.has_error:  # with a name there, strings may be others
        return moved_texts(hole.language_id, hole.fill(NAME, limit), after)
    return found


def _strayed_faults(hole: Hole, after: Filled, limit: TimeLimit) -> list[ByteRange]:
    """The faults that touch none from before."""
    shift = after.middle.end - hole.old.end
    part = ByteRange(after.changed.start, max(after.changed.end - shift, hole.old.end))
    carried = [hole.carried(fault, after.middle) for fault in faults(hole.tree, limit, part)]
    return [
        fault
        for fault in faults(after.tree, limit, after.changed)
        if not any(fault.start <= old.end and fault.end >= old.start for old in carried)
    ]


def _first_stumble(hole: Hole, new: bytes, middle: ByteRange, limit: TimeLimit) -> list[ByteRange]:
    """The first token that cannot stand where it does, or quote that is not closed; others may be consequences.

    It counts in the middle, and elsewhere on its line if it was no stumble before.
    """
    line = new + rest_of_line(hole)
    found = [token for token in stumbles(hole, line, limit, middle.start) if token.end > middle.start][:1]
    if found and _was_stumble(hole, new, found[0], limit):
        found = []
    quotes = [
        ByteRange(node.start_byte, node.end_byte)
        for node, bare in leaves(read(hole, line, limit), middle, limit)
        if bare and node.type in _QUOTES
    ]
    return sorted(found + quotes)[:1]


def _own_closer(hole: Hole, new: bytes, middle: ByteRange, limit: TimeLimit) -> list[ByteRange]:
    """The middle's first stumble, if it closes a bracket that nobody has opened and all before is sound."""
    found = [] if faults(hole.tree, limit, ByteRange(0, middle.start)) else _first_stumble(hole, new, middle, limit)
    source = hole.head + new
    closers = [token for token in found if source[token.start : token.end].decode(errors="replace") in _OPENERS]
    return [] if closers and _is_mere_text(hole, new, limit) else closers


def _was_stumble(hole: Hole, new: bytes, token: ByteRange, limit: TimeLimit) -> bool:
    """True if the parser stumbled over this token without the middle too."""
    begin, end = hole.old.start, hole.old.start + len(new)
    if begin <= token.start < end:
        return False
    text = (hole.head + new + hole.tail)[token.start : token.end].decode(errors="replace")
    opener = _OPENERS.get(text)
    if opener is not None and new.count(text.encode()) > new.count(opener.encode()):
        return False  # a bracket: the middle has closed its partner, whatever was wrong with it before
    was_at = token.start if token.start < begin else token.start - end + hole.old.end
    old = hole.source[begin : hole.old.end] + rest_of_line(hole)
    return any(other.start == was_at for other in stumbles(hole, old, limit, was_at))


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


def _is_mere_text(hole: Hole, new: bytes, limit: TimeLimit) -> bool:
    """True if the cursor stands in an open string or comment, and the middle goes on with it without an end."""
    middle_end = hole.old.start + len(new)

    def taken(text: bytes) -> bool:
        return all(token.start >= middle_end for token in stumbles(hole, text, limit))

    return any(
        not stumbles(hole, _NONSENSE + closer, limit)
        and stumbles(hole, _NONSENSE + closer + _NONSENSE, limit)
        and taken(new + closer)
        for closer in map(encode, text_closers(hole.language_id))
        if closer not in new and closer[::-1] in hole.head  # what opens a text mirrors what closes it
    )
