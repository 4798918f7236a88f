"""What becomes of a backend's candidates at one cursor: filtered, and judged by the syntax gate."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine.filters import filter_middle
from midspan_lsp.syntax.validate import validate
from midspan_lsp.types import Candidate, InfillRequest, Span, SyntaxReport, Verdict


@dataclass(frozen=True)
class Judged:
    """A candidate as it would be shown.

    Attributes:
        candidate: its text filtered, and its tokens' spans those of that text.
        report: the gate's; no opinion where no text is left.
    """

    candidate: Candidate
    report: SyntaxReport

    @property
    def text(self) -> str:
        """What would be shown."""
        return self.candidate.text

    @property
    def is_valid(self) -> bool:
        """Whether it says something and the gate has seen that it adds no fault; no opinion is not enough."""
        return bool(self.text) and self.report.verdict is Verdict.VALID


class Judge:
    """Judges middles for one cursor, the same text once.

    Args:
        request: what the backend is asked.
        snapshot: the document.
        offset: of the cursor.
    """

    def __init__(self, request: InfillRequest, snapshot: DocumentSnapshot, offset: int) -> None:
        self._request, self._snapshot, self._place = request, snapshot, Span(offset, offset)
        self._reports: dict[str, SyntaxReport] = {}

    async def judge(self, drafted: Candidate) -> Judged:
        """A candidate, filtered and judged."""
        filtered = filter_middle(drafted.text, self._request.prefix, self._request.suffix)
        spans = tuple(filtered.span(span) for span in drafted.token_spans)
        candidate = replace(drafted, text=filtered.text, token_spans=spans)
        if not candidate.text:
            return Judged(candidate, SyntaxReport(Verdict.NO_OPINION))
        return Judged(candidate, await asyncio.to_thread(self.report, candidate.text))

    def report(self, middle: str) -> SyntaxReport:
        """The gate's, of a text in the cursor's place; may be called on any one thread at a time."""
        if middle not in self._reports:
            document = self._snapshot
            self._reports[middle] = validate(document.text, self._place, middle, document.language_id, document.uri)
        return self._reports[middle]

    def is_valid(self, middle: str) -> bool:
        """Whether a text adds no fault for sure, and the filters would leave it as it is."""
        kept = filter_middle(middle, self._request.prefix, self._request.suffix).text
        return kept == middle and self.report(middle).verdict is Verdict.VALID
