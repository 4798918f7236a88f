"""The command: from its options to a printed report."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TextIO

import torch

from midspan_model.checkpoints import load_infiller
from midspan_model.config import DenoiseConfig
from midspan_model.embedded import ADAPTER, fetch_trunk
from midspan_model.errors import ModelError
from midspan_model.evaluation.checkpoint_ways import open_run
from midspan_model.evaluation.contexts import ContextStore
from midspan_model.evaluation.holes import Hole
from midspan_model.evaluation.metrics import Answer
from midspan_model.evaluation.options import parser
from midspan_model.evaluation.parsing import Parses, parses_python
from midspan_model.evaluation.provenance import checkpoint_sha256, machine, weights_sha256
from midspan_model.evaluation.report import answer_lines, as_json, as_table, as_text, examples
from midspan_model.evaluation.repositories import (
    MEASURED,
    TUNING,
    Checkout,
    fetch_commands,
    find_checkouts,
    read_checkouts,
)
from midspan_model.evaluation.run import run_suite
from midspan_model.evaluation.sandbox import Limits, network_limit
from midspan_model.evaluation.sources import SourceText, package_folder, read_sources, without_copies
from midspan_model.evaluation.suites import LOCAL, SUITES, Suite, humaneval_suites, local_suites
from midspan_model.evaluation.ways import CONTROL, MIDSPAN, Propose, Retrieve, Way, ways_of
from midspan_model.families.fetching import resolve
from midspan_model.families.opening import is_published
from midspan_model.machine import best_threads
from midspan_model.questions import Recalled

_LOCAL_HOLES = 200


def main(
    arguments: Sequence[str] | None = None, parses: Parses = parses_python, propose: Retrieve | None = None
) -> int:
    """Run the command.

    Args:
        arguments: by default the process's own.
        parses: what is known of the languages' grammars.
        propose: (folder of the project, hole) -> middles from there, the best first.

    Returns:
        0 if it could be run.
    """
    options = parser().parse_args(arguments)
    if options.suite == "repositories":
        print(fetch_commands(options.folder, TUNING if options.tuning else MEASURED))
        return 0
    try:
        _evaluate(options, parses, propose)
    except ModelError as error:
        print(f"{error}\n{error.hint}".rstrip(), file=sys.stderr)
        return 1
    return 0


def _evaluate(options: argparse.Namespace, parses: Parses, propose: Retrieve | None) -> None:
    """Make the holes, answer them, print the report."""
    listed = TUNING if options.tuning else MEASURED
    checkouts = find_checkouts(options.repositories, listed) if options.repositories else []
    for complaint in filter(None, (checkout.complaint for checkout in checkouts)):
        print(complaint, file=sys.stderr)
    suites = _suites(options, checkouts)
    torch.set_num_threads(options.threads or best_threads())
    folder = resolve(options.model) if options.model else fetch_trunk(_say_progress)
    measure_published = bool(options.model) and is_published(folder)
    _check_options(options, is_published=measure_published)
    if measure_published:
        run = open_run(folder, options.length, options.policy, options.device, options.weights)
        ways, sha256, where = run.ways, checkpoint_sha256(folder), run.where
    else:
        ways, sha256, where = _ways_of_ours(options, folder, propose and _projects(options, propose))
    for way in ways.values():
        way(suites[0].holes[0])  # a first forward is slower than all others
    limits = Limits(options.time_limit, options.memory_limit) if options.run_programs else None
    with options.answers.open("w", encoding="utf-8") if options.answers else nullcontext() as file:
        on_hole = partial(_on_hole, file)
        results = [run_suite(suite, ways, parses, limits, on_hole) for suite in suites]
    if options.show:
        print("\n\n".join(map(examples, results)), end="\n\n")
    print(as_table(results) if measure_published else as_text(results))
    described = {
        "suite": options.suite,
        "seed": options.seed,
        "weights_sha256": sha256,
        "machine": machine(where),
        "programs": {"limits": vars(limits), "network": network_limit()} if limits else None,
        "repositories": {
            checkout.repository.name: {"measured": checkout.repository.commit, "found": checkout.commit}
            for checkout in checkouts
        },
        "results": as_json(results),
    }
    print(json.dumps(described))


def _ways_of_ours(
    options: argparse.Namespace, folder: Path, propose: Propose | None
) -> tuple[dict[str, Way], dict[str, str], str]:
    """The embedded model's ways, or those of another checkpoint of its kind; its files' sums, and its number type."""
    adapter = options.adapter or (folder / "adapter.safetensors" if options.model else ADAPTER)
    infiller = load_infiller(folder, DenoiseConfig(), adapter=adapter)
    sha256 = weights_sha256(folder, adapter)
    contexts = ContextStore(options.contexts, sha256["trunk"]) if options.contexts else None
    ways = ways_of(infiller, options.way or [CONTROL, MIDSPAN], contexts, propose)
    return ways, sha256, str(infiller.trunk.dtype).removeprefix("torch.")


def _check_options(options: argparse.Namespace, *, is_published: bool) -> None:
    """Refuse what would have no effect."""
    refused = ("way", "adapter", "contexts") if is_published else ("length", "policy", "device", "weights")
    for name in refused:
        if getattr(options, name):
            kind = "a checkpoint of the embedded model's kind" if is_published else "a published checkpoint"
            raise ModelError(f"--{name} is for {kind}", hint="--model names the checkpoint.")


def _projects(options: argparse.Namespace, propose: Retrieve) -> Propose:
    """Tells the folder that a hole's file lies in: its name comes first in the hole's origin."""
    given = [*options.source, *map(package_folder, options.package)]
    folders = {folder.resolve().name: folder.resolve() for folder in given}

    def recalled(hole: Hole) -> Recalled:
        name = hole.origin.split("/", maxsplit=1)[0]
        root: Path | None = folders.get(name) or (options.repositories and options.repositories.resolve() / name)
        return propose(root if root and (root.parent / hole.origin).is_file() else None, hole)

    return recalled


def _suites(options: argparse.Namespace, checkouts: list[Checkout]) -> list[Suite]:
    names = SUITES[options.suite]
    suites = humaneval_suites(names, options.data, options.n, options.seed)
    if any(name in LOCAL for name in names):
        n = _LOCAL_HOLES if options.n is None else options.n
        suites += local_suites(names, _sources(options, checkouts), n, options.seed)
    return suites


def _sources(options: argparse.Namespace, checkouts: list[Checkout]) -> list[SourceText]:
    folders = [*options.source, *map(package_folder, options.package)]
    if not folders and not checkouts:
        raise ModelError("no code to cut holes from", hint="Give --repositories, --source or --package.")
    found = read_checkouts(checkouts, options.language) if checkouts else []
    for folder in folders:
        found += read_sources(folder, language_ids=options.language)
    return without_copies(found)


def _say_progress(what: str, done: int, total: int) -> None:
    if not done:
        print(f"{what} ...", file=sys.stderr, flush=True)
    del total


def _on_hole(file: TextIO | None, suite: Suite, number: int, answers: Mapping[str, Answer]) -> None:
    """Keep the answers, since a long run may be cut short, and tell how far it is."""
    if file is not None:
        file.write(answer_lines(suite, answers))
        file.flush()
    if number % 10 == 0 or number == len(suite.holes):
        print(f"{suite.name} {suite.language_id}: {number} of {len(suite.holes)}", file=sys.stderr, flush=True)
