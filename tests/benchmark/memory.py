"""What the project's memory costs, without a model: python tests/benchmark/memory.py [FOLDER ...]

For each folder, cold and from its store: the time to read it and the longest step, which requests wait behind; then
milliseconds (median, 99th percentile) of the processor for drafts at places where code was cut out, and for opening
their documents. Last, for a document of many lines, alone: opening it, a keystroke, and drafts.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from midspan_lsp.config import MemorySettings
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.memory.memory import ProjectMemory
from midspan_model.evaluation.holes import Hole, cut_holes
from midspan_model.evaluation.sources import read_sources

SETTINGS = MemorySettings(max_file_kilobytes=4096)  # for the long document, which the default leaves out
LINE = "    {0} = self.{1}({2}, {0}, limit={3})\n"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--language", default="python", help="of the holes")
    parser.add_argument("--n", type=int, default=200, help="holes, and keystrokes")
    parser.add_argument("--lines", type=int, default=10_000, help="of the document that is typed in")
    parser.add_argument("--seed", type=int, default=3)
    given = parser.parse_args()
    for folder in given.folders:
        with tempfile.TemporaryDirectory() as stores:
            measure_folder(folder.resolve(), Path(stores), given)
    measure_typing(given)


def measure_folder(folder: Path, stores: Path, given: argparse.Namespace) -> None:
    """One folder's figures."""
    print(folder.name)
    memory = read(folder, stores, "cold")
    memory.aclose()
    memory = read(folder, stores, "from its store")
    holes = cut_holes(read_sources(folder, language_ids=[given.language]), "single-line", given.n, given.seed)
    opening, drafts = zip(*(ask(memory, folder, hole) for hole in holes), strict=True)
    say("opening a document", opening)
    say("drafts at a hole", drafts)
    memory.aclose()


def read(folder: Path, stores: Path, state: str) -> ProjectMemory:
    """A memory that has read the folder."""
    memory = ProjectMemory(MemorySettings(), stores)
    scan = memory.scan(folder)
    steps = [timed(lambda: next(scan, None))]
    began_s = time.process_time()
    while True:
        step_s = time.process_time()
        if next(scan, scan) is scan:
            break
        steps.append(1e3 * (time.process_time() - step_s))
    stats = memory.stats()
    print(
        f"  read {state} in {time.process_time() - began_s + steps[0] / 1e3:.1f} s: {stats.n_documents} files, "
        f"{stats.n_tokens / 1e6:.2f} million tokens, {stats.n_bytes / 2**20:.1f} MiB"
    )
    say("a step of it", steps)
    return memory


def ask(memory: ProjectMemory, folder: Path, hole: Hole) -> tuple[float, float]:
    """Milliseconds for opening a hole's document, as it is without the middle, and for drafts."""
    path, text = folder.parent / hole.origin, hole.prefix + hole.suffix
    snapshot = DocumentSnapshot(path.as_uri(), hole.language_id, 1, text)
    opening = timed(lambda: memory.open(snapshot.uri, str(path), hole.language_id, text))
    drafts = timed(lambda: memory.drafts(snapshot, len(hole.prefix)))
    memory.close(snapshot.uri)
    return opening, drafts


def measure_typing(given: argparse.Namespace) -> None:
    """A long document's figures: characters are typed at random places, one after another."""
    choose = random.Random(given.seed)
    names = [f"{a}_{b}" for a in ("first", "next", "old", "new", "whole") for b in ("name", "value", "item", "size")]
    words = [[choose.choice(names) for _ in range(3)] for _ in range(given.lines)]
    text = "".join(LINE.format(*three, number) for number, three in enumerate(words))
    memory = ProjectMemory(SETTINGS, keep=False)
    print(f"a document of {given.lines} lines, {len(text) / 1e3:.0f} kB, no folder")
    say("opening it", [timed(lambda: memory.open("untitled:x", None, "python", text))])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.py")
        path.write_text(text, encoding="utf-8")
        other = ProjectMemory(SETTINGS, keep=False)
        for _ in other.scan(folder):
            pass
        opening = [timed(lambda: other.open("file:///x.py", str(path), "python", text))]
        say("opening it where its file was read before", opening)
    keystrokes: list[float] = []
    drafts: list[float] = []
    for _ in range(given.n):
        place = choose.randrange(len(text))
        for character in choose.choice(names):
            text = text[:place] + character + text[place:]
            place += 1
            keystrokes.append(timed(lambda text=text: memory.change("untitled:x", text)))
        snapshot = DocumentSnapshot("untitled:x", "python", 1, text)
        drafts.append(timed(lambda snapshot=snapshot, place=place: memory.drafts(snapshot, place)))
    say("a keystroke", keystrokes)
    say("drafts", drafts)


def timed(work: Callable[[], object]) -> float:
    """Milliseconds of the processor."""
    began_s = time.process_time()
    work()
    return 1e3 * (time.process_time() - began_s)


def say(what: str, all_ms: Sequence[float]) -> None:
    """Print median, 99th percentile and most."""
    ordered = sorted(all_ms)
    median, late = (ordered[int(share * (len(ordered) - 1))] for share in (0.5, 0.99))
    print(f"  {what}: {median:.1f} ms, {late:.1f} ms, at most {ordered[-1]:.1f} ms ({len(ordered)})", flush=True)


if __name__ == "__main__":
    main()
