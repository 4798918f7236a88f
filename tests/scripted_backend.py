"""A backend that answers as told, and what tests of the engine say with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from midspan_lsp.backends.base import Capabilities, ReportProgress
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.types import (
    CancellationToken,
    Candidate,
    InfillRequest,
    InfillResponse,
    InfillStats,
    Span,
    StepObserver,
)


@dataclass
class ScriptedBackend:
    """Gives its answers in turn, each when its gate opens; records what it was asked.

    Attributes:
        answers: a candidate, or several, best first.
        meanwhile: called with the number of each call, from 1, and its token, before it is answered.
    """

    answers: Sequence[Candidate | tuple[Candidate, ...]]
    can_remask: bool = True
    ready: bool = True
    requests: list[InfillRequest] = field(default_factory=list)
    prepared: list[InfillRequest] = field(default_factory=list)
    tokens: list[CancellationToken] = field(default_factory=list)
    gate: asyncio.Event | None = None
    meanwhile: Callable[[int, CancellationToken], None] = lambda _n, _token: None

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities("scripted", self.can_remask)

    async def load(self, report: ReportProgress) -> None:
        self.ready = True

    async def infill(
        self, request: InfillRequest, token: CancellationToken, on_step: StepObserver | None = None
    ) -> InfillResponse:
        self.requests.append(request)
        self.tokens.append(token)
        answer = self.answers[len(self.requests) - 1]
        if self.gate is not None:
            await self.gate.wait()
        self.meanwhile(len(self.requests), token)
        stats = InfillStats(n_forwards=3, elapsed_ms=5.0)
        found = answer if isinstance(answer, tuple) else (answer,)
        return InfillResponse(() if token.cancelled() else found, stats)

    async def prepare(self, request: InfillRequest, token: CancellationToken) -> InfillStats:
        self.prepared.append(request)
        self.tokens.append(token)
        if self.gate is not None:
            await self.gate.wait()
        return InfillStats(n_encoded_tokens=7)

    async def aclose(self) -> None:
        self.ready = False


class Answering(ScriptedBackend):
    """Gives the answers that a function has for a request."""

    def __init__(self, answer: Callable[[InfillRequest], Sequence[Candidate]], **more: Any) -> None:
        super().__init__((), **more)
        self._answer = answer

    async def infill(
        self, request: InfillRequest, token: CancellationToken, on_step: StepObserver | None = None
    ) -> InfillResponse:
        self.requests.append(request)
        self.tokens.append(token)
        if self.gate is not None:
            await self.gate.wait()
        self.meanwhile(len(self.requests), token)
        return InfillResponse(() if token.cancelled() else tuple(self._answer(request)), InfillStats(n_forwards=1))


def candidate(text: str, confidence: float = 0.9) -> Candidate:
    """One token per character."""
    n = len(text)
    return Candidate(
        text,
        confidence,
        token_ids=tuple(range(100, 100 + n)),
        token_spans=tuple(Span(index, index + 1) for index in range(n)),
        confidences=(confidence,) * n,
    )


def document(marked: str, language_id: str = "python") -> tuple[DocumentSnapshot, int]:
    offset = marked.index("‸")
    return DocumentSnapshot("file:///a.py", language_id, 1, marked.replace("‸", "")), offset
