"""`midspan evaluate`: the model's evaluation, with the project's memory and all grammars at hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from midspan_lsp.backends.local_evaluation import HoleInFile, evaluate
from midspan_lsp.config import MemorySettings
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.memory.memory import ProjectMemory
from midspan_lsp.syntax.parsing import OutOfTimeError, TimeLimit
from midspan_lsp.syntax.trees import faults, parse_text

_PARSE_LIMIT_S = 5.0


def run(arguments: Sequence[str]) -> int:
    """Evaluate with these arguments; the exit status."""
    return evaluate(arguments, parses, Projects().recall)


def parses(language_id: str, before: str, middle: str, after: str) -> bool | None:
    """Whether a text has no syntax error; None where no grammar is known, or it takes too long."""
    limit = TimeLimit(_PARSE_LIMIT_S)
    try:
        tree = parse_text(language_id, before + middle + after, limit)
        return None if tree is None else not faults(tree, limit)
    except OutOfTimeError:
        return None


class Projects:
    """The memories of the folders that holes were cut from, each made when it is first asked.

    The hole's file is remembered as it is without the middle, and without copies of the hole's lines: the same between
    the same lines. A file elsewhere that has such a copy is left out until the next hole is asked.
    """

    def __init__(self) -> None:
        self._memories: dict[Path, ProjectMemory] = {}
        self._plain: dict[Path, str] = {}
        self._restore: Callable[[], None] = lambda: None

    def recall(self, hole: HoleInFile) -> tuple[list[tuple[str, float]], str, Callable[[str], str]]:
        """Texts and their chances, best first; lines like those before the hole; how a middle goes on."""
        self._restore()
        self._restore = lambda: None
        if hole.root is None:
            return self._ask(ProjectMemory(MemorySettings(), keep=False), hole, f"untitled:{hole.path}", None)
        memory = self._memory(hole.root)
        copies = [path for path in self._copies(hole.root, hole) if path != hole.path]
        for path in copies:
            memory.forget(str(path))

        def restore() -> None:
            memory.close(hole.path.as_uri())
            for path in copies:
                memory.refresh(str(path))

        self._restore = restore
        return self._ask(memory, hole, hole.path.as_uri(), str(hole.path))

    def _ask(
        self, memory: ProjectMemory, hole: HoleInFile, uri: str, path: str | None
    ) -> tuple[list[tuple[str, float]], str, Callable[[str], str]]:
        prefix, suffix = without_copies(hole)
        memory.open(uri, path, hole.language_id, prefix + suffix)
        snapshot = DocumentSnapshot(uri, hole.language_id, 0, prefix + suffix)
        found = memory.drafts(snapshot, len(prefix), hole.max_lines, hole.min_indent)
        neighbour = memory.neighbour(snapshot, len(prefix))
        lines, indent = hole.max_lines, hole.min_indent
        ahead = partial(memory.continuation, snapshot, len(prefix), max_lines=lines, min_indent=indent)
        return [(draft.text, draft.score) for draft in found], neighbour, ahead

    def _memory(self, root: Path) -> ProjectMemory:
        if root not in self._memories:
            self._memories[root] = memory = ProjectMemory(MemorySettings(), keep=False)
            for _ in memory.scan(root):
                pass
        return self._memories[root]

    def _copies(self, root: Path, hole: HoleInFile) -> list[Path]:
        """Files that have the hole's line or lines, and those next to them, as the hole's own file has them."""
        head, _, last = hole.prefix.rpartition("\n")
        first, _, tail = hole.suffix.partition("\n")
        whole = "\n".join([*_lines(head)[-1:], *_lines(last + hole.middle + first), *_lines(tail)[:1]])
        files = (path for path in root.rglob(f"*{hole.path.suffix}") if path.is_file())
        return [path for path in files if whole in self._text(path)]

    def _text(self, path: Path) -> str:
        if path not in self._plain:
            text = path.read_bytes().decode("utf-8", "replace")
            self._plain[path] = "\n".join(_lines(text))
        return self._plain[path]


def without_copies(hole: HoleInFile) -> tuple[str, str]:
    """The texts before and behind a hole, without its line or lines where they stand between the same lines again."""
    lines = (hole.prefix + hole.middle + hole.suffix).splitlines(keepends=True)
    first, last = (len(f"{text}.".splitlines()) - 1 for text in (hole.prefix, hole.prefix + hole.middle))
    numbers = [number for number, line in enumerate(lines) if line.strip()]
    plain = [lines[number].strip() for number in numbers]
    own = [place for place, number in enumerate(numbers) if first <= number <= last]
    n_before = min(1, own[0])
    whole = plain[own[0] - n_before : own[-1] + 2]
    copies: set[int] = set()
    for start in range(len(plain) - len(whole) + 1):
        if plain[start : start + len(whole)] == whole:
            copies.update(numbers[start + n_before :][: len(own)])
    before = "".join(line for number, line in enumerate(lines[:first]) if number not in copies)
    after = "".join(line for number, line in enumerate(lines[last + 1 :], last + 1) if number not in copies)
    start, end = len("".join(lines[:first])), len("".join(lines[last + 1 :]))
    return before + hole.prefix[start:], hole.suffix[: len(hole.suffix) - end] + after


def _lines(text: str) -> list[str]:
    """Without indentation and blank lines."""
    return [line.strip() for line in text.splitlines() if line.strip()]
