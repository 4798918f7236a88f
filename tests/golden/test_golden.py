"""Runs the golden cases of `validate/` and `repair/`: texts in which ├this┤ is the middle and ⟦this⟧ is at fault.

What stands between ┤ and ╣ is replaced by the middle. `known_wrong` marks a verdict that is asserted as it is, not
as it should be; its description says why.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest
from midspan_lsp.syntax.repair import next_draft, rejected, shorten
from midspan_lsp.syntax.validate import validate
from midspan_lsp.types import Candidate, Span, SyntaxReport, Verdict

HERE = Path(__file__).parent


KEYS = {"description", "language", "text", "verdict", "known_wrong", "tokens", "plan", "shorter"}


def cases(folder: str) -> list[Any]:
    found = []
    for path in sorted((HERE / folder).glob("*.toml")):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        default = {"language": content.get("language")}
        assert all(case.keys() <= KEYS for case in content["case"])
        found += [pytest.param(default | case, id=f"{path.stem}: {case['description']}") for case in content["case"]]
    return found


@dataclass(frozen=True)
class Marked:
    """A text without its marks."""

    document: str
    replace: Span
    middle: str
    at_fault: tuple[Span, ...]


def read_marks(text: str) -> Marked:
    head, rest = text.split("├")
    marked_middle, tail = rest.split("┤")
    old, found, after = tail.partition("╣")
    old, after = (old, after) if found else ("", tail)
    middle, starts, at_fault = "", [], []
    for character in marked_middle:
        if character == "⟦":
            starts.append(len(middle))
        elif character == "⟧":
            at_fault.append(Span(starts.pop(), len(middle)))
        else:
            middle += character
    assert not starts
    return Marked(head + old + after, Span(len(head), len(head) + len(old)), middle, tuple(at_fault))


def with_marks(middle: str, at_fault: tuple[Span, ...]) -> str:
    """For messages that a person can read."""
    for span in sorted(at_fault, key=lambda span: -span.start):
        middle = f"{middle[: span.start]}⟦{middle[span.start : span.end]}⟧{middle[span.end :]}"
    return middle


@pytest.mark.parametrize("case", cases("validate"))
def test_validate(case: dict[str, Any]) -> None:
    marked = read_marks(case["text"])
    report = validate(marked.document, marked.replace, marked.middle, case["language"])
    found = (report.verdict.value, with_marks(marked.middle, report.error_spans))
    assert found == (case["verdict"], with_marks(marked.middle, marked.at_fault))


@pytest.mark.parametrize("case", cases("repair"))
def test_repair(case: dict[str, Any]) -> None:
    marked = read_marks(case["text"])
    tokens: list[str] = case.get("tokens", [])

    def judge(middle: str) -> SyntaxReport:
        return validate(marked.document, marked.replace, middle, case["language"])

    spans = tuple(Span(*edges) for edges in pairwise(accumulate(map(len, tokens), initial=0)))
    candidate = Candidate(marked.middle, 1.0, tuple(range(len(tokens))), spans)
    assert not tokens or "".join(tokens) == marked.middle
    report = judge(marked.middle)
    assert report.error_spans == marked.at_fault
    found = shorten(candidate, lambda middle: judge(middle).verdict is Verdict.VALID)
    assert (plan_in_words(report, candidate, tokens), found) == (case["plan"], case.get("shorter", ""))


def plan_in_words(report: SyntaxReport, candidate: Candidate, tokens: list[str]) -> str:
    if report.verdict is not Verdict.BROKEN:
        return "keep"
    if next_draft(report.error_spans, candidate, None, 1) is None:
        return "nothing to mask"
    found = rejected(report.error_spans, candidate)
    return "go on" if found.is_unfinished else f"remask {[tokens[slot] for slot in sorted(found.slots)]}"
