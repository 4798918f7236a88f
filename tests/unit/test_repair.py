"""Plans for judged middles, with a gate of its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from midspan_lsp.syntax.repair import Drop, Keep, Plan, Remask, Truncate, plan
from midspan_lsp.types import Candidate, Span, SyntaxReport, Verdict

ABC = Candidate("aabbcc", 1.0, (7, 8, 9), (Span(0, 2), Span(2, 4), Span(4, 6)))


def broken(*spans: tuple[int, int]) -> SyntaxReport:
    return SyntaxReport(Verdict.BROKEN, tuple(Span(*span) for span in spans))


def never(_text: str) -> bool:
    return False


@pytest.mark.parametrize("verdict", [Verdict.VALID, Verdict.NO_OPINION])
def test_what_is_not_broken_is_kept(verdict: Verdict) -> None:
    assert plan(SyntaxReport(verdict), ABC, never, may_remask=True) == Keep()


def test_the_longest_valid_lines_win() -> None:
    asked: list[str] = []

    def short(text: str) -> bool:
        asked.append(text)
        return "three" not in text

    candidate = Candidate("one\ntwo\r\nthree\rfour", 1.0)
    assert plan(broken((0, 1)), candidate, short, may_remask=False) == Truncate(len("one\ntwo"))
    assert asked == ["one\ntwo\r\nthree", "one\ntwo"]


@pytest.mark.parametrize("text", ["one", "one\n", "one\n \n\t\n", "\n  \none", ""])
def test_neither_a_blank_start_nor_a_blank_remainder_is_a_cut(text: str) -> None:
    assert plan(broken((0, 0)), Candidate(text, 1.0), lambda _: True, may_remask=False) == Drop()


@pytest.mark.parametrize(
    ("spans", "slots"),
    [
        ([(0, 1)], {0}),
        ([(1, 3)], {0, 1}),
        ([(0, 6)], {0, 1, 2}),
        ([(0, 1), (5, 6)], {0, 2}),
        ([(0, 0)], {0}),
        ([(2, 2)], {0}),
        ([(3, 3)], {1}),
        ([(6, 6)], {2}),
        ([], {2}),
        ([(9, 9)], {2}),
    ],
)
def test_the_slots_under_the_fault(spans: list[tuple[int, int]], slots: set[int]) -> None:
    assert plan(broken(*spans), ABC, never, may_remask=True) == Remask(frozenset(slots))


def test_slots_without_text_are_left_alone() -> None:
    candidate = Candidate("ab", 1.0, (7, 8, 9, 9), (Span(0, 0), Span(0, 1), Span(1, 2), Span(2, 2)))
    assert plan(broken((0, 0)), candidate, never, may_remask=True) == Remask(frozenset({1}))
    assert plan(broken((2, 2)), candidate, never, may_remask=True) == Remask(frozenset({2}))


@pytest.mark.parametrize("spans", [(), (Span(0, 0), Span(0, 0))])
def test_a_remask_is_never_empty(spans: tuple[Span, ...]) -> None:
    candidate = Candidate("", 1.0, (7, 8), spans)
    assert plan(broken((0, 0)), candidate, never, may_remask=True) == Remask(frozenset({1}))


@pytest.mark.parametrize(("candidate", "may_remask"), [(ABC, False), (Candidate("ab", 1.0), True)])
def test_what_cannot_be_remasked_is_dropped(candidate: Candidate, may_remask: bool) -> None:
    assert plan(broken((0, 1)), candidate, never, may_remask) == Drop()


@given(st.text("a \n\r", max_size=12), st.lists(st.integers(0, 12), max_size=6), st.booleans(), st.data())
def test_any_plan_can_be_carried_out(text: str, edges: list[int], may_remask: bool, data: st.DataObject) -> None:
    cuts = sorted(min(edge, len(text)) for edge in edges)
    spans = tuple(Span(*pair) for pair in zip([0, *cuts], [*cuts, len(text)], strict=True))
    candidate = Candidate(text, 1.0, tuple(range(len(spans))), spans)
    report = broken(*data.draw(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=3)))
    found: Plan = plan(report, candidate, lambda _: data.draw(st.booleans()), may_remask)
    match found:
        case Truncate(end):
            assert text[:end].strip()
            assert 0 < end < len(text)
        case Remask(slots):
            assert may_remask
            assert slots
            assert slots <= set(range(len(spans)))
        case _:
            assert found == Drop()
            assert not may_remask
