"""What is typed: rests of lines of real files, chosen by a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from midspan_lsp.documents import LineIndex

LANGUAGES = {
    ".py": "python",
    ".js": "javascript",
    ".jsx": "javascriptreact",
    ".ts": "typescript",
    ".tsx": "typescriptreact",
    ".go": "go",
    ".rs": "rust",
}
_COMMENTS = ("#", "//", "/*", "*", '"""')
_MIN_CHARACTERS, _MAX_CHARACTERS = 3, 120


@dataclass(frozen=True)
class Hole:
    """The rest of a line that is deleted and typed again.

    Attributes:
        path: of the file.
        language_id: as an editor names it.
        before: all text before.
        middle: what is deleted.
        after: all text behind.
    """

    path: Path
    language_id: str
    before: str
    middle: str
    after: str

    def text(self, n_typed: int = 0) -> str:
        """The document once so many characters of the middle are typed."""
        return self.before + self.middle[:n_typed] + self.after

    def position(self, n_typed: int = 0) -> tuple[int, int]:
        """Line and UTF-16 column of the cursor by then."""
        return LineIndex(self.text(n_typed)).position(len(self.before) + n_typed, "utf-16")


def choose_holes(paths: Sequence[Path], n: int, seed: int) -> list[Hole]:
    """Up to `n` holes, in as many files as there are; the same for the same files and seed."""
    files = [one for path in paths for one in _files(path)]
    generator = random.Random(seed)  # noqa: S311  (no secret)
    generator.shuffle(files)
    holes: list[Hole] = []
    while files and len(holes) < n:
        found = [(path, hole) for path in files if (hole := _hole(path, generator)) and hole not in holes]
        holes += [hole for _, hole in found]
        files = [path for path, _ in found]
    return holes[:n]


def lengthened(hole: Hole, n_lines: int) -> Hole:
    """The same hole in a file of at least so many lines: its own text repeated, in front of it and behind."""
    n_times = -(-n_lines // max(1, 2 * hole.text().count("\n")))
    whole = hole.before + hole.middle + hole.after
    return Hole(
        hole.path.with_stem(f"{hole.path.stem}_long"),
        hole.language_id,
        whole * n_times + hole.before,
        hole.middle,
        hole.after + whole * n_times,
    )


def _files(path: Path) -> Iterator[Path]:
    found = sorted(one for one in path.rglob("*") if one.suffix in LANGUAGES) if path.is_dir() else [path]
    return (one.absolute() for one in found if one.is_file())


def _hole(path: Path, generator: random.Random) -> Hole | None:
    text = path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
    starts = [start for start, end in _lines(text) if _is_code(text[start:end])]
    if not starts:
        return None
    start = generator.choice(starts)
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    indent = len(text[start:end]) - len(text[start:end].lstrip())
    place = generator.randint(max(start + indent + 1, end - _MAX_CHARACTERS), end - _MIN_CHARACTERS)
    return Hole(path, LANGUAGES.get(path.suffix, "plaintext"), text[:place], text[place:end], text[end:])


def _lines(text: str) -> Iterator[tuple[int, int]]:
    lines = LineIndex(text)
    return (lines.line_span(line) for line in range(lines.n_lines))


def _is_code(line: str) -> bool:
    stripped = line.strip()
    long_enough = len(stripped) > 2 * _MIN_CHARACTERS and line == line.rstrip()
    return long_enough and not stripped.startswith(_COMMENTS)
