"""From what was measured to figures, a table and a picture."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

from midspan_lsp.backends.local_control import TypedLine
from midspan_lsp.bench.replay import Key, Rhythm
from midspan_lsp.bench.traces import Hole

BUCKETS = ((1, 5), (6, 14), (15, 24), (25, 60))
_PERCENTILES = (50, 90, 99)


@dataclass(frozen=True)
class Line:
    """One hole and how one of those compared filled it.

    Attributes:
        n_wanted: tokens of what stood there.
        is_right: whether exactly that was typed.
        typed: what was typed.
    """

    n_wanted: int
    is_right: bool
    typed: TypedLine


def compared(hole: Hole, n_wanted: int, typed: TypedLine) -> Line:
    """How a hole was filled."""
    return Line(n_wanted, typed.text.rstrip() == hole.middle.rstrip(), typed)


def percentiles(values_ms: Sequence[float | None]) -> dict[str, float | None]:
    """The nearest rank's; what was never answered took longest: None."""
    ranked = sorted(math.inf if value is None else value for value in values_ms)
    found = {f"p{p}": ranked[max(0, math.ceil(p / 100 * len(ranked)) - 1)] for p in _PERCENTILES if ranked}
    return {name: None if math.isinf(value) else round(value, 1) for name, value in found.items()}


def latencies(keys: Sequence[Key]) -> dict[str, Any]:
    """Key to answer: of first looks at a document, and of all other keys."""
    cold, warm = ([key.ms for key in keys if key.is_cold is is_cold] for is_cold in (True, False))
    return {
        **({"cold_ms": percentiles(cold)} if cold else {}),
        "warm_ms": percentiles(warm),
        "n_keys": len(keys),
        "answered": _share([key.ms is not None for key in keys]),
        "shown": _share([bool(key.shown) for key in keys]),
        "right_of_shown": _share([key.is_right for key in keys if key.shown]),
    }


def costs(lines: Sequence[Rhythm]) -> dict[str, Any]:
    """What typing at a rhythm cost, a key; `last_ms`: the answer to a line's last key, behind which comes a pause."""
    keys = [key for line in lines for key in line.keys]

    def per_key(name: str) -> float:
        return round(sum(line.work[name] for line in lines) / len(keys), 2)

    used_s = [line.cpu_s for line in lines if line.cpu_s is not None]
    wall_s = sum(line.wall_s for line in lines)
    return {
        **latencies(keys),
        "last_ms": percentiles([line.keys[-1].ms for line in lines if line.keys]),
        "forwards_per_key": per_key("forwards"),
        "wasted_forwards_per_key": per_key("wastedForwards"),
        "encoded_tokens_per_key": per_key("encodedTokens"),
        "prefilled_tokens_per_key": per_key("prefilledTokens"),
        "typed_through": per_key("typedThrough"),
        "repeated": per_key("repeated"),
        "cpu_s_per_minute": round(60 * sum(used_s) / wall_s, 1) if len(used_s) == len(lines) else None,
    }


def comparison(lines: dict[str, list[Line]]) -> dict[str, Any]:
    """Milliseconds and exact matches of each, by the length of what stood there; how many times as long others took."""
    medians = {name: _by_length(own) for name, own in lines.items()}
    first = next(iter(medians))
    return {
        name: {
            "exact": _share([line.is_right for line in own]),
            "tokens": round(mean(line.typed.n_tokens for line in own), 1),
            "ms": {length: round(ms, 1) for length, ms in medians[name].items()},
            "times": {length: round(ms / medians[first][length], 2) for length, ms in medians[name].items()},
        }
        for name, own in lines.items()
    }


def _by_length(lines: list[Line]) -> dict[str, float]:
    """Median milliseconds, of all and by tokens wanted."""
    groups = {f"{low}-{high}": [one for one in lines if low <= one.n_wanted <= high] for low, high in BUCKETS}
    return {name: median(one.typed.ms for one in group) for name, group in {"all": lines, **groups}.items() if group}


def as_table(result: dict[str, Any]) -> str:
    """For people; a dash stands for what is not known, and for a key whose answer the next key overtook."""
    rows: list[tuple[str, str]] = []
    for section, content in result.items():
        if isinstance(content, dict):
            rows.append((section, ""))
            rows += [(f"  {name}", _cell(value)) for name, value in content.items()]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        else:
            rows.append((section, _cell(content)))
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:{width}}  {value}".rstrip() for name, value in rows)


def plot(lines: dict[str, list[Line]], path: Path) -> bool:
    """Draw milliseconds by tokens typed; False if matplotlib is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        return False
    importlib.import_module("matplotlib").use("agg")
    plt: Any = importlib.import_module("matplotlib.pyplot")
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for name, own in lines.items():
        axes.scatter([one.typed.n_tokens for one in own], [one.typed.ms for one in own], s=16, label=name)
    axes.set(xlabel="tokens of the middle typed", ylabel="ms from question to answer, context encoded", ylim=(0, None))
    axes.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return True


def as_points(lines: dict[str, list[Line]]) -> dict[str, list[dict[str, Any]]]:
    """Every line, for the JSON."""
    return {
        name: [{"n_wanted": one.n_wanted, "right": one.is_right, **asdict(one.typed), "text": None} for one in own]
        for name, own in lines.items()
    }


def _share(found: Sequence[bool]) -> float | None:
    return round(sum(found) / len(found), 3) if found else None


def _cell(value: object) -> str:
    if isinstance(value, dict):
        return "  ".join(f"{name} {_cell(one)}" for name, one in value.items())  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return "-" if value is None else str(value)
