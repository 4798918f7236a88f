"""Results as a table for people and as one JSON value. Pure."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Mapping, Sequence

from midspan_model.evaluation.metrics import Answer, Estimate, difference, summarise
from midspan_model.evaluation.run import SuiteResult
from midspan_model.evaluation.suites import Suite
from midspan_model.evaluation.ways import CONTROL, MIDSPAN

_LABEL_WIDTH, _CELL_WIDTH = 18, 24
_COLUMNS = ("exact", "parses", "forwards", "tokens/forward", "median ms")
_COLUMN_WIDTH = 21
_ALL = "all languages"


def as_text(results: Sequence[SuiteResult]) -> str:
    """A block a suite: figures down, ways across, each with its interval; then the differences in exact match."""
    return "\n\n".join(_block(name, language, answers_of) for name, language, answers_of in _with_pooled(results))


def as_table(results: Sequence[SuiteResult]) -> str:
    """The same with the ways down, for many of them, and the most important figures across."""
    blocks: list[str] = []
    for name, language, result in _with_pooled(results):
        first = next(iter(result.answers.values()))
        width = max(_LABEL_WIDTH, *(len(way) + 2 for way in result.answers))
        heads = [f"{head:>{_COLUMN_WIDTH}}" for head in _COLUMNS] + ["  exact, less the first"]
        lines = [f"{name}, {language}, {len(result.suite.holes)} holes", " " * width + "".join(heads)]
        for way, answers in result.answers.items():
            summary = summarise(answers)
            cells = "".join(f"{_cell(summary[key]):>{_COLUMN_WIDTH}}" for key in _COLUMNS)
            less = "" if answers is first else _points(difference(answers, first))
            lines.append(f"{way:{width}}{cells}  {less}".rstrip())
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def as_json(results: Sequence[SuiteResult]) -> list[dict[str, object]]:
    """The same as data."""
    found: list[dict[str, object]] = []
    for name, language, result in _with_pooled(results):
        ways = {
            way: {key: _as_list(estimate) for key, estimate in summarise(answers).items()}
            for way, answers in result.answers.items()
        }
        found.append(
            {
                "suite": name,
                "language": language,
                "n": len(result.suite.holes),
                "n_checks_passed": result.n_checks_passed,
                "ways": ways,
                "exact_difference": {label: _as_list(gain) for label, gain in _differences(result)},
            }
        )
    return found


def examples(result: SuiteResult) -> str:
    """Every hole and what each way answered."""
    lines: list[str] = []
    for index, hole in enumerate(result.suite.holes):
        lines.append(f"{hole.origin}: {hole.prefix.rpartition(chr(10))[2]!r} ? {hole.middle!r}")
        for name, answers in result.answers.items():
            done = answers[index].completion
            mark = "=" if answers[index].exact else "+" if answers[index].passed else " "
            lines.append(f"  {mark} {name:{_LABEL_WIDTH}}{done.probability:.3f} {done.n_forwards:3d} {done.middle!r}")
    return "\n".join(lines)


def answer_lines(suite: Suite, answers: Mapping[str, Answer]) -> str:
    """One JSON line for each way's answer to a hole, the hole's own middle included."""
    lines: list[str] = []
    for way, answer in answers.items():
        hole, done = answer.hole, answer.completion
        place = {"suite": suite.name, "language": suite.language_id, "origin": hole.origin, "offset": len(hole.prefix)}
        verdicts = {"exact": answer.exact, "parses": answer.parses, "passed": answer.passed}
        lines.append(json.dumps({**place, "way": way, "wanted": hole.middle, **dataclasses.asdict(done), **verdicts}))
    return "".join(f"{line}\n" for line in lines)


def _block(name: str, language: str, result: SuiteResult) -> str:
    summaries = [summarise(answers) for answers in result.answers.values()]
    lines = [f"{name}, {language}, {len(result.suite.holes)} holes"]
    if result.n_checks_passed is not None and summaries[0]["pass@1"] is not None:
        lines[0] += f", of which {result.n_checks_passed} pass their own tests"
    lines.append(" " * _LABEL_WIDTH + "".join(f"{way:>{_CELL_WIDTH}}" for way in result.answers))
    for key in summaries[0]:
        cells = "".join(f"{_cell(summary[key]):>{_CELL_WIDTH}}" for summary in summaries)
        lines.append(f"{key:{_LABEL_WIDTH}}{cells}")
    lines += [f"exact match, {label}: {_points(gain)}" for label, gain in _differences(result)]
    return "\n".join(lines)


def _differences(result: SuiteResult) -> list[tuple[str, Estimate | None]]:
    """What a user gets, or else the first way but the control, less each other way."""
    ours = MIDSPAN if MIDSPAN in result.answers else next((name for name in result.answers if name != CONTROL), CONTROL)
    return [
        (f"{ours} less {name}", difference(result.answers[ours], answers))
        for name, answers in result.answers.items()
        if name != ours
    ]


def _with_pooled(results: Sequence[SuiteResult]) -> list[tuple[str, str, SuiteResult]]:
    """All results, and behind those of several languages one of all."""
    found: list[tuple[str, str, SuiteResult]] = []
    by_name = sorted(results, key=lambda result: result.suite.name)
    for name, group in itertools.groupby(by_name, key=lambda result: result.suite.name):
        members = list(group)
        found += [(name, member.suite.language_id, member) for member in members]
        if len(members) > 1:
            found.append((name, _ALL, _pool(members)))
    return found


def _pool(members: Sequence[SuiteResult]) -> SuiteResult:
    holes = tuple(hole for member in members for hole in member.suite.holes)
    answers = {way: [answer for member in members for answer in member.answers[way]] for way in members[0].answers}
    suite = dataclasses.replace(members[0].suite, language_id=_ALL, holes=holes)
    return SuiteResult(suite, answers, None)


def _cell(estimate: Estimate | None) -> str:
    if estimate is None:
        return "-"
    digits = 0 if estimate.value >= 100 else 1 if estimate.value >= 10 else 3
    low, value, high = (f"{figure:.{digits}f}" for figure in (estimate.low, estimate.value, estimate.high))
    return f"{value} [{low}, {high}]"


def _points(estimate: Estimate | None) -> str:
    if estimate is None:
        return "-"
    return f"{100 * estimate.value:+.1f} points [{100 * estimate.low:+.1f}, {100 * estimate.high:+.1f}]"


def _as_list(estimate: Estimate | None) -> list[float] | None:
    """[value, low, high]."""
    return None if estimate is None else [round(figure, 5) for figure in dataclasses.astuple(estimate)]
