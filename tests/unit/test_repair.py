"""What is decided about refused middles, with a gate of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from midspan_lsp.syntax.repair import MOST_ROUNDS, Rejected, cut_to, next_draft, rejected, shorten
from midspan_lsp.types import Candidate, Draft, Span

ABC = Candidate("aabbcc", 1.0, (7, 8, 9), (Span(0, 2), Span(2, 4), Span(4, 6)), (0.7, 0.8, 0.9))


def of(text: str) -> Candidate:
    """One token a character."""
    n = len(text)
    return Candidate(text, 1.0, tuple(range(100, 100 + n)), tuple(Span(place, place + 1) for place in range(n)))


def spans(*edges: tuple[int, int]) -> tuple[Span, ...]:
    return tuple(Span(*pair) for pair in edges)


def test_the_longest_valid_lines_win() -> None:
    asked: list[str] = []

    def short(text: str) -> bool:
        asked.append(text)
        return "three" not in text

    assert shorten(Candidate("one\ntwo\r\nthree\rfour", 1.0), short) == "one\ntwo"
    assert asked == ["one\ntwo\r\nthree", "one\ntwo"]


@pytest.mark.parametrize("text", ["one", "one\n", "one\n \n\t\n", "\n  \none", ""])
def test_neither_a_blank_start_nor_a_blank_remainder_is_a_cut(text: str) -> None:
    assert shorten(Candidate(text, 1.0), lambda _: True) == ""


def test_one_line_is_cut_where_a_token_ends_and_keeps_half_of_it() -> None:
    asked: list[str] = []

    def never(text: str) -> bool:
        asked.append(text)
        return False

    assert shorten(of("call(x) )"), never) == ""
    assert asked == ["call(x)", "call(x"]
    assert shorten(of("call(x) )"), lambda text: text.endswith(")")) == "call(x)"
    assert shorten(of("1 + 2 )"), lambda _: True) == "", "it names nothing"


@pytest.mark.parametrize(
    ("errors", "slots"),
    [
        (spans((0, 1)), {0}),
        (spans((1, 3)), {0, 1}),
        (spans((0, 6)), {0, 1, 2}),
        (spans((0, 1), (5, 6)), {0, 2}),
        (spans((0, 0)), {0}),
        (spans((2, 2)), {0}),
        (spans((3, 3)), {1}),
        (spans((6, 6)), {2}),
        (spans(), {2}),
        (spans((9, 9)), {2}),
    ],
)
def test_the_slots_under_the_fault(errors: tuple[Span, ...], slots: set[int]) -> None:
    assert rejected(errors, ABC) == Rejected(frozenset(slots))


def test_a_beginning_is_as_likely_as_its_tokens_and_the_end_behind_them() -> None:
    spans = tuple(Span(start, start + 2) for start in range(0, 8, 2))
    whole = Candidate("ab cd )]", 0.2, (1, 2, 3, 4), spans, (0.9, 0.8, 0.5, 0.6))
    cut = cut_to(whole, "ab cd")
    assert (cut.text, cut.token_ids) == ("ab cd", (1, 2, 3)), "the third token is white space at its end"
    assert cut.probability == pytest.approx(0.2 / 0.6 * 0.4)
    cut = cut_to(whole, "ab c")
    assert (cut.token_ids, cut.confidences) == ((1, 2), (0.9, 0.8))
    assert cut.probability == pytest.approx(0.2 / 0.3 * 0.5)
    assert cut_to(whole, "a").token_ids == (), "no tokens spell it"
    assert cut_to(replace(whole, probability=0.9), "ab c").probability == pytest.approx(0.5), "nothing is surer than 1"
    assert cut_to(Candidate("ab cd", 0.2), "ab").probability == 0.2, "nothing is known"


def test_slots_without_text_are_left_alone() -> None:
    candidate = Candidate("ab", 1.0, (7, 8, 9, 9), spans((0, 0), (0, 1), (1, 2), (2, 2)))
    assert rejected(spans((0, 0)), candidate).slots == {1}
    assert rejected(spans((2, 2)), candidate, 3) == Rejected(frozenset({2})), "others have cut it at its end"


@pytest.mark.parametrize(("text", "is_open"), [("f(a", True), ('x = "a', True), ("f(a)", False), ("a)", False)])
def test_what_opens_more_than_it_closes_has_to_go_on(text: str, is_open: bool) -> None:
    candidate, at_end = of(text), spans((len(text), len(text)))
    first = next_draft(at_end, candidate, None, 1)
    assert first is not None
    assert first.unfinished == ({len(text)} if is_open else set())
    assert dict(first.banned) == ({} if is_open else {len(text) - 1: {candidate.token_ids[-1]}})
    second = next_draft(at_end, candidate, first, 2)
    assert second is not None
    assert second.unfinished == {len(text)}, "if that was not it, it was the other"
    assert dict(second.banned) == {len(text) - 1: {candidate.token_ids[-1]}}


def test_each_round_masks_more_and_bans_all_that_was_rejected() -> None:
    candidate, draft = of("0123456789abcdefghij"), None
    masked = []
    for n_round in range(1, MOST_ROUNDS + 1):
        draft = next_draft(spans((10, 11)), candidate, draft, n_round)
        assert draft is not None
        assert draft.token_ids == candidate.token_ids
        masked.append(len(draft.remask))
        assert dict(draft.banned) == {10: set(range(110, 110 + 100 * n_round, 100))}
        candidate = Candidate(
            candidate.text, 1.0, tuple(one + 100 for one in candidate.token_ids), candidate.token_spans
        )
    assert masked == [3, 7, 15]


@pytest.mark.parametrize("candidate", [Candidate("ab", 1.0), Candidate("", 1.0, (7, 8), spans((0, 0), (0, 0)))])
def test_what_has_no_tokens_with_text_cannot_be_masked(candidate: Candidate) -> None:
    assert next_draft(spans((0, 1)), candidate, None, 1) is None


edges = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=3)


@given(st.text("a(\n\r", max_size=12), st.lists(st.integers(0, 12), max_size=6), edges, st.integers(1, 3))
def test_any_draft_can_be_carried_out(text: str, cuts: list[int], errors: list[tuple[int, int]], n_round: int) -> None:
    cuts = sorted(min(edge, len(text)) for edge in cuts)
    of_tokens = spans(*zip([0, *cuts], [*cuts, len(text)], strict=True))
    n = len(of_tokens)
    candidate = Candidate(text, 1.0, tuple(range(n)), of_tokens, (1.0,) * n)
    earlier = Draft((), (), frozenset(), {0: frozenset({99})}, frozenset({n + 5}))
    draft = next_draft(spans(*errors), candidate, earlier, n_round)
    if draft is None:
        assert not text
        return
    assert draft.remask <= set(range(n + 1))
    assert {n + 5} <= draft.unfinished <= {n, n + 5}
    assert 99 in draft.banned[0]
    assert sum(map(len, draft.banned.values())) + len(draft.unfinished) > 2, "something was rejected"
    cut = shorten(candidate, lambda _: True)
    assert text.startswith(cut)
    assert len(cut) < len(text)
