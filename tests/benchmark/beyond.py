"""Are two holes filled better together than one after the other? `python tests/benchmark/beyond.py FOLDER...`

From functions of real code two lines are cut that do not touch, and filled by the model alone, without the project's
memory, in these ways:

    alone      each for itself, a placeholder in the other
    in turn    the first as before, then the second in the light of it: what the server does
    again      then the first once more, in the light of the second
    together   both in one block of masks, as many as the tokens that came in turn
    surest     the same, the surest slot being committed first wherever it stands, instead of the leftmost
    told       as together, with the true lengths: more than any search for lengths could bring

The work file keeps what was measured: a run goes on where the last one ended, and ends by itself after `--seconds`.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from code_holes import code_files
from joint_holes import Never, TwoHoles, surest
from midspan_lsp.syntax.broken_lines import document_faults
from midspan_lsp.syntax.placeholders import function_spans
from midspan_lsp.types import Span
from midspan_model.config import DenoiseConfig
from midspan_model.denoising import policies
from midspan_model.embedded import load_embedded
from midspan_model.evaluation.metrics import mean
from midspan_model.infilling import Infiller
from midspan_model.questions import Question

WAYS = ("alone", "in turn", "again", "together", "surest", "told")
_MOST_CHARACTERS = 1500
_MOST_BETWEEN = 120
_MOST_BEFORE, _MOST_BEHIND = 2000, 200
_LEAST_LANGUAGES = 6
_LINE = re.compile(r"[^\n]*\S[^\n]*")
_NO_STATEMENT = re.compile(r"\s*(?:[)\]}]|#|//|/?\*|\"\"\"|'''|(?:else|try|finally|do)\b|\w+:$)|.*[{(\[,\\]$")


@dataclass(frozen=True)
class Pair:
    """Two holes of one function, by offsets of their file."""

    language: str
    path: str
    first: tuple[int, int]
    second: tuple[int, int]


def main() -> None:
    """Measure what was not measured yet; print the figures of all there is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--n", type=int, default=80, help="functions in all, spread over the languages")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", type=Path, required=True, help="file that keeps what was measured")
    parser.add_argument("--prefix-tokens", type=int, default=160)
    parser.add_argument("--seconds", type=float, default=200.0, help="ends after so long, to be called again")
    given = parser.parse_args()
    known = read(given.work)
    left = [one for one in pairs(given.folders, given.n, given.seed) if asdict(one) not in [k["pair"] for k in known]]
    ends_s = time.monotonic() + given.seconds
    if left:
        torch.set_num_threads(1)
        config = DenoiseConfig(prefix_tokens=given.prefix_tokens, neighbour_tokens=0)
        infiller = load_embedded(config, lambda _what, _done, _total: None)
        with given.work.open("a", encoding="utf-8") as out:
            for number, pair in enumerate(left):
                if time.monotonic() > ends_s:
                    print(f"{len(left) - number} functions are left", file=sys.stderr)
                    break
                out.write(json.dumps({"pair": asdict(pair), **measure(pair, infiller)}) + "\n")
                out.flush()
    print_figures(read(given.work))


def read(work: Path) -> list[dict[str, object]]:
    """What was measured so far, pairs as they are made."""
    lines = work.read_text(encoding="utf-8").splitlines() if work.exists() else []
    found = [json.loads(line) for line in lines]
    for one in found:
        one["pair"] = {key: tuple(value) if isinstance(value, list) else value for key, value in one["pair"].items()}
    return found


def measure(pair: Pair, infiller: Infiller) -> dict[str, object]:
    """Both middles in every way, and what each cost."""
    text = Path(pair.path).read_bytes().decode()
    (a, b), (c, d) = pair.first, pair.second
    prefix, between, suffix = text[:a], text[b:c], text[d:]
    wanted = (text[a:b], text[c:d])
    mark = "..." if pair.language == "python" else "/* TODO */"
    n_forwards = dict.fromkeys(WAYS, 0)

    def ask(before: str, after: str) -> tuple[str, int]:
        question = Question(before[-_MOST_BEFORE:], after[:_MOST_BEHIND], language_id=pair.language)
        middle = infiller.infill(question, Never())
        return ("", 0) if middle is None else (middle.text.strip(), middle.cost.n_forwards)

    first, n_first = ask(prefix, mark.join([between, suffix]))
    alone, n_alone = ask(prefix + mark + between, suffix)
    second, n_second = ask(prefix + first + between, suffix)
    again, n_again = ask(prefix, between + second + suffix)
    found: dict[str, tuple[str, str]] = {"alone": (first, alone), "in turn": (first, second), "again": (again, second)}
    n_forwards.update({"alone": n_first + n_alone, "in turn": n_first + n_second})
    n_forwards["again"] = n_forwards["in turn"] + n_again
    two = TwoHoles(infiller, prefix[-_MOST_BEFORE:], between, suffix[:_MOST_BEHIND])
    for way, drafts, policy in (
        ("together", (first, second), policies.threshold),
        ("surest", (first, second), surest),
        ("told", wanted, policies.threshold),
    ):
        before = two.cost.n_forwards
        filled = two.fill(drafts, policy) if all(drafts) else None
        found[way] = (filled[0].strip(), filled[1].strip()) if filled else ("", "")
        n_forwards[way] = two.cost.n_forwards - before + (n_forwards["in turn"] if way != "told" else 0)
    faults = len(document_faults(text, pair.language) or ())
    parses = {way: _n_faults(pair, text, middles) <= faults for way, middles in found.items()}
    return {"wanted": wanted, "found": found, "n_forwards": n_forwards, "parses": parses}


