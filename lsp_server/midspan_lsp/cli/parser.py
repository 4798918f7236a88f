"""The command line: every command and option."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from midspan_lsp import __version__


def build_parser() -> argparse.ArgumentParser:
    """The parser; `command` is the name of what was asked for."""
    parser = argparse.ArgumentParser(prog="midspan", description="Inline code completion by diffusion infilling.")
    parser.add_argument("--version", action="version", version=f"midspan {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, about: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}.")

    serve = add("serve", "run the language server (an editor starts this)")
    where = serve.add_mutually_exclusive_group()
    where.add_argument("--stdio", action="store_true", help="talk over standard input and output (the default)")
    where.add_argument("--tcp", metavar="[HOST:]PORT", help="wait for one editor on a TCP address (of this machine)")
    where.add_argument("--websocket", metavar="[HOST:]PORT", help="the same for a WebSocket")
    serve.add_argument("--allow-remote", action="store_true", help="let other machines connect: there is no password")
    serve.add_argument(
        "--allow-origin", action="append", default=[], metavar="URL", help="let this web page connect (WebSocket)"
    )
    serve.add_argument(
        "--shared", action="store_true", help="one model for all editor windows, in a process of its own"
    )

    _add_gateway(add)

    host = commands.add_parser("host-model")  # without a help text: servers start it
    host.add_argument("settings")

    infill = add("infill", "fill the middle at one place of a file")
    infill.add_argument("place", metavar="FILE:LINE:COL", help="line and column count from 1, columns in characters")
    infill.add_argument("--json", action="store_true", help="print one JSON object")
    infill.add_argument("--steps", action="store_true", help="show the draft after each forward")
    infill.add_argument(
        "--model", default="", metavar="FOLDER", help="a checkpoint folder instead of the embedded model"
    )
    infill.add_argument("--settings", metavar="FILE", help="your settings (TOML), as an editor would give them")
    infill.add_argument("--explain", action="store_true", help="say where the middle came from")
    _add_memory(infill)

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

    fetch = add("fetch", "get the embedded model's weights, or a published checkpoint, ahead of time")
    fetch.add_argument(
        "name", nargs="?", default="", metavar="NAME", help="of a checkpoint: OWNER/NAME, or dreamon ..."
    )
    fetch.add_argument("--again", action="store_true", help="even if they are there")

    doctor = add("doctor", "say what is installed and whether a completion works")
    doctor.add_argument("--settings", metavar="FILE", help="your settings (TOML), as an editor would give them")

    add("stats", "say what is kept of each project, and how often it had the middle that was shown")

    _add_bench(add)

    evaluate = add("evaluate", "measure the middles on held-out code, with the project's memory")
    evaluate.add_argument("arguments", nargs=argparse.REMAINDER, help="as of `python -m midspan_model.evaluation`")
    return parser


def _add_bench(add: Callable[[str, str], argparse.ArgumentParser]) -> None:
    bench = add("bench", "measure how fast a server answers who types real files")
    bench.add_argument("paths", nargs="*", metavar="PATH", help="files and folders to type (default: Midspan's own)")
    bench.add_argument("--holes", type=_positive, default=10, metavar="N", help="lines typed in each way (default: 10)")
    bench.add_argument("--seed", type=int, default=0, help="chooses the lines (default: 0)")
    bench.add_argument("--keys-per-second", type=_positive, default=5, metavar="N", help="the rhythm (default: 5)")
    bench.add_argument(
        "--uneven", type=float, default=0.0, metavar="X", help="deviation of its gaps by their mean (default: 0)"
    )
    bench.add_argument("--pacing", choices=["none", "adaptive", "fixed"], help="as the setting `completion.pacing`")
    bench.add_argument("--delay-ms", type=int, metavar="N", help="as the setting `completion.delay_ms`")
    bench.add_argument("--no-control", action="store_true", help="leave out the trunk typing from left to right")
    bench.add_argument("--llama", metavar="FOLDER", help="compare with llama.cpp: a folder with node-llama-cpp")
    bench.add_argument(
        "--model", default="", metavar="FOLDER", help="a checkpoint folder instead of the embedded model"
    )
    bench.add_argument("--plot", metavar="FILE", help="draw milliseconds by length of the middle (PNG)")


def _add_gateway(add: Callable[[str, str], argparse.ArgumentParser]) -> None:
    gateway = add("gateway", "answer over HTTP, for Zed and for tools that know Ollama, OpenAI, Codestral or llama.cpp")
    gateway.add_argument("--listen", metavar="HOST:PORT", help="default: 127.0.0.1:4390; port 0: any free one")
    gateway.add_argument(
        "--eagerness",
        choices=["low", "medium", "high", "always"],
        default="always",
        help="how likely a middle must be right to be answered (default: always)",
    )
    gateway.add_argument(
        "--model", default="", metavar="FOLDER", help="a checkpoint folder instead of the embedded model"
    )
    gateway.add_argument(
        "--workspace",
        action="append",
        default=[],
        metavar="FOLDER",
        help="a project to look for middles in; repeatable",
    )
    gateway.add_argument(
        "--allow", action="append", default=[], metavar="NAME", help="a host name that it goes by; repeatable"
    )
    gateway.add_argument(
        "--together", type=_positive, default=4, metavar="N", help="requests worked on at a time (default: 4)"
    )
    model = gateway.add_mutually_exclusive_group()
    model.add_argument("--shared", action="store_true", help="the model of `midspan serve --shared`")
    model.add_argument(
        "--ray",
        type=_range,
        metavar="N[-M]",
        help="N models, as replicas of Ray Serve; up to M while there is that much to do",
    )


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def _range(text: str) -> tuple[int, int]:
    least, dash, most = text.partition("-")
    found = _positive(least), _positive(most if dash else least)
    if found[0] > found[1]:
        raise ValueError(text)
    return found


def _add_memory(parser: argparse.ArgumentParser) -> None:
    memory = parser.add_mutually_exclusive_group()
    memory.add_argument(
        "--workspace", metavar="FOLDER", help="the project's folder; without it the nearest one above with a .git"
    )
    memory.add_argument("--no-memory", action="store_true", help="leave the rest of the project out of it")
