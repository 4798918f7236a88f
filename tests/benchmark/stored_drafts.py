"""A backend whose first answers are kept on disk: only what is asked about them is asked of the model again."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from midspan_lsp.backends.base import Capabilities, InfillBackend, ReportProgress
from midspan_lsp.types import (
    CancellationToken,
    Candidate,
    InfillRequest,
    InfillResponse,
    InfillStats,
    Span,
    StepObserver,
)


@dataclass(frozen=True)
class Call:
    """One call of the backend.

    Attributes:
        drafted: its best candidate.
        stats: its cost.
        processor_ms: that this process has computed meanwhile.
    """

    drafted: Candidate | None
    stats: InfillStats
    processor_ms: float


class StoredDrafts:
    """Asks another backend, but not twice for a request without a draft.

    Args:
        backend: the other one.
        path: where first answers are kept.
        rivals: whether more than the best candidate is answered.

    Attributes:
        calls: since somebody cleared them.
    """

    def __init__(self, backend: InfillBackend, path: Path, *, rivals: bool = True) -> None:
        self._backend, self._path, self._rivals = backend, path, rivals
        self.calls: list[Call] = []
        self._stored: dict[str, Any] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                self._stored.update(json.loads(line))

    @property
    def capabilities(self) -> Capabilities:
        return self._backend.capabilities

    @property
    def ready(self) -> bool:
        return self._backend.ready

    async def load(self, report: ReportProgress) -> None:
        await self._backend.load(report)

    async def infill(
        self, request: InfillRequest, token: CancellationToken, on_step: StepObserver | None = None
    ) -> InfillResponse:
        key, began_s = _key(request), time.process_time()
        if request.draft is None and key in self._stored:
            response = _response_of(self._stored[key])
        else:
            response = await self._backend.infill(request, token, on_step)
            if request.draft is None:
                self._stored[key] = asdict(response)
                with self._path.open("a", encoding="utf-8") as out:
                    out.write(json.dumps({key: self._stored[key]}) + "\n")
        processor_ms = 1e3 * (time.process_time() - began_s)
        self.calls.append(Call(next(iter(response.candidates), None), response.stats, processor_ms))
        return response if self._rivals else replace(response, candidates=response.candidates[:1])

    async def prepare(self, request: InfillRequest, token: CancellationToken) -> InfillStats:
        return await self._backend.prepare(request, token)

    async def aclose(self) -> None:
        """The other backend is closed by who made it."""


def _key(request: InfillRequest) -> str:
    """Of what the first answer depends on."""
    asked = (request.prefix, request.suffix, request.language_id, request.max_lines, request.min_indent, request.least)
    others = (request.neighbour, [(one.text, one.score) for one in request.proposals])
    several = (request.n_candidates,) if request.n_candidates > 1 else ()
    return hashlib.sha256(repr((asked, others, *several)).encode()).hexdigest()


def _response_of(stored: dict[str, Any]) -> InfillResponse:
    candidates = [
        Candidate(
            **{
                **one,
                "token_ids": tuple(one["token_ids"]),
                "token_spans": tuple(Span(**span) for span in one["token_spans"]),
                "confidences": tuple(one["confidences"]),
            }
        )
        for one in stored["candidates"]
    ]
    return InfillResponse(tuple(candidates), InfillStats(**stored["stats"]))
