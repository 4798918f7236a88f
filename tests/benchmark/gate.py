"""How often the syntax gate and a second parser disagree: `python tests/benchmark/gate.py FOLDER... --n 2000`.

Holes are cut from the code files under the folders, and middles that stood there are spoilt (cut short, a bracket
dropped or doubled, lines indented wrong, the suffix repeated, another line of the file). Each middle is judged by the
gate and, in the whole file, by a parser of the language that is no tree-sitter, where one is installed. Files that this
parser refuses as they are, and files of more than 40 kB, are left out. The table counts, by language: middles; those
with which the second parser refuses the file; of these, those that the gate calls valid: "added" where the second
parser takes the file without the middle, or with a mere name in its place, so that the middle adds an error, "left"
where the file was broken and stays so; and last those that the gate refuses although the second parser takes the file.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from pathlib import Path

from code_holes import code_files, cut_hole
from midspan_lsp.syntax.validate import validate
from midspan_lsp.types import Span, Verdict
from second_parsers import CHECKS

_BRACKETS = "()[]{}"
_MOST_BYTES = 40_000


def main() -> None:
    """Print the table, and the disagreements as JSON lines to `--out`."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folders", nargs="+", type=Path)
    arguments.add_argument("--n", type=int, default=2000, help="middles in all, spread evenly over the languages")
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--language", action="append", help="only this one; may be given again")
    arguments.add_argument("--out", type=Path, help="where disagreements are written")
    options = arguments.parse_args()
    rng = random.Random(options.seed)
    files = code_files(options.folders)
    languages = [
        name for name in sorted(files) if name in CHECKS and (not options.language or name in options.language)
    ]
    disagreements = []
    print(f"{'language':16}{'middles':>8}{'broken':>8}{'added':>8}{'left':>8}{'false alarms':>14}{'ms median':>11}")
    total: Counter[str] = Counter()
    for name in languages:
        rng.shuffle(files[name])
        counts, times, found = _measure(name, files[name], max(options.n // len(languages), 1), rng)
        disagreements += found
        total += counts
        _row(name, counts, sorted(times)[len(times) // 2] if times else 0.0)
    _row("all", total, 0.0)
    if options.out:
        options.out.write_text("".join(json.dumps(one) + "\n" for one in disagreements), encoding="utf-8")


def _row(name: str, counts: Counter[str], ms: float) -> None:
    shown = f"{ms:>11.1f}" if ms else ""
    print(
        f"{name:16}{counts['middles']:>8}{counts['broken']:>8}{counts['added']:>8}{counts['left']:>8}"
        f"{counts['false']:>14}{shown}",
        flush=True,
    )


def _measure(
    name: str, paths: list[Path], n_wanted: int, rng: random.Random
) -> tuple[Counter[str], list[float], list[dict[str, str]]]:
    counts: Counter[str] = Counter()
    times: list[float] = []
    found: list[dict[str, str]] = []
    sound = CHECKS[name]
    for path in paths:
        if counts["middles"] >= n_wanted:
            break
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        if not sound(text, path):
            continue
        for _ in range(5):
            hole = cut_hole(text, rng)
            if hole is None or counts["middles"] >= n_wanted:
                continue
            document = text[: hole.start] + text[hole.end :]
            for kind, middle in _spoilt(text, hole, rng):
                if not middle.strip():
                    continue
                begin_s = time.perf_counter()
                report = validate(document, Span(hole.start, hole.start), middle, name, str(path))
                times.append((time.perf_counter() - begin_s) * 1e3)
                if report.verdict is Verdict.NO_OPINION:
                    counts["no opinion"] += 1
                    continue
                whole = sound(document[: hole.start] + middle + document[hole.start :], path)
                valid = report.verdict is Verdict.VALID
                counts["middles"] += 1
                counts["broken"] += not whole
                if valid != whole:
                    was_sound = any(
                        sound(document[: hole.start] + name_ + document[hole.start :], path) for name_ in ("", "x")
                    )
                    outcome = ("added" if was_sound else "left") if valid else "false"
                    counts[outcome] += 1
                    found.append({
                        "language": name, "path": str(path), "kind": kind, "outcome": outcome,
                        "gate": report.verdict.value,
                        "before": document[max(hole.start - 300, 0) : hole.start], "middle": middle,
                        "after": document[hole.start : hole.start + 300],
                    })  # fmt: skip
    return counts, times, found


def _spoilt(text: str, hole: Span, rng: random.Random) -> list[tuple[str, str]]:
    """What stood there, and the same spoilt in several ways."""
    middle = text[hole.start : hole.end]
    brackets = [index for index, character in enumerate(middle) if character in _BRACKETS]
    lines = middle.split("\n")
    behind = text[hole.end :].lstrip().split("\n", 1)[0]
    cut = rng.randrange(len(middle)) if middle else 0
    made = [("as it was", middle), ("cut short", middle[:cut])]
    if brackets:
        at = rng.choice(brackets)
        made += [
            ("a bracket dropped", middle[:at] + middle[at + 1 :]),
            ("a bracket doubled", middle[: at + 1] + middle[at] + middle[at + 1 :]),
        ]
    if len(lines) > 1:
        at = rng.randrange(1, len(lines))
        shifted = rng.choice([lines[at][1:], "  " + lines[at], lines[at].lstrip()])
        made.append(("indented wrong", "\n".join([*lines[:at], shifted, *lines[at + 1 :]])))
    if behind:
        made.append(("suffix repeated", middle + "\n" + behind))
    foreign = rng.choice(text.split("\n")).strip()
    made.append(("another line", foreign))
    return made


if __name__ == "__main__":
    sys.exit(main())
