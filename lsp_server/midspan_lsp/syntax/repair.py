"""What to do with a middle the gate has judged. Pure: it neither parses nor asks a backend."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from midspan_lsp.types import Candidate, Span, SyntaxReport, Verdict

_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True)
class Keep:
    """Show it as it is."""


@dataclass(frozen=True)
class Truncate:
    """Show its first lines.

    Attributes:
        end: of what is kept, as an offset into the middle.
    """

    end: int


@dataclass(frozen=True)
class Remask:
    """Have some slots denoised again.

    Attributes:
        slots: indices into the candidate's `token_ids`; at least one.
    """

    slots: frozenset[int]


@dataclass(frozen=True)
class Drop:
    """Do not show it."""


Plan = Keep | Truncate | Remask | Drop


def plan(report: SyntaxReport, candidate: Candidate, valid: Callable[[str], bool], may_remask: bool) -> Plan:
    """What to do: keep all, else the most whole lines that are valid, else denoise the faults again, else nothing.

    Args:
        report: the gate's, of `candidate`.
        candidate: a middle.
        valid: whether another middle would pass in its place.
        may_remask: whether the backend can re-mask, and time is left for it.
    """
    if report.verdict is not Verdict.BROKEN:
        return Keep()
    for end in _line_ends(candidate.text):
        if valid(candidate.text[:end]):
            return Truncate(end)
    if may_remask and candidate.token_ids:
        return Remask(_faulty_slots(report.error_spans, candidate))
    return Drop()


def _line_ends(text: str) -> list[int]:
    """Where the text could be cut, longest first; neither what is kept nor what goes is blank."""
    ends = [match.start() for match in _LINE_END.finditer(text)]
    return [end for end in reversed(ends) if text[:end].strip() and text[end:].strip()]


def _faulty_slots(error_spans: tuple[Span, ...], candidate: Candidate) -> frozenset[int]:
    """The slots whose text is at fault; the last one with text if none is."""
    with_text = [(slot, span) for slot, span in enumerate(candidate.token_spans) if span.start < span.end]
    faulty = {slot for slot, span in with_text if any(_meet(span, error) for error in error_spans)}
    if faulty:
        return frozenset(faulty)
    return frozenset({with_text[-1][0] if with_text else len(candidate.token_ids) - 1})


def _meet(span: Span, error: Span) -> bool:
    """True if they overlap; an empty error meets what ends there or goes on through it, at 0 what begins there."""
    if error.start < error.end:
        return span.start < error.end and span.end > error.start
    return span.start < error.start <= span.end or span.start == error.start == 0
