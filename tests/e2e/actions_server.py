"""The real server and engine around a scripted model, for code actions.

It reads all that is proposed. Otherwise it writes what stands in the document's last line behind "answers:", in turn
where that are several with "|" between them; in a document named `wait*` it first waits for as long as it may.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from itertools import cycle

from midspan_lsp.backends.base import Capabilities, ReportProgress
from midspan_lsp.config import Settings
from midspan_lsp.engine.pipeline import Engine
from midspan_lsp.engine.recall import Recall
from midspan_lsp.errors import BadResponse
from midspan_lsp.lsp.serve import serve
from midspan_lsp.types import (
    CancellationToken,
    Candidate,
    InfillRequest,
    InfillResponse,
    InfillStats,
    Span,
    StepObserver,
)

_ANSWERS = re.compile(r"answers:(.*)\s*\Z")


class Model:
    """A backend."""

    capabilities = Capabilities("scripted", can_remask=False)
    ready = True

    def __init__(self) -> None:
        self._turns = cycle([0])
        self._script = ""

    async def load(self, report: ReportProgress) -> None:
        pass

    async def infill(
        self, request: InfillRequest, token: CancellationToken, on_step: StepObserver | None = None
    ) -> InfillResponse:
        found = _ANSWERS.search(request.suffix)
        script = found[1] if found else ""
        if script == "fail":
            raise BadResponse("the model gave nonsense", hint="Restart the editor.")
        while script == "wait" and not token.cancelled():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        if script != self._script:
            texts = script.split("|")
            self._script, self._turns = script, cycle(range(len(texts)))
        texts = script.split("|")
        turn = next(self._turns)
        own = texts if request.n_candidates > 1 else texts[turn : turn + 1]
        read = [replace(_candidate(one.text), proposal=number) for number, one in enumerate(request.proposals)]
        return InfillResponse(() if token.cancelled() else (*read, *map(_candidate, own)), InfillStats(n_forwards=1))

    async def prepare(self, request: InfillRequest, token: CancellationToken) -> InfillStats:
        return InfillStats()

    async def aclose(self) -> None:
        pass


def _candidate(text: str) -> Candidate:
    spans = tuple(Span(index, index + 1) for index in range(len(text)))
    return Candidate(text, 0.5, tuple(range(len(text))), spans, (0.5,) * len(text))


def build_engine(settings: Settings) -> Engine:
    return Engine(Model(), settings, Recall(replace(settings.memory, enabled=False)))


if __name__ == "__main__":
    serve(build_engine)
