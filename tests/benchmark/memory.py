"""What the project's memory costs: python tests/benchmark/memory.py FOLDER ... (one thread, no model).

For each folder, cold and with a store: time to read it, memory, and then milliseconds (p50, p99) for drafts at places
where code was cut out, for a keystroke, and for opening and closing a document. `--lines N` makes the document that is
typed in N lines long. Without a folder: that document alone.
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from midspan_lsp.config import MemorySettings
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.memory.memory import ProjectMemory
from midspan_model.evaluation.holes import Hole, cut_holes
from midspan_model.evaluation.sources import SourceText, read_sources

SETTINGS = MemorySettings(max_file_kilobytes=1024)  # a file of 10,000 lines may be larger than the default allows


def main() -> None:
    """Print one line a folder and measure."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    options.add_argument("--language", default="python", help="of the holes")
    options.add_argument("--n", type=int, default=200, help="holes, and keystrokes")
    options.add_argument("--lines", type=int, default=10_000, help="of the document that is typed in")
    options.add_argument("--seed", type=int, default=3)
    given = options.parse_args()
    for folder in given.folders or [None]:
        with tempfile.TemporaryDirectory() as cache:
            measure(folder, Path(cache), given)


def measure(folder: Path | None, cache: Path, given: argparse.Namespace) -> None:
    """Print the figures of one folder."""
    print(folder or "one document, no folder")
    if folder is not None:
        for state in ("cold", "from its store"):
            memory = ProjectMemory(MemorySettings(), cache)
            began_s = time.perf_counter()
            n_steps = sum(1 for _ in memory.scan(folder))
            taken_s, stats = time.perf_counter() - began_s, memory.stats()
            print(
                f"  read {state}: {taken_s:.1f} s in {n_steps} steps; {stats.n_documents} files, {stats.n_tokens} tokens, "
                f"{stats.n_bytes / 2**20:.1f} MiB counted, {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10:.0f} MiB "
                "of the process at most"
            )
            memory.aclose()
    memory = ProjectMemory(MemorySettings(), cache)
    sources: list[SourceText] = []
    if folder is not None:
        for _ in memory.scan(folder):
            pass
        sources = read_sources(folder, language_ids=[given.language])
        holes = cut_holes(sources, "single-line", given.n, given.seed)
        say("drafts at a hole", [timed(lambda hole=hole: ask(memory, folder, hole)) for hole in opened(memory, folder, holes)])
    type_in(ProjectMemory(SETTINGS, keep=False), long_document(sources, given.lines), given)
    memory.aclose()


def opened(memory: ProjectMemory, folder: Path, holes: Sequence[Hole]) -> Sequence[Hole]:
    """Each hole while its document is open in the memory."""
    for hole in holes:
        path = folder.resolve().parent / hole.origin
        memory.open(path.as_uri(), str(path), hole.language_id, hole.prefix + hole.suffix)
        yield hole
        memory.close(path.as_uri())


def ask(memory: ProjectMemory, folder: Path, hole: Hole) -> None:
    """Ask for drafts at a hole."""
    uri = (folder.resolve().parent / hole.origin).as_uri()
    memory.drafts(DocumentSnapshot(uri, hole.language_id, 1, hole.prefix + hole.suffix), len(hole.prefix))


if __name__ == "__main__":
    main()
