"""The command line's options."""

from __future__ import annotations

import argparse
from pathlib import Path

from midspan_model.evaluation.checkpoint_ways import POLICIES
from midspan_model.evaluation.code_lines import LANGUAGE_IDS
from midspan_model.evaluation.suites import SUITES
from midspan_model.evaluation.ways import WAY_NAMES
from midspan_model.families.spec import Length

_EXAMPLES = """\
The held-out repositories, then everything that is measured, on a new machine:
  python -m midspan_model.evaluation repositories held-out | sh
  python -m midspan_model.evaluation all --data humaneval_infilling --repositories held-out \\
      --way control --way midspan --way no-suffix --way one-at-a-time --run-programs
A published checkpoint: each of its ways to a length with each policy:
  python -m midspan_model.evaluation local --source FOLDER --model FOLDER --device cuda
One's own code:
  python -m midspan_model.evaluation local --source FOLDER
"""


def parser() -> argparse.ArgumentParser:
    """Of `python -m midspan_model.evaluation`."""
    made = argparse.ArgumentParser(
        prog="python -m midspan_model.evaluation",
        description="Measures how good the middles are: a table, then one JSON line.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = made.add_subparsers(dest="suite", required=True, metavar="SUITE")
    listing = commands.add_parser("repositories", help="print the commands that fetch the held-out repositories")
    listing.add_argument("folder", metavar="FOLDER", help="where they are to lie")
    listing.add_argument("--tuning", action="store_true", help="those that choices are made by, instead")
    for name, members in SUITES.items():
        suite = commands.add_parser(name, help="" if len(members) == 1 else ", ".join(members))
        _add_holes(suite)
        _add_ways(suite)
    return made


def _add_holes(suite: argparse.ArgumentParser) -> None:
    suite.add_argument("--data", type=Path, metavar="FOLDER", help="HumanEval-Infilling's files")
    suite.add_argument(
        "--repositories", type=Path, metavar="FOLDER", help="the held-out repositories, one sub-folder each"
    )
    suite.add_argument("--tuning", action="store_true", help="the folder holds those that choices are made by")
    suite.add_argument("--source", type=Path, action="append", default=[], metavar="FOLDER", help="other held-out code")
    suite.add_argument("--package", action="append", default=[], metavar="NAME", help="an installed held-out package")
    suite.add_argument("--language", action="append", default=[], choices=LANGUAGE_IDS, help="only holes of these")
    suite.add_argument("--n", type=int, help="holes a suite and language (local: 200; HumanEval: all)")
    suite.add_argument("--seed", type=int, default=3)
    suite.add_argument("--run-programs", action="store_true", help="run generated programs for pass@1, under limits")
    suite.add_argument("--time-limit", type=float, default=5.0, metavar="SECONDS", help="of each program")
    suite.add_argument("--memory-limit", type=int, default=512, metavar="MIB", help="of each program")


def _add_ways(suite: argparse.ArgumentParser) -> None:
    suite.add_argument(
        "--way", action="append", metavar="NAME", help=f"of answering, by default control and midspan: {WAY_NAMES}"
    )
    suite.add_argument("--model", default="", metavar="FOLDER", help="a checkpoint instead of the embedded model")
    suite.add_argument("--adapter", type=Path, metavar="FILE", help="a denoiser instead of the released one")
    suite.add_argument("--contexts", type=Path, metavar="FOLDER", help="keep encoded contexts here, 20 MB a hole")
    suite.add_argument("--threads", type=int, default=0, help="for the model; by default half of the processors")
    published = suite.add_argument_group("where --model is a published checkpoint, a folder or a name that was fetched")
    lengths = [length.value for length in Length]
    published.add_argument(
        "--length", action="append", default=[], choices=lengths, help="how middles get theirs, by default all ways"
    )
    published.add_argument(
        "--policy", action="append", default=[], metavar="NAME-N", help=f"by default {', '.join(POLICIES)}"
    )
    published.add_argument("--device", default="", help="cpu, cuda or mps; by default the best there is")
    published.add_argument("--weights", default="", help="float32, bfloat16, float16 or int8")
    suite.add_argument(
        "--answers", type=Path, metavar="FILE", help="write every answer here as it comes, one JSON line each"
    )
    suite.add_argument("--show", action="store_true", help="print every hole and its answers too")
