"""The figures of `repair.py`: a table by language, what mending brought, and a picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from matplotlib.figure import Figure
from midspan_lsp.engine.outcome import Mended, Silence
from midspan_lsp.syntax.repair import MOST_ROUNDS

Result = dict[str, Any]
"""As `repair.ask` writes it."""


def print_figures(results: Sequence[Result], rounds: Sequence[Result], folder: Path) -> None:
    """Print all figures, and draw the picture into `folder`.

    Args:
        results: of all holes.
        rounds: of those whose drafts were broken, when they were masked again and nothing else.
        folder: for the picture.
    """
    _by_language(results)
    _choices([one for one in results if one.get("choices")])
    judged = [one for one in results if one["verdict"] != "no opinion"]
    broken = [one for one in judged if was_broken(one)]
    print("\nwhat was shown in place of a broken draft, how likely it was said to be, and how often it was right:")
    for kind in Mended:
        _likely_and_right(kind.value, [one for one in broken if one["mended"] == kind.value and _is_shown(one)])
    _likely_and_right("the same of all others", [one for one in judged if not was_broken(one) and _is_shown(one)])
    before, after = (sum(_is_right(one, key) for one in results) for key in ("drafted", "answer"))
    n = len(results)
    print(f"exactly right: drafts {before} ({before / n:.1%}), answers {after} ({after / n:.1%}) of {n}")
    print(f"right drafts that the gate refused: {sum(_is_right(one, 'drafted') for one in broken)}")
    if rounds:
        _rounds(len(broken) / len(judged), rounds, folder)


def _rounds(broken: float, rounds: Sequence[Result], folder: Path) -> None:
    """What masking again does by itself, where `broken` is the share of drafts that need it."""
    mended = [one for one in rounds if one["mended"] == Mended.REMASKED.value]
    by_number = [sum(len(one["rounds"]) <= number for one in mended) for number in range(MOST_ROUNDS + 1)]
    shares = [1 - broken * (1 - n / len(rounds)) for n in by_number]
    print(f"\nvalid at once {shares[0]:.1%}", end="")
    print("".join(f", after {n} rounds {share:.1%}" for n, share in enumerate(shares[1:], start=1)), end="")
    print(f"; 1-(1-r)^n: {', '.join(f'{1 - (1 - shares[0]) ** (n + 1):.1%}' for n in range(len(shares)))}")
    right = sum(one["answer"].strip() == one["wanted"].strip() for one in mended)
    print(f"of {len(rounds)} broken drafts {len(mended)} were valid after masking again, {right} of them right")
    for number in range(MOST_ROUNDS):
        some = [one["rounds"][number] for one in rounds if len(one["rounds"]) > number]
        if some:
            n_forwards, n_valid_now = mean(one["n_forwards"] for one in some), by_number[number + 1] - by_number[number]
            busy_ms = [one["processor_ms"] for one in some if "processor_ms" in one]
            spent = f", {mean(busy_ms):.0f} ms of the processor (of {len(busy_ms)})" if busy_ms else ""
            print(f"  round {number + 1}: {len(some)}, valid {n_valid_now}, {n_forwards:.1f} forwards{spent}")
    _draw(shares, folder / "repair.png")


def _choices(results: Sequence[Result]) -> None:
    """What there is to choose from by hand, where anything is."""
    if not results:
        return
    n_right = [sum(_among(one, n) for one in results) for n in (1, 2, 3)]
    added = [text for one in results for text in one["choices_added"]]
    print(f"\nchoices that add an error: {len(added)} {added}", end="")
    by_hand, alone = (mean(one[key] for one in results) for key in ("n_forwards_by_hand", "n_forwards"))
    right = f"right {n_right[0]}, among two {n_right[1]}, among three {n_right[2]}"
    print(f"\nby hand, of {len(results)} answers: {right}", end="")
    print(f"; {mean(len(one['choices']) for one in results):.1f} to choose from", end="")
    print(f", {by_hand:.1f} forwards, an automatic request {alone:.1f}")


def _among(one: Result, n: int) -> bool:
    return one["wanted"].strip() in {text.strip() for text in one["choices"][:n]}


def _by_language(results: Sequence[Result]) -> None:
    names = (
        "holes",
        "broken",
        "masked again",
        "other",
        "cut",
        "silent",
        "judged",
        "added",
        "left",
        "blank",
        "no opinion",
    )
    print(f"{'language':16}" + "".join(f"{name:>13}" for name in names))
    languages = sorted({one["hole"]["language"] for one in results})
    for language in [*languages, "all"]:
        counts = Counter[str]()
        for one in results:
            if language not in {one["hole"]["language"], "all"}:
                continue
            counts["holes"] += 1
            counts["blank"] += one["silence"] in {Silence.BLANK.value, Silence.STOPPED.value}
            counts["no opinion"] += one["verdict"] == "no opinion" and _is_shown(one)
            counts["broken"] += was_broken(one)
            counts["masked again"] += one["mended"] == Mended.REMASKED.value
            counts["other"] += one["mended"] == Mended.RIVAL.value
            counts["cut"] += one["mended"] == Mended.SHORTER.value
            counts["silent"] += was_broken(one) and not _is_shown(one)
            counts["judged"] += one["sound"] is not None
            counts["added"] += one["sound"] is False and one["was_sound"]
            counts["left"] += one["sound"] is False and not one["was_sound"]
        print(f"{language:16}" + "".join(f"{counts[name]:>13}" for name in names))
    for one in results:
        if one["sound"] is False and one["was_sound"]:
            print(f"added: {one['hole']['path']}:{one['hole']['start']} {one['answer']!r}")


def _likely_and_right(name: str, shown: Sequence[Result]) -> None:
    for low, high in ((0.0, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 1.01)):
        some = [one for one in shown if low <= one["probability"] < high]
        if some:
            said, right = mean(one["probability"] for one in some), mean(_is_right(one, "answer") for one in some)
            begins = mean(one["wanted"].strip().startswith(one["answer"].strip()) for one in some)
            facts = f"said {said:.0%}, right {right:.0%}, right as far as it goes {begins:.0%}"
            print(f"  {name:30} {low:.0%} to {min(high, 1):.0%}: {len(some):4}, {facts}")


def was_broken(one: Result) -> bool:
    """Whether the gate has refused its first draft."""
    return one["mended"] is not None or one["verdict"] == "broken"


def _is_shown(one: Result) -> bool:
    return one["silence"] is None


def _is_right(one: Result, key: str) -> bool:
    is_told = key != "answer" or one["silence"] in {None, Silence.UNSURE.value}
    return is_told and one[key].strip() == one["wanted"].strip()


def _draw(shares: Sequence[float], path: Path) -> None:
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot()
    tries = range(1, len(shares) + 1)
    by_chance: Callable[[int], float] = lambda n: 1 - (1 - shares[0]) ** n  # noqa: E731
    axes.plot(tries, [100 * share for share in shares], "o-", label="masked again under the fault")
    axes.plot(tries, [100 * by_chance(n) for n in tries], "s--", label="$1-(1-r)^n$: as many independent drafts")
    axes.set_xticks(tries, ["at once", *(f"{n} round{'s' if n > 1 else ''}" for n in range(1, len(shares)))])
    axes.set_ylabel("valid drafts, %")
    axes.legend()
    figure.savefig(str(path), dpi=120)
