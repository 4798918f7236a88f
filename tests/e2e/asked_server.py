"""The real server and engine with the project's memory, around a backend that answers with what it was asked, as JSON.

A prefix with the word "unsure" is answered with a probability of 0.4, one with "slow" once its time is up, or after two
seconds.
"""

from __future__ import annotations

import asyncio
import json
import time

from midspan_lsp.backends.base import Capabilities, ReportProgress
from midspan_lsp.config import Settings
from midspan_lsp.engine.pipeline import Engine
from midspan_lsp.engine.recall import Recall
from midspan_lsp.lsp.serve import serve
from midspan_lsp.types import CancellationToken, Candidate, InfillRequest, InfillResponse, StepObserver

LONG_S = 2.0


class AskedBackend:
    """Tells the lengths of prefix and suffix in characters, the most lines, the proposals, and whether time was up."""

    ready = False
    capabilities = Capabilities("asked", can_remask=False)

    async def load(self, report: ReportProgress) -> None:
        self.ready = True

    async def infill(
        self, request: InfillRequest, token: CancellationToken, on_step: StepObserver | None = None
    ) -> InfillResponse:
        ends_s = time.monotonic() + LONG_S
        while "slow" in request.prefix and not token.expired() and time.monotonic() < ends_s:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        told = {
            "prefix": len(request.prefix),
            "suffix": len(request.suffix),
            "lines": request.max_lines,
            "proposals": [one.text for one in request.proposals],
            "expired": int(token.expired()),
        }
        return InfillResponse((Candidate(json.dumps(told), 0.4 if "unsure" in request.prefix else 1.0),))

    async def aclose(self) -> None:
        pass


def build_engine(settings: Settings) -> Engine:
    recall = Recall(settings.memory, limit_s=5.0, quiet_s=0.05, count=settings.stats.enabled)
    return Engine(AskedBackend(), settings, recall)


if __name__ == "__main__":
    serve(build_engine)
