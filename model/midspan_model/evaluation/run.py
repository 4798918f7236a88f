"""Asks every way every hole, and judges the answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from midspan_model.evaluation.holes import Hole
from midspan_model.evaluation.metrics import Answer
from midspan_model.evaluation.parsing import Parses, parse_verdict
from midspan_model.evaluation.sandbox import Limits, ProgramRun, run_program
from midspan_model.evaluation.suites import Suite
from midspan_model.evaluation.ways import Completion, Way

OnHole = Callable[[Suite, int, Mapping[str, Answer]], None]
"""Called after each hole with the number of holes done and each way's answer."""


@dataclass(frozen=True)
class SuiteResult:
    """A suite's answers.

    Attributes:
        suite: what was asked.
        answers: by the way's name, in the order of the suite's holes.
        n_checks_passed: holes whose true middle passes its own check; None if programs were not run.
    """

    suite: Suite
    answers: dict[str, list[Answer]]
    n_checks_passed: int | None = None


class Checker:
    """Runs the holes' programs, each text once.

    Args:
        limits: of each program; None runs none.
    """

    def __init__(self, limits: Limits | None) -> None:
        self._limits = limits
        self._known: dict[str, ProgramRun] = {}

    def passes(self, hole: Hole, middle: str) -> bool | None:
        """Whether a hole's check runs through with this middle; None if it has none or programs are not run."""
        if self._limits is None or not hole.check:
            return None
        program = hole.prefix + middle + hole.suffix + hole.check
        if program not in self._known:
            self._known[program] = run_program(program, self._limits)
        return self._known[program].passed


def run_suite(
    suite: Suite, ways: Mapping[str, Way], parses: Parses, limits: Limits | None, on_hole: OnHole
) -> SuiteResult:
    """Ask all ways hole by hole, so that what else the machine does meets all of them alike."""
    checker = Checker(limits)
    answers: dict[str, list[Answer]] = {name: [] for name in ways}
    n_checks_passed = 0
    for number, hole in enumerate(suite.holes, start=1):
        judged = {name: _judge(hole, way(hole), parses, checker) for name, way in ways.items()}
        for name, answer in judged.items():
            answers[name].append(answer)
        n_checks_passed += bool(checker.passes(hole, hole.middle))
        on_hole(suite, number, judged)
    return SuiteResult(suite, answers, None if limits is None else n_checks_passed)


def _judge(hole: Hole, completion: Completion, parses: Parses, checker: Checker) -> Answer:
    verdict = parse_verdict(parses, hole, completion.middle)
    return Answer(hole, completion, verdict, checker.passes(hole, completion.middle))
