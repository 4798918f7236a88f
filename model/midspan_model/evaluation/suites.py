"""The suites by name, and how their holes are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from midspan_model.errors import ModelError
from midspan_model.evaluation.holes import CUTTERS, Hole, cut_holes
from midspan_model.evaluation.humaneval import FILES, read_humaneval
from midspan_model.evaluation.sources import SourceText

LOCAL = {f"local-{kind}": kind for kind in CUTTERS}
"""Suites of holes cut from source files, and their kinds."""

SUITES = {
    **{name: (name,) for name in (*FILES, *LOCAL)},
    "humaneval": tuple(FILES),
    "local": tuple(LOCAL),
    "all": (*FILES, *LOCAL),
}
"""What may be asked for, and the suites that it stands for."""


@dataclass(frozen=True)
class Suite:
    """Holes that are measured together.

    Attributes:
        name: as asked for.
        language_id: of all its holes.
        holes: in the order they are asked.
    """

    name: str
    language_id: str
    holes: tuple[Hole, ...]


def humaneval_suites(names: Sequence[str], folder: Path | None, n: int | None, seed: int) -> list[Suite]:
    """Those of the names that are HumanEval-Infilling's; all their tasks unless `n` is given.

    Raises:
        ModelError: no folder, or not the data set's.
    """
    wanted = [name for name in names if name in FILES]
    if wanted and folder is None:
        raise ModelError("these suites need HumanEval-Infilling's files", hint="--data names their folder.")
    return [
        Suite(name, "python", tuple(read_humaneval(folder, name, n if n is not None else 1 << 30, seed)))
        for name in wanted
        if folder is not None
    ]


def local_suites(names: Sequence[str], sources: Sequence[SourceText], n: int, seed: int) -> list[Suite]:
    """Those of the names that are cut from sources, one suite a language, with `n` holes each where there are so many.

    Raises:
        ModelError: a suite has no hole at all.
    """
    suites: list[Suite] = []
    for language_id in dict.fromkeys(source.language_id for source in sources):
        ours = [source for source in sources if source.language_id == language_id]
        for name in (name for name in names if name in LOCAL):
            holes = cut_holes(ours, LOCAL[name], n, seed)
            if not holes:
                raise ModelError(f"the {language_id} sources have no hole for {name}")
            suites.append(Suite(name, language_id, tuple(holes)))
    return suites
