"""Mending the lines that carry a syntax error.

What stands there is read as a draft that the gate refuses, so that it is masked again under its fault, as a middle of
the model's own would be, and all else of it stays. Beside it the model reads the same with an end that it may lack.
"""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace

from midspan_lsp.config import Settings
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine.filling import Filler
from midspan_lsp.engine.gaps import Gap, Rewrite, request_for, stretch
from midspan_lsp.engine.judging import Judge, Judged
from midspan_lsp.engine.mending import Mender
from midspan_lsp.engine.outcome import Mended
from midspan_lsp.syntax.broken_lines import document_faults, suspects
from midspan_lsp.types import CancellationToken, InfillRequest, InfillResponse, Proposal, Span, Verdict

MOST_FAULTS = 4
"""Mended in one go."""
_LEAST_LIKE = 0.5
_SURE = 0.99
_ENDS = (")", "]", "}", ":", ";", ",", '"', "'", "):", " {", ") {", ");", "))")
_MOST_ENDS = 2
"""What is read beside what stands there costs time; the model reads four middles."""


@dataclass(frozen=True)
class Repair:
    """One way to mend a fault.

    Attributes:
        gap: the lines.
        middle: what is to stand there.
        text: the whole document with it.
        n_changed: how many characters of it and of what stood there are not in both.
        probability: of the middle.
    """

    gap: Gap
    middle: str
    text: str
    n_changed: int
    probability: float


async def repair(
    filler: Filler, settings: Settings, snapshot: DocumentSnapshot, lines: Span | None, token: CancellationToken
) -> Rewrite | None:
    """The document with its syntax errors mended, as many as can be; None if there are none, or none can.

    Args:
        filler: asks the backend.
        settings: of the context.
        snapshot: the document.
        lines: only faults that touch these; None: all.
        token: of the request.

    Raises:
        InfillError: the backend failed or is not ready.
    """
    now, probability, middles, given_up = snapshot, 1.0, list[str](), set[int]()
    n_faults = 0
    for n_fault in range(MOST_FAULTS):
        faults = await asyncio.to_thread(document_faults, now.text, now.language_id, now.uri) or ()
        grown = len(now.text) - len(snapshot.text)
        wanted = [fault for fault in faults if lines is None or _touch(fault, lines, grown)]
        n_faults = n_faults or len(wanted)
        left = [fault for fault in wanted if len(now.text) - fault.start not in given_up]
        if not left or token.cancelled() or (n_fault and token.expired()):
            break
        found = await _mend(filler, settings, now, left[0], faults, token)
        if found is None:
            given_up.add(len(now.text) - left[0].start)  # from the end: what comes before may change
            continue
        now = replace(now, text=found.text)
        probability *= found.probability
        middles.append(found.middle)
    if not middles or token.cancelled():
        return None
    return Rewrite(snapshot.text, now.text, tuple(middles), probability, max(n_faults, len(middles)))


async def _mend(
    filler: Filler,
    settings: Settings,
    snapshot: DocumentSnapshot,
    fault: Span,
    faults: Sequence[Span],
    token: CancellationToken,
) -> Repair | None:
    """Of all ways that leave no error there and none that is new, the one that changes least."""
    text, language_id, uri = snapshot.text, snapshot.language_id, snapshot.uri
    spans = await asyncio.to_thread(suspects, text, language_id, fault, uri)
    found = list[Repair]()
    for span in spans:
        gap = stretch(text, span)
        for judged in await _ways(filler, settings, snapshot, gap, token):
            old = text[gap.span.start : gap.span.end]
            after = gap.filled(text, judged.text)
            likeness = difflib.SequenceMatcher(None, old, judged.text, autojunk=False).ratio()
            if likeness < _LEAST_LIKE:
                continue
            then = await asyncio.to_thread(document_faults, after, language_id, uri)
            if then is not None and _is_better(then, faults, Span(gap.span.start, gap.span.start + len(judged.text))):
                n_changed = round((1 - likeness) * (len(old) + len(judged.text)))
                found.append(Repair(gap, judged.text, after, n_changed, judged.candidate.probability))
        if token.cancelled() or token.expired():
            break
    return max(found, key=lambda one: (-one.n_changed, one.probability), default=None)


async def _ways(
    filler: Filler, settings: Settings, snapshot: DocumentSnapshot, gap: Gap, token: CancellationToken
) -> list[Judged]:
    """What may stand in a gap instead of what stands there: that, mended, and what the model would write."""
    emptied, offset = gap.emptied(snapshot)
    old = snapshot.text[gap.span.start : gap.span.end]
    request = await filler.informed(request_for(gap, snapshot, settings), emptied, offset)
    judge = Judge(request, emptied, offset)
    place = snapshot.path or snapshot.uri, snapshot.lines.line_of(gap.span.start)
    ended = await asyncio.to_thread(lambda: [old + end for end in _ENDS if judge.is_valid(old + end)])
    own = tuple(Proposal(text, _SURE, *place) for text in (old, *ended[:_MOST_ENDS]))
    others = tuple(one for one in request.proposals if one.text not in {old, *ended})
    request = replace(request, proposals=(*own, *others))

    def ask(asked: InfillRequest) -> Awaitable[InfillResponse]:
        return filler.ask(asked, token)

    found = list[Judged]()
    for candidate in (await ask(request)).candidates:
        judged = await judge.judge(candidate)
        if judged.text and judged.report.verdict is not Verdict.BROKEN:
            found.append(judged)
        elif judged.text and candidate.proposal == 0 and filler.can_remask:
            mending = await Mender(judge, ask).mend(judged, (), replace(request, least=0.0), token)
            if mending.best is not None and mending.how is Mended.REMASKED:
                found.append(mending.best)
    return found


def _is_better(then: Sequence[Span], before: Sequence[Span], middle: Span) -> bool:
    """Whether there are fewer faults than before, and none at the middle."""
    touched = any(fault.start <= middle.end and fault.end >= middle.start for fault in then)
    return len(then) < len(before) and not touched


def _touch(fault: Span, lines: Span, grown: int) -> bool:
    return fault.start <= lines.end + max(grown, 0) and fault.end >= lines.start
