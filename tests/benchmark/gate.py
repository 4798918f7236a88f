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
import re
import subprocess
import sys
import tempfile
import time
import tomllib
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from shutil import which

from midspan_lsp.syntax.languages import language_id_of, parser_for
from midspan_lsp.syntax.validate import validate
from midspan_lsp.types import Span, Verdict

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
    files = _files(options.folders)
    languages = [
        name for name in sorted(files) if name in _CHECKS and (not options.language or name in options.language)
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


def _files(folders: list[Path]) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = defaultdict(list)
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            language_id = language_id_of(path, "")
            if language_id and path.is_file() and 200 < path.stat().st_size < _MOST_BYTES:
                found[language_id].append(path)
    return found


def _measure(
    name: str, paths: list[Path], n_wanted: int, rng: random.Random
) -> tuple[Counter[str], list[float], list[dict[str, str]]]:
    counts: Counter[str] = Counter()
    times: list[float] = []
    found: list[dict[str, str]] = []
    sound = _CHECKS[name]
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
            hole = _cut(text, rng)
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


def _cut(text: str, rng: random.Random) -> Span | None:
    """From a random place in a line to its end, or one to three lines further."""
    breaks = [match.start() for match in re.finditer("\n", text)]
    if len(breaks) < 6:
        return None
    line = rng.randrange(1, len(breaks) - 4)
    start, end = breaks[line - 1] + 1, breaks[line]
    indent = len(text[start:end]) - len(text[start:end].lstrip())
    if not text[start:end].strip():
        return None
    place = rng.choice([start + indent, rng.randrange(start + indent, end)])
    return Span(place, breaks[line + rng.choice([0, 0, 0, 1, 3])])


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


def _by_command(*command: str, ending: str = "", refused: str = "") -> Callable[[str, Path], bool] | None:
    """A check by a program that is given a file; `refused` is what it says of a syntax error, if it says more."""
    if which(command[0]) is None:
        return None

    def sound(text: str, path: Path) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / f"{path.stem or 'a'}{ending or path.suffix}"
            copy.write_text(text, encoding="utf-8", newline="")
            done = subprocess.run([*command, str(copy)], capture_output=True, text=True, check=False, errors="replace")
        return re.search(refused, done.stderr + done.stdout) is None if refused else done.returncode == 0

    return sound


def _python(text: str, _path: Path) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "a.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def _json(text: str, _path: Path) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _toml(text: str, _path: Path) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _yaml() -> Callable[[str, Path], bool] | None:
    try:
        import yaml
    except ImportError:
        return None

    def sound(text: str, _path: Path) -> bool:
        try:
            for _ in yaml.parse(text):
                pass
        except yaml.YAMLError:
            return False
        return True

    return sound


# what gcc says of names and types is not syntax; what is below is
_GCC = (
    r"fatal error|error: (?:expected|stray|missing terminating|unterminated|extraneous|'else' without"
    r"|.* before '.*' token)"
)
_JAVAC = (
    r"error: (?:.*expected|illegal start|class, interface|not a statement|reached end|unclosed|'\w+' without|orphaned"
    r"|<identifier>|invalid method|illegal character|unnamed classes|empty character|unexpected)"
)
_ALL: dict[str, Callable[[str, Path], bool] | None] = {
    "python": _python,
    "json": _json,
    "toml": _toml,
    "yaml": _yaml(),
    "javascript": _by_command("node", "--check", ending=".mjs"),
    "go": _by_command("gofmt", "-e", "-l"),
    "rust": _by_command("rustfmt", "--check", "--edition", "2021", "--config", "skip_children=true", refused=r"^error"),
    "ruby": _by_command("ruby", "-c"),
    "php": _by_command("php", "-l"),
    "shellscript": _by_command("bash", "-n"),
    "lua": _by_command("luac5.4", "-p"),
    "c": _by_command("gcc", "-fsyntax-only", "-w", refused=_GCC),
    "java": _by_command("javac", "-proc:none", "-implicit:none", refused=_JAVAC),
}
_CHECKS = {name: check for name, check in _ALL.items() if check is not None and parser_for(name) is not None}

if __name__ == "__main__":
    sys.exit(main())
