"""`midspan infill FILE:LINE:COL`: one middle, and what it cost."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import replace

from midspan_lsp.backends.local import LocalBackend
from midspan_lsp.cli.drafts import DraftPrinter
from midspan_lsp.cli.progress import ProgressLine
from midspan_lsp.cli.source_file import read_place
from midspan_lsp.config import Settings
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine.pipeline import Engine, Outcome
from midspan_lsp.types import CancellationToken, StepObserver


def run(place: str, *, as_json: bool, steps: bool, model: str) -> int:
    """Print the middle at a place of a file.

    Raises:
        InfillError: there is no such place, or the model cannot be had.
    """
    snapshot, offset = read_place(place)
    settings = Settings()
    settings = replace(settings, model=replace(settings.model, path=model))
    on_step = DraftPrinter(sys.stderr if as_json else sys.stdout) if steps else None
    outcome = asyncio.run(infill_once(settings, snapshot, offset, on_step))
    print(json.dumps(_as_json(outcome)) if as_json else _as_text(outcome))
    return 0


async def infill_once(
    settings: Settings, snapshot: DocumentSnapshot, offset: int, on_step: StepObserver | None = None
) -> Outcome:
    """Load the model, fill one middle and let go of everything.

    Raises:
        InfillError: the model cannot be had or failed.
    """
    engine = Engine(LocalBackend(settings), settings)
    progress = ProgressLine()
    try:
        await engine.load(progress)
        progress.close()
        return await engine.infill(snapshot, offset, CancellationToken(), on_step)
    finally:
        progress.close()
        await engine.aclose()


def _as_text(outcome: Outcome) -> str:
    stats = outcome.stats
    facts = [
        f"probability {outcome.probability:.2f}",
        f"{stats.n_forwards} forwards",
        f"{stats.elapsed_ms:.0f} ms",
        f"syntax: {outcome.verdict.value}",
    ]
    silence = f"\n[an editor would show nothing: {outcome.silence.value}]" if outcome.silence else ""
    return f"{outcome.text}\n\n[{', '.join(facts)}]{silence}"


def _as_json(outcome: Outcome) -> dict[str, object]:
    return {
        "middle": outcome.text,
        "probability": round(outcome.probability, 4),
        "n_forwards": outcome.stats.n_forwards,
        "n_encoded_tokens": outcome.stats.n_encoded_tokens,
        "elapsed_ms": round(outcome.stats.elapsed_ms, 1),
        "verdict": outcome.verdict.value,
        "shown": outcome.silence is None,
        "silence": outcome.silence and outcome.silence.value,
    }