def _n_faults(pair: Pair, text: str, middles: tuple[str, str]) -> int:
    (a, b), (c, d) = pair.first, pair.second
    return len(document_faults(text[:a] + middles[0] + text[b:c] + middles[1] + text[d:], pair.language) or ())


def print_figures(found: list[dict[str, object]]) -> None:
    """A line for each way: exact match of holes and of whole pairs, parse rate, forwards; and the paired difference."""
    if not found:
        return
    print(f"{len(found)} functions; difference: exact holes against `in turn`, in pairs; 95 % bootstrap intervals")
    names = f"{'holes exact':>22} {'first':>7} {'second':>7} {'both':>7} {'parses':>22} {'forwards':>9}"
    print(f"{'way':10} {names}  difference")
    base = [_exact(one, "in turn") for one in found]
    for way in WAYS:
        exact = [_exact(one, way) for one in found]
        share = mean([sum(one) / 2 for one in exact])
        first, second = (sum(one[n] for one in exact) / len(exact) for n in (0, 1))
        both = sum(all(one) for one in exact) / len(exact)
        parses = mean([one["parses"][way] for one in found])  # pyright: ignore[reportIndexIssue]
        cost = sum(one["n_forwards"][way] for one in found) / len(found)  # pyright: ignore[reportIndexIssue]
        apart = mean([(sum(own) - sum(other)) / 2 for own, other in zip(exact, base, strict=True)])
        row = f"{way:10} {_shown(share):>22} {first:7.1%} {second:7.1%} {both:7.1%} {_shown(parses):>22} {cost:9.1f}"
        print(f"{row}  {_shown(apart)}")


def _exact(one: dict[str, object], way: str) -> tuple[bool, bool]:
    own, wanted = one["found"][way], one["wanted"]  # pyright: ignore[reportIndexIssue]
    return own[0].strip() == wanted[0].strip(), own[1].strip() == wanted[1].strip()


def _shown(estimate: object) -> str:
    return f"{estimate.value:.1%} ({estimate.low:.1%} to {estimate.high:.1%})"  # pyright: ignore[reportAttributeAccessIssue]


def pairs(folders: list[Path], n: int, seed: int) -> Iterator[Pair]:
    """Pairs of all languages in turns, one from a function."""
    rng = random.Random(seed)
    by_language: dict[str, list[Pair]] = {}
    files = [(name, path) for folder in folders for name, paths in code_files([folder]).items() for path in paths]
    rng.shuffle(files)
    for name, path in files:
        own = by_language.setdefault(name, [])
        if len(own) >= -(-n // _LEAST_LANGUAGES):
            continue
        try:
            text = path.read_bytes().decode()
        except UnicodeDecodeError:
            continue
        spans = [span for span in function_spans(text, name) if span.end - span.start < _MOST_CHARACTERS]
        if "\r" not in text and spans:
            own += filter(None, [_pair(name, path, text, rng.choice(spans), rng)])
    turns = max((len(found) for found in by_language.values()), default=0)
    several = [found[turn] for turn in range(turns) for _, found in sorted(by_language.items()) if turn < len(found)]
    yield from several[:n]


def _pair(language: str, path: Path, text: str, span: Span, rng: random.Random) -> Pair | None:
    lines = [match.span() for match in _LINE.finditer(text, span.start, span.end)][1:]
    holes = list[tuple[int, int]]()
    for start, end in lines:
        line = text[start:end]
        own = line.strip()
        if 8 <= len(own) <= 60 and not _NO_STATEMENT.match(line.rstrip()) and not own.endswith(":"):
            holes.append((start + len(line) - len(line.lstrip()), start + len(line.rstrip())))
    apart = [
        (one, other)
        for number, one in enumerate(holes)
        for other in holes[number + 1 :]
        if "\n" in text[one[1] : other[0]].strip("\n \t") or text[one[1] : other[0]].strip()
    ]
    near = [(one, other) for one, other in apart if other[0] - one[1] <= _MOST_BETWEEN]
    if not near:
        return None
    first, second = rng.choice(near)
    return Pair(language, str(path), first, second)


if __name__ == "__main__":
    sys.exit(main())
