"""What the syntax gate's mending is worth with the model's own answers: `python tests/benchmark/repair.py FOLDER...`

Each folder is a project whose text is at hand, as in an editor. Holes are cut from its code files, evenly over the
languages, and asked through the whole engine; everything counts, also what would be too unsure to be shown. At last
each answer is put into its file and, where the language has a second parser here, judged by that. Files that the second
parser refuses as they are count without it.

The work folder keeps what the model drafted at first and each hole's result: a run goes on where the last one ended,
and ends by itself after `--seconds`. Once all is answered, the drafts that were broken are masked again without regard
to how likely they are and to what else there was, to see what the rounds alone can do, and the figures and the picture
are made of all that. After a change of the engine give `--again`: the first drafts are kept, all else is asked anew.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from code_holes import code_files, cut_hole
from midspan_lsp.backends.local import LocalBackend
from midspan_lsp.config import CompletionSettings, ContextSettings, MemorySettings, Settings
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine import filling
from midspan_lsp.engine.pipeline import Engine
from midspan_lsp.engine.recall import Recall
from midspan_lsp.memory.memory import ProjectMemory
from midspan_lsp.types import CancellationToken, Trigger
from repair_figures import print_figures, was_broken
from second_opinions import SecondOpinions
from stored_drafts import StoredDrafts

_HOLES_PER_FILE = 4
_MORE_LINES = (0, 0, 0, 0, 2)


@dataclass(frozen=True)
class Hole:
    """A place whose text was cut out.

    Attributes:
        language: its id.
        root: folder of the project.
        path: of the file.
        start: where the text was.
        end: likewise.
    """

    language: str
    root: str
    path: str
    start: int
    end: int


def main() -> None:
    """Ask what was not asked yet; print the figures once nothing is left."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--n", type=int, default=2000, help="holes in all, spread evenly over the languages")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--language", action="append", help="only this one; may be given again")
    parser.add_argument("--work", type=Path, required=True, help="folder for drafts, results and the picture")
    parser.add_argument("--prefix-tokens", type=int, default=512, help="as the setting; most of the time goes there")
    parser.add_argument("--seconds", type=float, default=200.0, help="ends after so long, to be called again")
    parser.add_argument("--again", action="store_true", help="forget the results, keep the first drafts")
    parser.add_argument("--by-hand", action="store_true", help="ask by hand too, for several to choose from")
    parser.add_argument("--rounds", action="store_true", help="of what there is, only mask again")
    parser.add_argument("--figures", action="store_true", help="of what there is, and ask nothing")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    results = given.work / "results.jsonl"
    rounds = given.work / "rounds.jsonl"
    if given.again:
        results.unlink(missing_ok=True)
        rounds.unlink(missing_ok=True)
    if not (given.figures or given.rounds):
        holes = list(_holes(given.folders, given.n, given.seed, given.language))
        if not asyncio.run(ask_holes(given, holes, results)):
            return
    if not given.figures:
        filling.LEAST_MENDED = 0.0
        broken = [Hole(**one["hole"]) for one in _read(results) if was_broken(one)]
        if not asyncio.run(ask_holes(given, broken, rounds, rounds_only=True)):
            return
    opinions, found = SecondOpinions(given.work / "opinions.jsonl"), _read(results)
    if given.figures or opinions.form(found, given.seconds):
        print_figures(opinions.added_to(found), _read(rounds), given.work)


