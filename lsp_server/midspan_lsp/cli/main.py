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

from midspan_lsp.cli.parser import build_parser
from midspan_lsp.errors import InfillError

Command = Callable[[argparse.Namespace], int]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `midspan`; the exit status: 0 done, 1 an error that was told, 2 wrong usage, 130 interrupted."""
    _mend_streams()
    options = build_parser().parse_args(arguments)
    try:
        status = _COMMANDS[options.command](options)
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


# Each command's module is imported only when it runs: a server must answer within a second.


def _serve(options: argparse.Namespace) -> int:
    # the protocol's classes all stay, and looking for garbage among them slows the start; `lsp.serve` ends this
    gc.disable()
    from midspan_lsp.cli.serve import Options, run  # noqa: PLC0415

    pages = tuple(options.allow_origin)
    return run(Options(options.tcp, options.websocket, options.allow_remote, pages, options.shared))


def _gateway(options: argparse.Namespace) -> int:
    from midspan_lsp.cli.gateway import Options, run  # noqa: PLC0415

    return run(
        Options(
            listen=options.listen,
            eagerness=options.eagerness,
            model=options.model,
            workspaces=tuple(options.workspace),
            allowed_hosts=tuple(options.allow),
            shared=options.shared,
            n_together=options.together,
            n_replicas=options.ray,
        )
    )


def _host_model(options: argparse.Namespace) -> int:
    from midspan_lsp.cli.host_model import run  # noqa: PLC0415

    return run(options.settings)


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
            settings=options.settings,
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
    command = {"refill": rewriting.refill, "fill": rewriting.fill, "repair": rewriting.repair}[options.command]
    return command(options.place, chosen)


def _fetch(options: argparse.Namespace) -> int:
    from midspan_lsp.cli.fetch import run  # noqa: PLC0415

    return run(options.name, again=options.again)


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
            pacing=options.pacing,
            delay_ms=options.delay_ms,
            uneven=options.uneven,
        )
    )


def _evaluate(options: argparse.Namespace) -> int:
    from midspan_lsp.cli.evaluate import run  # noqa: PLC0415

    return run(options.arguments)


def _stats(_: argparse.Namespace) -> int:
    from midspan_lsp.cli.stats import run  # noqa: PLC0415

    return run()


def _doctor(options: argparse.Namespace) -> int:
    from midspan_lsp.cli.doctor import run  # noqa: PLC0415

    return run(options.settings)


_COMMANDS: dict[str, Command] = {
    "serve": _serve,
    "gateway": _gateway,
    "host-model": _host_model,
    "infill": _infill,
    "refill": _rewrite,
    "fill": _rewrite,
    "repair": _rewrite,
    "fetch": _fetch,
    "doctor": _doctor,
    "stats": _stats,
    "bench": _bench,
    "evaluate": _evaluate,
}
