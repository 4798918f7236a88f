"""Reads the command line and starts one command."""

from __future__ import annotations

import argparse
import gc
import io
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from midspan_lsp import __version__
from midspan_lsp.errors import InfillError

Command = Callable[[argparse.Namespace], int]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `midspan`; the exit status: 0 done, 1 an error that was told, 2 wrong usage, 130 interrupted."""
    _mend_streams()
    options = _parser().parse_args(arguments)
    command: Command = options.command
    try:
        status = command(options)
        sys.stdout.flush()
    except InfillError as error:
        print(f"midspan: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader of our output has gone, as in `midspan doctor | head -1`
        sys.stdout = _nowhere()
        return 1
    except OSError as error:  # the file's errors are told by then: this is our own output
        print(f"midspan: {error}", file=sys.stderr)
        sys.stdout = _nowhere()
        return 1
    except KeyboardInterrupt:
        sys.stderr.flush()
        os._exit(130)  # the worker may be in the midst of loading: nobody waits for it
    return status


def _mend_streams() -> None:
    """Closed streams lead nowhere, and what a terminal cannot show becomes a question mark."""
    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="midspan", description="Inline code completion by diffusion infilling.")
    parser.add_argument("--version", action="version", version=f"midspan {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, about: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}.")

    serve = add("serve", "run the language server (an editor starts this)")
    where = serve.add_mutually_exclusive_group()
    where.add_argument("--stdio", action="store_true", help="talk over standard input and output (the default)")
    where.add_argument("--tcp", metavar="HOST:PORT", help="listen on a TCP address instead")
    serve.set_defaults(command=_serve)

    infill = add("infill", "fill the middle at one place of a file")
    infill.add_argument("place", metavar="FILE:LINE:COL", help="line and column count from 1, columns in characters")
    infill.add_argument("--json", action="store_true", help="print one JSON object")
    infill.add_argument("--steps", action="store_true", help="show the draft after each forward")
    infill.add_argument(
        "--model", default="", metavar="FOLDER", help="a checkpoint folder instead of the embedded model"
    )
    infill.add_argument("--explain", action="store_true", help="say where the middle came from")
    _add_memory(infill)
    infill.set_defaults(command=_infill)

    for name, place, about in (
        ("refill", "FILE:LINE:COL-LINE:COL", "show up to three other ways to write a part of a file"),
        ("fill", "FILE[:LINE]", "fill the holes of a function: ..., TODO, pass and their like"),
        ("repair", "FILE", "mend the lines that carry a syntax error"),
    ):
        rewriting = add(name, about)
        rewriting.add_argument("place", metavar=place)
        rewriting.add_argument("--write", action="store_true", help="change the file, instead of only showing a diff")
        if name == "refill":
            rewriting.add_argument("--choose", type=_positive, default=1, metavar="N", help="which one to write")
        rewriting.add_argument("--model", default="", metavar="FOLDER", help="a checkpoint folder, as for infill")
        _add_memory(rewriting)
        rewriting.set_defaults(command=_rewrite, name=name)

    fetch = add("fetch", "get the embedded model's weights ahead of time")
    fetch.add_argument("--again", action="store_true", help="even if they are there")
    fetch.set_defaults(command=_fetch)

    doctor = add("doctor", "say what is installed and whether a completion works")
    doctor.set_defaults(command=_doctor)

    stats = add("stats", "say what is kept of each project, and how often it had the middle that was shown")
    stats.set_defaults(command=_stats)

    bench = add("bench", "measure how fast a server answers who types real files")
    bench.add_argument("paths", nargs="*", metavar="PATH", help="files and folders to type (default: Midspan's own)")
    bench.add_argument("--holes", type=_positive, default=10, metavar="N", help="lines typed in each way (default: 10)")
    bench.add_argument("--seed", type=int, default=0, help="chooses the lines (default: 0)")
    bench.add_argument("--keys-per-second", type=_positive, default=5, metavar="N", help="the rhythm (default: 5)")
    bench.add_argument("--no-control", action="store_true", help="leave out the trunk typing from left to right")
    bench.add_argument("--llama", metavar="FOLDER", help="compare with llama.cpp: a folder with node-llama-cpp")
    bench.add_argument(
        "--model", default="", metavar="FOLDER", help="a checkpoint folder instead of the embedded model"
    )
    bench.add_argument("--plot", metavar="FILE", help="draw milliseconds by length of the middle (PNG)")
    bench.set_defaults(command=_bench)

    evaluate = add("evaluate", "measure the middles on held-out code, with the project's memory")
    evaluate.add_argument("arguments", nargs=argparse.REMAINDER, help="as of `python -m midspan_model.evaluation`")
    evaluate.set_defaults(command=_evaluate)
    return parser


def _add_memory(parser: argparse.ArgumentParser) -> None:
    memory = parser.add_mutually_exclusive_group()
    memory.add_argument(
        "--workspace", metavar="FOLDER", help="the project's folder; without it the nearest one above with a .git"
    )
    memory.add_argument("--no-memory", action="store_true", help="leave the rest of the project out of it")


# Each command's module is imported only when it runs: a server must answer within a second.


def _serve(options: argparse.Namespace) -> int:
    # the protocol's classes all stay, and looking for garbage among them slows the start; `lsp.serve` ends this
    gc.disable()
    from midspan_lsp.cli.serve import run  # noqa: PLC0415

    return run(options.tcp)


def _infill(options: argparse.Namespace) -> int:
    from midspan_lsp.cli.infill import Options, run  # noqa: PLC0415

    return run(
        options.place,
        Options(
            as_json=options.json,
            steps=options.steps,
            explain=options.explain,
            model=options.model,
            workspace=options.workspace,
            memory=not options.no_memory,
        ),
    )


def _rewrite(options: argparse.Namespace) -> int:
    from midspan_lsp.cli import rewriting  # noqa: PLC0415

    chosen = rewriting.Options(
        write=options.write,
        choose=getattr(options, "choose", 1),
        model=options.model,
        workspace=options.workspace,
        memory=not options.no_memory,
    )
    command = {"refill": rewriting.refill, "fill": rewriting.fill, "repair": rewriting.repair}[options.name]
    return command(options.place, chosen)


def _fetch(options: argparse.Namespace) -> int:
    from midspan_lsp.cli.fetch import run  # noqa: PLC0415

    return run(again=options.again)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def _bench(options: argparse.Namespace) -> int:
    from midspan_lsp.cli.bench import Options, run  # noqa: PLC0415

    return run(
        Options(
            paths=tuple(options.paths),
            n_holes=options.holes,
            seed=options.seed,
            keys_per_second=options.keys_per_second,
            control=not options.no_control,
            llama=options.llama,
            plot=options.plot,
            model=options.model,
        )
    )


def _evaluate(options: argparse.Namespace) -> int:
    from midspan_lsp.cli.evaluate import run  # noqa: PLC0415

    return run(options.arguments)


def _stats(_: argparse.Namespace) -> int:
    from midspan_lsp.cli.stats import run  # noqa: PLC0415

    return run()


def _doctor(_: argparse.Namespace) -> int:
    from midspan_lsp.cli.doctor import run  # noqa: PLC0415

    return run()
