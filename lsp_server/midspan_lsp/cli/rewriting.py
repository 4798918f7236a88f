"""`midspan refill`, `midspan fill` and `midspan repair`: a diff of what would change, written only if asked for."""

from __future__ import annotations

import asyncio
import codecs
import difflib
import re
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

from midspan_lsp.cli.infill import loaded_engine
from midspan_lsp.cli.source_file import read_document, read_place, workspace_of
from midspan_lsp.config import MemorySettings, Settings
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine.gaps import Rewrite
from midspan_lsp.engine.rewriting import Rewriter
from midspan_lsp.errors import DocumentError
from midspan_lsp.types import Span

_SELECTION = re.compile(r"(?P<path>.+):(?P<start>[0-9]{1,9}:[0-9]{1,9})-(?P<end>[0-9]{1,9}:[0-9]{1,9})", re.DOTALL)
_LINE = re.compile(r"(?P<path>.+):(?P<line>[0-9]{1,9})", re.DOTALL)


@dataclass(frozen=True)
class Options:
    """What the command line asks for.

    Attributes:
        write: put the change into the file.
        choose: which of several; they count from 1.
        model: a checkpoint folder; empty: the embedded model.
        workspace: the project's folder; None: it is looked for.
        memory: whether the project's text is looked at.
    """

    write: bool = False
    choose: int = 1
    model: str = ""
    workspace: str | None = None
    memory: bool = True


def refill(selection: str, options: Options) -> int:
    """Print other ways to write FILE:LINE:COL-LINE:COL, whose end is not part of it.

    Raises:
        InfillError: there is no such place, or the model cannot be had.
    """
    match = _SELECTION.fullmatch(selection)
    if match is None:
        raise DocumentError(f"{selection}: not a selection", hint="Give FILE:LINE:COL-LINE:COL, such as a.py:3:5-3:20.")
    snapshot, start = read_place(f"{match['path']}:{match['start']}")
    end = read_place(f"{match['path']}:{match['end']}")[1]
    if start >= end:
        raise DocumentError(f"{selection}: its end does not come after its start")
    return _run(match["path"], snapshot, lambda rewriter: rewriter.refill(snapshot, Span(start, end)), options)


def fill(place: str, options: Options) -> int:
    """Print the function around FILE:LINE with its holes filled; without a line the first function that has any.

    Raises:
        InfillError: there is no such place or no hole, or the model cannot be had.
    """
    match = _LINE.fullmatch(place)
    path = match["path"] if match else place
    snapshot = read_document(path)
    start = read_place(f"{place}:1")[1] if match else _first_hole(snapshot)
    end = snapshot.lines.line_span(snapshot.lines.line_of(start))[1]

    async def ask(rewriter: Rewriter) -> list[Rewrite]:
        found = await rewriter.fill(snapshot, Span(start, end))
        return [found] if found else []

    return _run(path, snapshot, ask, options)


def repair(path: str, options: Options) -> int:
    """Print the file with its syntax errors mended.

    Raises:
        InfillError: it cannot be read, has no error or no grammar, or the model cannot be had.
    """
    from midspan_lsp.syntax.broken_lines import document_faults  # noqa: PLC0415

    snapshot = read_document(path)
    faults = document_faults(snapshot.text, snapshot.language_id)
    if faults is None:
        raise DocumentError(f"{path}: no grammar for this language is installed", hint="See `midspan doctor`.")
    if not faults:
        print(f"midspan: {path} has no syntax error", file=sys.stderr)
        return 0

    async def ask(rewriter: Rewriter) -> list[Rewrite]:
        found = await rewriter.repair(snapshot)
        return [found] if found else []

    return _run(path, snapshot, ask, options)


def _first_hole(snapshot: DocumentSnapshot) -> int:
    from midspan_lsp.syntax.placeholders import first_placeholder  # noqa: PLC0415

    hole = first_placeholder(snapshot.text, snapshot.language_id)
    if hole is None:
        raise DocumentError(f"{snapshot.path} has nothing to fill", hint="Mark what is to come with ... or TODO.")
    return hole.span.start


def _run(
    path: str, snapshot: DocumentSnapshot, ask: Callable[[Rewriter], Awaitable[list[Rewrite]]], options: Options
) -> int:
    """Print what is found; 1 if nothing is."""
    folder = workspace_of(snapshot, options.workspace) if options.memory else None
    settings = Settings(memory=MemorySettings(enabled=options.memory))
    settings = replace(settings, model=replace(settings.model, path=options.model))

    async def find() -> list[Rewrite]:
        async with loaded_engine(settings, snapshot, folder) as engine:
            return await ask(engine.rewriter.without_limit())

    found = asyncio.run(find())
    if not found:
        print("midspan: nothing better was found", file=sys.stderr)
        return 1
    if options.choose > len(found):
        raise DocumentError(f"only {len(found)} to choose from; there is no number {options.choose}")
    for number, one in enumerate(found, start=1):
        several = f"{number} of {len(found)}, " if len(found) > 1 else ""
        gaps = f", {len(one.middles)} of {one.n_gaps} done" if one.n_gaps > 1 else ""
        print(f"# {several}probability {one.probability:.2f}{gaps}")
        print(_diff(path, one), end="")
    if options.write:
        _write(Path(path), found[options.choose - 1])
    return 0


def _diff(path: str, rewrite: Rewrite) -> str:
    before, after = (text.splitlines(keepends=True) for text in (rewrite.before, rewrite.after))
    lines = difflib.unified_diff(before, after, path, path)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _write(path: Path, rewrite: Rewrite) -> None:
    """Write the change, if the file is still what it was made for."""
    content = path.read_bytes()
    mark = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
    if content != mark + rewrite.before.encode():
        raise DocumentError(f"{path} has changed meanwhile; nothing was written")
    path.write_bytes(mark + rewrite.after.encode())
