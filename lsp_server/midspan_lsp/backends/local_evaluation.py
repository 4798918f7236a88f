"""The model's evaluation, with what only the server knows: the project's text, and grammars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from midspan_lsp.backends.local import check_installed

if TYPE_CHECKING:
    from midspan_model.evaluation.holes import Hole
    from midspan_model.questions import Recalled


@dataclass(frozen=True)
class HoleInFile:
    """A hole that an evaluation asks about.

    Attributes:
        root: the folder of the project; None if the hole is of no project.
        path: the file, which the disk has with its middle, if it is of a project.
        language_id: as an editor names it.
        prefix: all text before.
        middle: what was cut out.
        suffix: all text behind.
        max_lines: most lines the answer may have.
        min_indent: columns the answer's lines are indented by at least.
    """

    root: Path | None
    path: Path
    language_id: str
    prefix: str
    middle: str
    suffix: str
    max_lines: int
    min_indent: int | None


def evaluate(
    arguments: Sequence[str],
    parses: Callable[[str, str, str, str], bool | None],
    recall: Callable[[HoleInFile], tuple[list[tuple[str, float]], str, Callable[[str], str]]],
) -> int:
    """The model's evaluation, with what only the server knows; the exit status.

    Args:
        arguments: of its command line.
        parses: (language id, text before, middle, text behind) -> whether the whole parses, if that is known.
        recall: middles from the project and their chances, best first; lines like those before the hole; and who knows
            how a middle goes on, until the next hole is asked.

    Raises:
        InfillError: packages are missing.
    """
    check_installed()
    from midspan_model.evaluation.command import main  # noqa: PLC0415
    from midspan_model.questions import Proposal, Recalled  # noqa: PLC0415

    def recalled(root: Path | None, hole: Hole) -> Recalled:
        path = Path(hole.origin) if root is None else root.parent / hole.origin
        texts = (hole.prefix, hole.middle, hole.suffix)
        asked = HoleInFile(root, path, hole.language_id, *texts, hole.max_lines, hole.min_indent)
        proposals, neighbour, ahead = recall(asked)
        return Recalled(tuple(Proposal(text, score) for text, score in proposals), neighbour, ahead)

    return main(arguments, parses, recalled)
