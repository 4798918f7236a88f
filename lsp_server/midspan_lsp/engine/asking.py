"""Whether to ask at all."""

from __future__ import annotations

import asyncio

from midspan_lsp.config import CompletionSettings
from midspan_lsp.context.unwanted import is_wanted
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine.outcome import Silence
from midspan_lsp.syntax.places import Kind, kind_of_place
from midspan_lsp.types import InfillRequest


async def reason_not_to_ask(
    request: InfillRequest, snapshot: DocumentSnapshot, offset: int, settings: CompletionSettings
) -> Silence | None:
    """Why nobody who only types wants a suggestion here; None if somebody may."""
    if not is_wanted(request.prefix, request.suffix):
        return Silence.UNWANTED
    if settings.in_comments and settings.in_strings:
        return None
    kind = await asyncio.to_thread(kind_of_place, snapshot.text, offset, snapshot.language_id, snapshot.uri)
    if kind is Kind.COMMENT and not settings.in_comments:
        return Silence.COMMENT
    return Silence.STRING if kind is Kind.STRING and not settings.in_strings else None
