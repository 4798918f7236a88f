"""Where a document is broken: its faults, and the lines that may be to blame for one."""

from __future__ import annotations

import re

from midspan_lsp.syntax.parsing import OutOfTimeError, TimeLimit, encode
from midspan_lsp.syntax.stumbles import stumbles
from midspan_lsp.syntax.trees import ByteRange, Hole, faults
from midspan_lsp.syntax.validate import TIME_LIMIT_S, parsed
from midspan_lsp.types import Span

MOST_LINES = 4
"""Of a stretch that is written anew."""


def document_faults(text: str, language_id: str, uri: str = "") -> tuple[Span, ...] | None:
    """The document's own faults as code points, in order; None where nothing is known of it.

    Args:
        text: the document.
        language_id: as an editor names it.
        uri: whose tree is kept for the next time.
    """
    found = parsed(text, language_id, uri)
    if found is None:
        return None
    tree, source = found
    try:
        outermost = list[ByteRange]()
        for fault in faults(tree, TimeLimit(TIME_LIMIT_S)):
            if not outermost or fault.start >= outermost[-1].end or fault.start == fault.end:
                outermost.append(fault)
    except OutOfTimeError:
        return None
    return tuple(_span(fault, source) for fault in dict.fromkeys(outermost))


def suspects(text: str, language_id: str, fault: Span, uri: str = "") -> tuple[Span, ...]:
    """Stretches of whole lines that may be to blame, the likeliest first, without the white space around them.

    An ERROR may begin long before what is wrong, and what is missing is missed late. So it is looked where the parser,
    reading from the start, stumbles: there, on the line before, on both, and where the ERROR begins.

    Args:
        text: the document.
        language_id: as an editor names it.
        fault: one of `document_faults`.
        uri: whose tree is kept.
    """
    found = parsed(text, language_id, uri)
    if found is None:
        return ()
    tree, source = found
    start = len(encode(text[: fault.start]))
    hole = Hole(language_id, source, ByteRange(start, start), tree)
    try:
        tokens = stumbles(hole, source[start:], TimeLimit(TIME_LIMIT_S), start)
    except OutOfTimeError:
        tokens = []
    begin = len(source[: tokens[0].start].decode(errors="ignore")) if tokens else fault.end
    lines = [match.span() for match in re.finditer(r"[^\r\n]+", text) if match[0].strip()]
    numbers = [n for n, (line_start, _) in enumerate(lines) if line_start <= begin]
    first_of_error = [n for n, (_, line_end) in enumerate(lines) if line_end >= fault.start]
    if not numbers or not first_of_error:
        return ()
    at, error = numbers[-1], first_of_error[0]
    tried = [(at, at), (at - 1, at - 1), (error, error), (at - 1, at), (error, at)]
    spans = [(lines[a][0], lines[b][1]) for a, b in tried if 0 <= a <= b < a + MOST_LINES]
    return tuple(dict.fromkeys(_trimmed(text, *span) for span in spans))


def _trimmed(text: str, start: int, end: int) -> Span:
    part = text[start:end]
    return Span(start + len(part) - len(part.lstrip()), start + len(part.rstrip()))


def _span(fault: ByteRange, source: bytes) -> Span:
    start, end = (len(source[:edge].decode(errors="ignore")) for edge in fault)
    return Span(start, end)
