"""Writing parts of a document anew: other ways to say a selection, a function's holes, lines with a syntax error."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from midspan_lsp.config import Settings
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine.filling import Filler
from midspan_lsp.engine.gaps import Rewrite
from midspan_lsp.engine.hole_filling import fill_holes
from midspan_lsp.engine.latest import LatestWins
from midspan_lsp.engine.refilling import refill
from midspan_lsp.engine.repairing import repair
from midspan_lsp.types import CancellationToken, Span

TIME_LIMIT_S = 30.0
"""After so long there is what there is by then."""
_KIND = "rewrite"

_Found = TypeVar("_Found")


class Rewriter:
    """Does so with one backend. A newer call for the same document, and any edit of it, end an older one.

    Args:
        filler: asks the backend.
        settings: the editor's.
        latest: of the engine.
        limit_s: for one call; None: none.
    """

    def __init__(
        self, filler: Filler, settings: Settings, latest: LatestWins, limit_s: float | None = TIME_LIMIT_S
    ) -> None:
        self._filler, self._settings, self._latest, self._limit_s = filler, settings, latest, limit_s

    def without_limit(self) -> Rewriter:
        """The same for somebody who has time."""
        return Rewriter(self._filler, self._settings, self._latest, None)

    async def refill(self, snapshot: DocumentSnapshot, span: Span) -> list[Rewrite]:
        """Other ways to write what is selected, best first; perhaps none.

        Raises:
            InfillError: the backend failed or is not ready.
        """
        token = CancellationToken(self._limit_s)
        return await self._alone(snapshot, token, refill(self._filler, self._settings, snapshot, span, token)) or []

    async def fill(self, snapshot: DocumentSnapshot, place: Span) -> Rewrite | None:
        """The holes of the function around a place filled; None if there is nothing to fill or to fill in.

        Raises:
            InfillError: the backend failed or is not ready.
        """
        token = CancellationToken(self._limit_s)
        return await self._alone(snapshot, token, fill_holes(self._filler, self._settings, snapshot, place, token))

    async def repair(self, snapshot: DocumentSnapshot, lines: Span | None = None) -> Rewrite | None:
        """The syntax errors that touch a span, or all, mended; None if there are none or none can be.

        Raises:
            InfillError: the backend failed or is not ready.
        """
        token = CancellationToken(self._limit_s)
        return await self._alone(snapshot, token, repair(self._filler, self._settings, snapshot, lines, token))

    async def _alone(
        self, snapshot: DocumentSnapshot, token: CancellationToken, work: Awaitable[_Found]
    ) -> _Found | None:
        """The work's result; None if it was cancelled."""
        self._latest.start(snapshot.uri, _KIND, token)
        try:
            found = await work
        except asyncio.CancelledError:
            token.cancel()
            raise
        finally:
            self._latest.finish(snapshot.uri, _KIND, token)
        return None if token.cancelled() else found
