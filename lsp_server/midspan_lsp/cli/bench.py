"""`midspan bench`: how fast a whole server answers who types real files, and how fast others would."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import midspan_lsp
from midspan_lsp.backends.local_control import Control, TypedLine, fetch_gguf
from midspan_lsp.bench import report
from midspan_lsp.bench.client import Editor
from midspan_lsp.bench.llama import Llama
from midspan_lsp.bench.machine import cpu_s, peak_megabytes, usable_processors
from midspan_lsp.bench.replay import Key, Rhythm, answer_when_ready, gaps_s, type_at_rhythm, type_patiently
from midspan_lsp.bench.traces import Hole, choose_holes, lengthened
from midspan_lsp.cli.progress import ProgressLine
from midspan_lsp.config import ModelSettings, Settings
from midspan_lsp.errors import DocumentError

_LONG_FILE_LINES = 2000
_KEYS_PER_HOLE = 8
_REST_S = 3.0
_WHOLE_MIDDLES = {"eagerness": "always", "timeout_ms": 600_000, "max_lines": 1}


@dataclass(frozen=True)
class Options:
    """What the command line asks for.

    Attributes:
        paths: files and folders whose lines are typed; none: Midspan's own.
        n_holes: lines typed at the rhythm, and as many patiently.
        seed: chooses them.
        keys_per_second: the rhythm.
        control: whether the trunk types the same lines from left to right.
        llama: folder with node-llama-cpp, which types them too; None: it does not.
        plot: picture to write; None: none.
        model: a checkpoint folder; empty: the embedded model.
        pacing: as of the setting; None: its default.
        delay_ms: as of the setting; None: its default.
        uneven: standard deviation of the gaps between keys, as a share of their mean.
    """

    paths: tuple[str, ...] = ()
    n_holes: int = 10
    seed: int = 0
    keys_per_second: float = 5.0
    control: bool = True
    llama: str | None = None
    plot: str | None = None
    model: str = ""
    pacing: str | None = None
    delay_ms: int | None = None
    uneven: float = 0.0

    @property
    def completion(self) -> dict[str, object]:
        """Those of the settings that are given."""
        given = {"pacing": self.pacing, "delay_ms": self.delay_ms}
        return {key: value for key, value in given.items() if value is not None}


def run(options: Options) -> int:
    """Measure, and print a table and one JSON line.

    Raises:
        InfillError: there is nothing to type, or the model cannot be had.
    """
    paths = tuple(Path(path).absolute() for path in options.paths) or (Path(midspan_lsp.__file__).parent,)
    holes = choose_holes(paths, 2 * options.n_holes, options.seed)
    if len(holes) < 2:
        raise DocumentError("no code to type in the files named", hint="Name files or folders with code.")
    folders = tuple(path for path in paths if path.is_dir())
    progress = ProgressLine()
    try:
        result: dict[str, Any] = {"processors": usable_processors(), "holes": len(holes)}
        result |= asyncio.run(_typed(holes, folders, options, progress))
        lines = _compared(holes, folders, options, progress)
    finally:
        progress.close()
    if lines:
        result["same_lines"] = report.comparison(lines)
    print(report.as_table(result))
    if options.plot and lines and not report.plot(lines, Path(options.plot)):
        print("no picture: matplotlib is not installed", file=sys.stderr)
    print(json.dumps({**result, "lines": report.as_points(lines)}))
    return 0


async def _typed(
    holes: Sequence[Hole], folders: tuple[Path, ...], options: Options, progress: ProgressLine
) -> dict[str, Any]:
    """Half of the holes typed patiently, the others at the rhythm, with the default settings."""
    progress.say("starting a server")
    editor = await Editor.start({"completion": options.completion, "model": {"path": options.model}}, folders)
    loaded_s = await editor.loaded()
    await asyncio.sleep(_REST_S)  # the folders are read meanwhile
    half = len(holes) // 2
    long_hole = lengthened(holes[0], _LONG_FILE_LINES)
    (first,) = await type_patiently(editor, long_hole, 1)
    patient: list[Key] = []
    for number, hole in enumerate(holes[:half], start=1):
        progress.say(f"typing patiently, line {number} of {half}")
        patient += await type_patiently(editor, hole, _KEYS_PER_HOLE)
    rhythm: list[Rhythm] = []
    gaps = gaps_s(options.keys_per_second, options.uneven, options.seed)
    for number, hole in enumerate(holes[half:], start=1):
        progress.say(f"typing {options.keys_per_second:g} keys a second, line {number} of {len(holes) - half}")
        rhythm.append(await type_at_rhythm(editor, hole, gaps))
    await asyncio.sleep(_REST_S)
    before_s = cpu_s(editor.pid)
    await asyncio.sleep(_REST_S)
    after_s = cpu_s(editor.pid)
    megabytes = peak_megabytes(editor.pid)
    await editor.stop()
    return {
        "loaded_s": round(loaded_s, 2),
        "first_in_long_file_ms": None if first.ms is None else round(first.ms, 1),
        "patient": report.latencies(patient),
        "rhythm": report.costs(rhythm),
        "idle_cpu_s": None if before_s is None or after_s is None else round(after_s - before_s, 2),
        "peak_megabytes": megabytes and round(megabytes),
    }


def _compared(
    holes: Sequence[Hole], folders: tuple[Path, ...], options: Options, progress: ProgressLine
) -> dict[str, list[report.Line]]:
    """The same lines by the server, which is to give all its middles, by the control and by llama.cpp."""
    if not options.control and options.llama is None:
        return {}
    ours = asyncio.run(_whole_middles(holes, folders, options.model, progress))
    progress.say("loading the control")
    control = Control(Settings(model=ModelSettings(path=options.model)), progress)
    n_wanted = [control.n_tokens(hole.middle) for hole in holes]
    typed = {"midspan": [TypedLine(key.shown, key.ms or 0.0, control.n_tokens(key.shown)) for key in ours]}
    if options.control:
        progress.say("the control types")
        typed["control"] = [control.type_line(hole.before) for hole in holes]
    if options.llama is not None:
        gguf = fetch_gguf(progress)
        progress.say("llama.cpp types")
        with Llama(Path(options.llama), gguf, control.n_threads) as llama:
            typed["llama.cpp"] = [llama.type_line(control.seen(hole.before)) for hole in holes]
    return {
        name: [report.compared(*one) for one in zip(holes, n_wanted, own, strict=True)] for name, own in typed.items()
    }


async def _whole_middles(
    holes: Sequence[Hole], folders: tuple[Path, ...], model: str, progress: ProgressLine
) -> list[Key]:
    progress.say("starting a server that shows every middle")
    editor = await Editor.start({"completion": _WHOLE_MIDDLES, "model": {"path": model}}, folders)
    await editor.loaded()
    await asyncio.sleep(_REST_S)
    keys: list[Key] = []
    for number, hole in enumerate(holes, start=1):
        progress.say(f"whole middles, line {number} of {len(holes)}")
        keys.append(await answer_when_ready(editor, hole))
    await editor.stop()
    return keys
