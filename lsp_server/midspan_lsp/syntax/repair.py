"""What to do with a middle that the gate has refused. Pure: it neither parses nor asks a backend.

Slots under the fault are masked again with their neighbours, more of them each round, while the rest is kept: what
stood at the fault is banned there, this round's and that of all rounds before. Re-masking what a verifier rejects:
Wang et al., ReMDM (arXiv 2503.00307); Hong et al., WINO (arXiv 2507.18578).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from midspan_lsp.types import Candidate, Draft, Span

MOST_ROUNDS = 3
"""Of masking again."""

_LINE_END = re.compile(r"\r\n|\n|\r")
_LEAST_KEPT = 0.5
_SEPARATES = re.compile(r"[\s,;)\]}]")
"""Behind what is kept: a call cut before its arguments would be another thing."""
_WORD = re.compile(r"[^\W\d_]{2}")


@dataclass(frozen=True)
class Rejected:
    """What of a middle is at fault.

    Attributes:
        slots: indices into its tokens; they have text.
        is_unfinished: that it ends where it does.
    """

    slots: frozenset[int]
    is_unfinished: bool = False


def rejected(error_spans: tuple[Span, ...], candidate: Candidate, n_round: int = 1) -> Rejected:
    """The slots whose text is at fault, the last one if none is.

    Where all faults lie at the end, the middle lacks something, if it opens more than it closes, or has something too
    many; after the first round it may be either.

    Args:
        error_spans: the gate's, of `candidate`.
        candidate: the middle; at least one token has text.
        n_round: of masking again, from 1.
    """
    with_text = _with_text(candidate)
    faulty = {slot for slot in with_text if any(_meet(candidate.token_spans[slot], error) for error in error_spans)}
    is_at_end = all(error.start >= len(candidate.text) for error in error_spans)
    is_own_end = with_text[-1] == len(candidate.token_ids) - 1
    is_open = _opens_more(candidate.text)
    is_unfinished = is_at_end and is_own_end and (is_open or n_round > 1)
    return Rejected(frozenset(() if is_unfinished and n_round == 1 else faulty or with_text[-1:]), is_unfinished)


def next_draft(
    error_spans: tuple[Span, ...], candidate: Candidate, earlier: Draft | None, n_round: int
) -> Draft | None:
    """What is to be denoised again; None if nothing of the middle can be.

    Args:
        error_spans: the gate's, of `candidate`.
        candidate: what the last round gave.
        earlier: that round's draft; None in the first.
        n_round: from 1; so much the wider.
    """
    with_text = _with_text(candidate)
    if not with_text:
        return None
    found, n_tokens = rejected(error_spans, candidate, n_round), len(candidate.token_ids)
    end = frozenset({n_tokens} if found.is_unfinished else ())
    banned = dict(earlier.banned) if earlier else {}
    for slot in found.slots:
        banned[slot] = banned.get(slot, frozenset()) | {candidate.token_ids[slot]}
    n_near = 2**n_round - 1
    near = [*with_text, n_tokens]  # the end is as near as any token
    remask = frozenset(slot for slot in near if any(abs(slot - one) <= n_near for one in found.slots | end))
    unfinished = end | earlier.unfinished if earlier else end
    return Draft(candidate.token_ids, candidate.confidences, remask, banned, unfinished)


def shorten(candidate: Candidate, valid: Callable[[str], bool]) -> str:
    """The longest valid beginning of a refused middle; "" if there is none that says enough.

    Of several lines it is whole lines. Of one line it ends where a token ends and a thing is said, and keeps at least
    half of it.

    Args:
        candidate: a middle.
        valid: whether another middle would pass in its place.
    """
    return next((text for text in _beginnings(candidate) if valid(text)), "")


def cut_to(candidate: Candidate, text: str) -> Candidate:
    """A beginning of a middle as a middle of its own, with the tokens that spell it; none where one goes beyond it.

    It is at most as likely as its tokens are without the rest, if what was not taken for the next one were the end.
    Where the confidences are not known it is as likely as the whole.

    Args:
        candidate: the whole.
        text: its beginning, as `shorten` gives it.
    """
    n_kept = sum(span.start < len(text) for span in candidate.token_spans)
    rest = candidate.confidences[n_kept:]
    probability = candidate.probability
    if rest:
        probability = probability / max(math.prod(rest), probability, 1e-9) * (1 - rest[0])
    spans = candidate.token_spans[:n_kept]
    is_spelled = bool(spans) and candidate.text[: spans[-1].end].rstrip() == text
    n_kept = n_kept if is_spelled else 0
    return replace(
        candidate,
        text=text,
        probability=probability,
        token_ids=candidate.token_ids[:n_kept],
        token_spans=spans[:n_kept],
        confidences=candidate.confidences[:n_kept],
    )


def _beginnings(candidate: Candidate) -> Iterator[str]:
    """Longest first; neither what is kept nor what goes is blank."""
    text = candidate.text
    breaks = [match.start() for match in _LINE_END.finditer(text)]
    whole_lines = [text[:end] for end in reversed(breaks) if text[:end].strip() and text[end:].strip()]
    if whole_lines:
        yield from whole_lines
        return
    ends = {len(text[: span.end].rstrip()) for span in candidate.token_spans if span.end < len(text.rstrip())}
    for end in sorted(ends, reverse=True):
        kept = text[:end]
        is_enough = len(kept.strip()) >= _LEAST_KEPT * len(text.strip()) and _WORD.search(kept)
        if is_enough and _SEPARATES.match(text, end):
            yield kept


def _with_text(candidate: Candidate) -> list[int]:
    """Slots that stand for text of the middle, in order."""
    return [slot for slot, span in enumerate(candidate.token_spans) if span.start < span.end]


def _opens_more(text: str) -> bool:
    """Whether it has a bracket or quote that it does not close; strings and comments are not known."""
    return any(text.count(opener) > text.count(closer) for opener, closer in ("()", "[]", "{}")) or any(
        text.count(quote) % 2 for quote in "\"'`"
    )


def _meet(span: Span, error: Span) -> bool:
    """True if they overlap; an empty error meets what ends there or goes on through it, at 0 what begins there."""
    if error.start < error.end:
        return span.start < error.end and span.end > error.start
    return span.start < error.start <= span.end or span.start == error.start == 0
