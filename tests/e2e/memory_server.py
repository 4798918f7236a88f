"""The real server and engine with the project's memory, around a backend that answers with what is proposed to it."""

from __future__ import annotations

import json
import sys

from midspan_lsp.backends.base import Capabilities, ReportProgress
from midspan_lsp.config import Settings
from midspan_lsp.engine.feedback import Feedback
from midspan_lsp.engine.pipeline import Engine
from midspan_lsp.engine.recall import Recall
from midspan_lsp.lsp.serve import serve
from midspan_lsp.types import (
    CancellationToken,
    Candidate,
    InfillRequest,
    InfillResponse,
    InfillStats,
    StepObserver,
)


class EchoBackend:
    """Its middle is a JSON list of the proposals' texts."""

    ready = False
    capabilities = Capabilities("echo", can_remask=False)

    async def load(self, report: ReportProgress) -> None:
        self.ready = True

    async def infill(
        self, request: InfillRequest, token: CancellationToken, on_step: StepObserver | None = None
    ) -> InfillResponse:
        answer = Candidate(json.dumps([one.text for one in request.proposals]), 1.0)
        return InfillResponse((answer,), InfillStats(n_forwards=1, elapsed_ms=1.0))

    async def prepare(self, request: InfillRequest, token: CancellationToken) -> InfillStats:
        return InfillStats()

    async def aclose(self) -> None:
        pass


def build_engine(settings: Settings) -> Engine:
    counts = settings.stats.enabled
    recall = Recall(settings.memory, limit_s=5.0, quiet_s=0.05, count=counts)
    return Engine(EchoBackend(), settings, recall, Feedback(enabled=counts))


if __name__ == "__main__":
    assert "numpy" not in sys.modules
    serve(build_engine)