async def ask_holes(given: argparse.Namespace, holes: list[Hole], results: Path, *, rounds_only: bool = False) -> bool:
    """Ask the holes that have no result yet; whether all have one now."""
    ends_s = time.monotonic() + given.seconds
    known = {json.dumps(one["hole"]) for one in _read(results)}
    left = [hole for hole in holes if json.dumps(asdict(hole)) not in known]
    context = ContextSettings(given.prefix_tokens, given.prefix_tokens // 4, min(48, given.prefix_tokens // 6))
    completion = CompletionSettings(eagerness="always")
    settings = Settings(completion, context=context)
    settings = replace(settings, model=replace(settings.model, threads=1))
    local = LocalBackend(settings)
    backend = StoredDrafts(local, given.work / "drafts.jsonl", rivals=not rounds_only)
    await backend.load(lambda _progress: None)
    root, recall = "", Recall(MemorySettings(enabled=False))
    with results.open("a", encoding="utf-8") as out:
        for number, hole in enumerate(left):
            if time.monotonic() > ends_s:
                print(f"{len(left) - number} of {len(holes)} holes are left", file=sys.stderr)
                break
            if hole.root != root:
                await recall.aclose()
                root, recall = hole.root, await _recall(Path(hole.root), given.work / "memory")
            found = await ask(
                hole, Engine(backend, settings, recall), backend, by_hand=given.by_hand and not rounds_only
            )
            out.write(json.dumps(found) + "\n")
            out.flush()
    await recall.aclose()
    await local.aclose()
    return time.monotonic() <= ends_s


async def ask(hole: Hole, engine: Engine, backend: StoredDrafts, *, by_hand: bool) -> dict[str, object]:
    """One hole's result."""
    path = Path(hole.path)
    text = path.read_bytes().decode()
    document = DocumentSnapshot(path.resolve().as_uri(), hole.language, 0, text[: hole.start] + text[hole.end :])
    backend.calls.clear()
    engine.recall.opened(document)
    began_s = time.perf_counter()
    outcome = await engine.infill(document, hole.start, CancellationToken())
    elapsed_ms = 1e3 * (time.perf_counter() - began_s)
    first, rounds = (backend.calls[0].drafted, backend.calls[1:]) if backend.calls else (None, [])
    chosen_from = {}
    if by_hand:
        backend.calls.clear()
        shown = await engine.complete(document, hole.start, Trigger.INVOKED, CancellationToken())
        n_forwards = sum(call.stats.n_forwards for call in backend.calls)
        chosen_from = {"choices": [one.text for one in shown], "n_forwards_by_hand": n_forwards}
    engine.forget(document.uri)
    return {
        "hole": asdict(hole),
        "wanted": text[hole.start : hole.end],
        "drafted": first.text if first else "",
        "drafted_probability": first.probability if first else 0.0,
        "answer": outcome.text,
        "probability": outcome.probability,
        "verdict": outcome.verdict.value,
        "mended": outcome.mended and outcome.mended.value,
        "n_forwards": outcome.stats.n_forwards,
        "silence": outcome.silence and outcome.silence.value,
        "elapsed_ms": elapsed_ms,
        "rounds": [
            {"n_forwards": one.stats.n_forwards, "ms": one.stats.elapsed_ms, "processor_ms": one.processor_ms}
            for one in rounds
        ],
        **chosen_from,
    }


async def _recall(root: Path, stores: Path) -> Recall:
    recall = Recall(MemorySettings(), limit_s=None, quiet_s=0, build=lambda settings: ProjectMemory(settings, stores))
    recall.add_folder(str(root))
    await recall.settled()
    return recall


def _holes(folders: list[Path], n: int, seed: int, languages: list[str] | None) -> Iterator[Hole]:
    """Holes of all languages in turns, project by project within a turn."""
    rng = random.Random(seed)
    by_language: dict[str, dict[Hole, None]] = {}
    files = [(root, name, path) for root in folders for name, paths in code_files([root]).items() for path in paths]
    rng.shuffle(files)
    wanted = sorted({name for _, name, _ in files if not languages or name in languages})
    n_each = max(1, n // len(wanted))
    for root, name, path in files:
        found = by_language.setdefault(name, {})
        if name not in wanted or len(found) >= n_each:
            continue
        try:
            text = path.read_bytes().decode()
        except UnicodeDecodeError:
            continue
        for span in filter(None, (cut_hole(text, rng, _MORE_LINES) for _ in range(_HOLES_PER_FILE))):
            found[Hole(name, str(root), str(path), span.start, span.end)] = None
    n_turns = -(-n_each // 20)
    for turn in range(n_turns):
        several = [hole for name in wanted for hole in [*by_language[name]][:n_each][20 * turn : 20 * (turn + 1)]]
        yield from sorted(several, key=lambda hole: (hole.root, hole.path, hole.start))


def _read(results: Path) -> list[dict[str, Any]]:
    if not results.exists():
        return []
    found = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    return list({json.dumps(one["hole"]): one for one in found}.values())


if __name__ == "__main__":
    sys.exit(main())
