"""Filling all holes of a function, each in the light of those before it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from midspan_lsp.config import Settings
from midspan_lsp.context.shape import Shape, middle_shape
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine.filling import Filler
from midspan_lsp.engine.gaps import Gap, Rewrite, request_for
from midspan_lsp.engine.text_lines import columns, indent_of, last_line
from midspan_lsp.syntax.placeholders import Placeholder, placeholders
from midspan_lsp.types import CancellationToken, Span


async def fill_holes(
    filler: Filler, settings: Settings, snapshot: DocumentSnapshot, place: Span, token: CancellationToken
) -> Rewrite | None:
    """The function around a place with its holes filled; None if it has none, or none could be filled.

    Raises:
        InfillError: the backend failed or is not ready.
    """
    uri, language_id = snapshot.uri, snapshot.language_id
    holes = await asyncio.to_thread(placeholders, snapshot.text, language_id, place, uri)
    now, shift, probability, middles = snapshot, 0, 1.0, list[str]()
    for hole in holes:
        gap = _gap(hole, now.text, shift, settings.completion.max_lines)
        emptied, offset = gap.emptied(now)
        outcome = await filler.fill(request_for(gap, now, settings), emptied, offset, token)
        if token.cancelled():
            return None
        if outcome.silence is None:
            text = gap.filled(now.text, outcome.text)
            shift += len(text) - len(now.text)
            now = replace(now, text=text)
            probability *= outcome.probability
            middles.append(outcome.text)
    return Rewrite(snapshot.text, now.text, tuple(middles), probability, len(holes)) if middles else None


def _gap(hole: Placeholder, text: str, shift: int, max_lines: int) -> Gap:
    span = Span(hole.span.start + shift, hole.span.end + shift)
    if hole.is_body:
        indent = indent_of(last_line(text[: span.start] + hole.lead))
        return Gap(span, Shape(max_lines, columns(indent)) if max_lines > 1 else Shape(), hole.lead)
    return Gap(span, middle_shape(text[: span.start] + hole.lead, text[span.end :], max_lines), hole.lead)
