"""`midspan infill FILE:LINE:COL`: one middle, where it came from and what it cost."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from midspan_lsp.backends.base import LoadProgress
from midspan_lsp.backends.notices import Notices
from midspan_lsp.backends.opening import open_backend
from midspan_lsp.cli.drafts import DraftPrinter
from midspan_lsp.cli.progress import ProgressLine
from midspan_lsp.cli.settings_file import read_settings_file
from midspan_lsp.cli.source_file import read_place, workspace_of
from midspan_lsp.config import Settings
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine.outcome import Outcome
from midspan_lsp.engine.pipeline import Engine
from midspan_lsp.engine.recall import Recall
from midspan_lsp.types import CancellationToken, Source, StepObserver


@dataclass(frozen=True)
class Options:
    """What the command line asks for.

    Attributes:
        as_json: print one JSON object.
        steps: show the draft after each forward.
        explain: say where the middle came from.
        model: a checkpoint folder; empty: the embedded model.
        workspace: the project's folder; None: it is looked for.
        memory: whether the project's text is looked at.
        settings: a file with the user's settings; None: the defaults.
    """

    as_json: bool = False
    steps: bool = False
    explain: bool = False
    model: str = ""
    workspace: str | None = None
    memory: bool = True
    settings: str | None = None


def run(place: str, options: Options) -> int:
    """Print the middle at a place of a file.

    Raises:
        InfillError: there is no such place or folder, or the model cannot be had.
    """
    snapshot, offset = read_place(place)
    folder = workspace_of(snapshot, options.workspace) if options.memory else None
    settings = read_settings_file(options.settings)
    settings = replace(settings, memory=replace(settings.memory, enabled=options.memory and settings.memory.enabled))
    if options.model:
        settings = replace(settings, model=replace(settings.model, path=options.model))
    on_step = DraftPrinter(sys.stderr if options.as_json else sys.stdout) if options.steps else None
    outcome = asyncio.run(infill_once(settings, snapshot, offset, on_step, folder))
    if options.as_json:
        print(json.dumps(_as_json(outcome, folder)))
    else:
        print(_as_text(outcome, folder, explain=options.explain))
    return 0


async def infill_once(
    settings: Settings,
    snapshot: DocumentSnapshot,
    offset: int,
    on_step: StepObserver | None = None,
    folder: Path | None = None,
) -> Outcome:
    """Load the model, read the project's folder to its end, fill one middle and let go of everything.

    Raises:
        InfillError: the model cannot be had or failed.
    """
    async with loaded_engine(settings, snapshot, folder) as engine:
        return await engine.infill(snapshot, offset, CancellationToken(), on_step)


@asynccontextmanager
async def loaded_engine(
    settings: Settings, snapshot: DocumentSnapshot, folder: Path | None = None
) -> AsyncGenerator[Engine]:
    """An engine with one document and its project's folder read to its end; lets go of everything at last.

    Raises:
        InfillError: the model cannot be had.
    """
    # nobody types meanwhile: no pauses, and no hurry
    recall = Recall(settings.memory, limit_s=None, quiet_s=0)
    progress, notices = ProgressLine(), Notices()
    engine = Engine(open_backend(settings, notices), settings, recall, notices=notices)
    try:
        recall.opened(snapshot)
        if folder is not None:
            recall.add_folder(str(folder))
        await engine.load(progress)
        if folder is not None:
            progress(LoadProgress("reading the project"))
            await recall.settled()
        progress.close()
        yield engine
    finally:
        progress.close()
        notices.listen(lambda text: print(f"midspan: {text}", file=sys.stderr))
        await engine.aclose()


def _as_text(outcome: Outcome, folder: Path | None, *, explain: bool) -> str:
    stats = outcome.stats
    facts = [
        f"probability {outcome.probability:.2f}",
        f"{stats.n_forwards} forwards",
        f"{stats.elapsed_ms:.0f} ms",
        f"syntax: {outcome.verdict.value}",
    ]
    lines = [f"[{', '.join(facts)}]"]
    if explain and outcome.mended:
        rounds = f", after {outcome.n_rounds} rounds" if outcome.n_rounds else ""
        lines.append(f"[the first draft would have broken the syntax; instead {outcome.mended.value}{rounds}]")
    if explain and outcome.text:
        place = outcome.source and _place(outcome.source, folder)
        lines.append(f"[from the project: {place[0]}:{place[1]}]" if place else "[the model's own]")
    if outcome.silence:
        lines.append(f"[an editor would show nothing: {outcome.silence.value}]")
    return "\n".join([outcome.text, "", *lines])


def _as_json(outcome: Outcome, folder: Path | None) -> dict[str, object]:
    place = outcome.source and _place(outcome.source, folder)
    return {
        "middle": outcome.text,
        "source": place and {"path": place[0], "line": place[1]},
        "probability": round(outcome.probability, 4),
        "n_forwards": outcome.stats.n_forwards,
        "n_encoded_tokens": outcome.stats.n_encoded_tokens,
        "elapsed_ms": round(outcome.stats.elapsed_ms, 1),
        "verdict": outcome.verdict.value,
        "mended": outcome.mended and outcome.mended.value,
        "n_rounds": outcome.n_rounds,
        "shown": outcome.silence is None,
        "silence": outcome.silence and outcome.silence.value,
    }


def _place(source: Source, folder: Path | None) -> tuple[str, int]:
    """Path, relative to the project's folder if it lies there, and line from 1."""
    path = Path(source.path)
    inside = folder is not None and path.is_relative_to(folder)
    return str(path.relative_to(folder)) if inside and folder else source.path, source.line + 1
