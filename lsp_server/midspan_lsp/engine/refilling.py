"""Other ways to write a part of a document.

First comes what the backend thinks of by itself. If that is not enough, what it says is masked again from where it is
least sure, other words than those being asked for.
"""

from __future__ import annotations

from dataclasses import replace

from midspan_lsp.config import Settings
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine.filling import Filler
from midspan_lsp.engine.gaps import MOST_CHARACTERS, MOST_OTHERS, Rewrite, request_for, says_the_same, stretch
from midspan_lsp.engine.judging import Judge, Judged
from midspan_lsp.types import CancellationToken, Candidate, Draft, Span, Verdict

_MOST_ROUNDS = 4
_MORE_LINES = 2


async def refill(
    filler: Filler, settings: Settings, snapshot: DocumentSnapshot, span: Span, token: CancellationToken
) -> list[Rewrite]:
    """Up to `MOST_OTHERS` other ways, best first; none breaks the syntax or says what is there already.

    Raises:
        InfillError: the backend failed or is not ready.
    """
    gap = stretch(snapshot.text, span, more_lines=_MORE_LINES)
    old = snapshot.text[gap.span.start : gap.span.end]
    if not 0 < len(old) <= MOST_CHARACTERS:
        return []
    emptied, offset = gap.emptied(snapshot)
    request = request_for(gap, snapshot, settings, MOST_OTHERS + 1)
    request = await filler.informed(request, emptied, offset)
    known = tuple(one for one in request.proposals if not says_the_same(one.text, old))
    request = replace(request, proposals=known)
    judge, found, seen = Judge(request, emptied, offset), list[Judged](), [old]

    async def take(candidate: Candidate) -> None:
        judged = await judge.judge(candidate)
        is_new = judged.text and not any(says_the_same(judged.text, text) for text in seen)
        if is_new and judged.report.verdict is not Verdict.BROKEN:
            seen.append(judged.text)
            found.append(judged)

    candidates = (await filler.ask(request, token)).candidates
    for candidate in candidates:
        await take(candidate)
    if candidates and filler.can_remask:
        for draft in other_drafts(candidates[0])[:_MOST_ROUNDS]:
            if len(found) >= MOST_OTHERS or token.cancelled() or token.expired():
                break
            for candidate in (await filler.ask(replace(request, draft=draft, n_candidates=1), token)).candidates:
                await take(candidate)
    ranked = sorted(found, key=lambda one: one.candidate.probability, reverse=True)[:MOST_OTHERS]
    text = snapshot.text
    return [Rewrite(text, gap.filled(text, one.text), (one.text,), one.candidate.probability) for one in ranked]


def other_drafts(candidate: Candidate) -> list[Draft]:
    """Drafts that leave a middle at one of its tokens, which is banned there; where it was least sure comes first."""
    n_tokens = len(candidate.token_ids)
    slots = [slot for slot, span in enumerate(candidate.token_spans) if span.start < span.end]
    return [
        Draft(
            candidate.token_ids,
            candidate.confidences,
            frozenset(range(slot, n_tokens + 1)),
            {slot: frozenset({candidate.token_ids[slot]})},
        )
        for slot in sorted(slots, key=lambda slot: candidate.confidences[slot])
    ]
