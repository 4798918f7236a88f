"""Which answers are used again, and for whom."""

from __future__ import annotations

from dataclasses import replace

import pytest
from midspan_lsp.engine.answers import Answers, Place
from midspan_lsp.engine.outcome import Outcome, Silence
from midspan_lsp.types import InfillStats, Verdict

URI, AFTER = "file:///a.py", ")\n\nprint(1)\n"


def outcome(text: str, silence: Silence | None = None) -> Outcome:
    return Outcome(text, 0.8, Verdict.VALID, silence, InfillStats(n_forwards=3))


def place(prefix: str, suffix: str = AFTER, uri: str = URI) -> Place:
    return Place(uri, prefix, suffix)


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def answers(clock: Clock) -> Answers:
    """After `f(wid` somebody was shown `th, height`."""
    answers = Answers(now_s=clock)
    answers.add(place("f(wid"), outcome("th, height"), by_hand=False, is_cut=False)
    return answers


def shown(answers: Answers, prefix: str, suffix: str = AFTER, uri: str = URI, *, by_hand: bool = False) -> str | None:
    found = answers.find(place(prefix, suffix, uri), by_hand=by_hand)
    return None if found is None or found[0].silence is not None else found[0].text


@pytest.mark.parametrize(
    ("typed", "rest"),
    [("", "th, height"), ("t", "h, height"), ("th,", " height"), ("th, heigh", "t"), ("th, height", None), ("x", None)],
)
def test_what_is_typed_is_taken_from_what_was_shown(answers: Answers, typed: str, rest: str | None) -> None:
    assert shown(answers, "f(wid" + typed) == rest


def test_a_step_back_is_known_too(answers: Answers) -> None:
    assert [shown(answers, "f(wid" + typed) for typed in ("th", "thx", "th", "t", "")] == [
        ", height",
        None,
        ", height",
        "h, height",
        "th, height",
    ]


@pytest.mark.parametrize(
    "other", [("f(wi",), ("g(wid",), ("f(wid", ")"), ("f(wid", AFTER, "file:///b.py"), ("", AFTER)]
)
def test_other_surroundings_are_another_question(answers: Answers, other: tuple[str, ...]) -> None:
    assert answers.find(place(*other), by_hand=False) is None


def test_what_is_used_again_has_cost_nothing_and_says_which_way(answers: Answers) -> None:
    same, begun = (answers.find(place("f(wid" + typed), by_hand=False) for typed in ("", "t"))
    assert same is not None
    assert begun is not None
    assert (same[1], begun[1]) == (False, True)
    assert same[0].stats == begun[0].stats == InfillStats()


def test_each_of_several_texts_is_known_as_far_as_it_is_typed(answers: Answers) -> None:
    several = replace(outcome("first"), others=(outcome("second"), outcome("fifth"), outcome("six")))
    answers.add(place("g("), several, by_hand=True, is_cut=False)

    def left(typed: str) -> list[str]:
        found = answers.find(place("g(" + typed), by_hand=False)
        return [] if found is None else [found[0].text, *(one.text for one in found[0].others)]

    assert left("") == ["first", "second", "fifth", "six"]
    assert left("fi") == ["rst", "fth"]
    assert left("s") == ["econd", "ix"]
    assert left("sec") == ["ond"]
    assert left("secr") == []


def test_several_lines_are_accepted_line_by_line_with_the_documents_own_ends() -> None:
    answers = Answers()
    answers.add(place("if x:\r\n    "), outcome("a()\n    b()"), by_hand=False, is_cut=False)
    assert shown(answers, "if x:\r\n    a()\r\n    ") == "b()"
    assert shown(answers, "if x:\r\n    a()") == "\n    b()"


@pytest.mark.parametrize(
    ("prefix", "closed", "rest"),
    [
        ("f(", ")", "a, [b]"),
        ("f(a, [", "])", "b"),
        ("f(a, [b", "])", None),
        ("f(a", "]", None),
        ("f(a", "x", None),
        ("", ")", None),
    ],
)
def test_brackets_that_the_editor_closes_are_known_from_the_answer(prefix: str, closed: str, rest: str | None) -> None:
    window = 12  # the far end of the text behind moves out of sight
    answers = Answers()
    answers.add(place("x = ", AFTER[:window]), outcome("f(a, [b])"), by_hand=False, is_cut=False)
    assert shown(answers, "x = " + prefix, (closed + AFTER)[:window]) == rest
    answers.add(place("y = ", "\n"), outcome("f(a, [b])"), by_hand=False, is_cut=False)
    assert shown(answers, "y = " + prefix, closed + "\n") == rest


def test_a_silence_counts_for_a_moment_and_for_its_own_place_only(answers: Answers, clock: Clock) -> None:
    answers.add(place("g("), outcome("abc", Silence.UNSURE), by_hand=False, is_cut=False)
    found = answers.find(place("g("), by_hand=False)
    assert found is not None
    assert found[0].silence is Silence.UNSURE
    assert answers.find(place("g(a"), by_hand=False) is None
    clock.now_s += 60
    assert answers.find(place("g("), by_hand=False) is None
    assert shown(answers, "f(wid") == "th, height"


def test_after_a_change_of_the_project_a_question_is_asked_anew_but_not_while_its_answer_is_typed(
    answers: Answers,
) -> None:
    def later(typed: str) -> Place:
        return replace(place("f(wid" + typed), knowledge=1)

    assert answers.find(later(""), by_hand=False) is None
    assert answers.find(later("th"), by_hand=False) is not None


def test_who_asks_by_hand_is_not_put_off_by_an_automatic_silence(answers: Answers) -> None:
    answers.add(place("g("), outcome("abc", Silence.UNSURE), by_hand=False, is_cut=False)
    assert answers.find(place("g("), by_hand=True) is None
    answers.add(place("g("), outcome("abc", Silence.UNSURE), by_hand=True, is_cut=False)
    assert answers.find(place("g("), by_hand=True) is not None
    assert answers.find(place("g("), by_hand=False) is not None


def test_who_asks_by_hand_wants_to_choose(answers: Answers) -> None:
    assert shown(answers, "f(wid", by_hand=True) is None
    answers.add(place("f(wid"), outcome("th"), by_hand=True, is_cut=False)
    assert shown(answers, "f(wid", by_hand=True) == "th"


def test_what_time_cut_short_is_no_answer_for_who_gives_more_time(answers: Answers) -> None:
    answers.add(place("g("), outcome("ab"), by_hand=False, is_cut=True)
    assert shown(answers, "g(") == "ab"
    assert shown(answers, "g(", by_hand=True) is None
    answers.add(place("g("), outcome("abc"), by_hand=True, is_cut=True)
    assert shown(answers, "g(", by_hand=True) == "abc"


@pytest.mark.parametrize(("silence", "is_cut"), [(Silence.STOPPED, False), (Silence.UNSURE, True)])
def test_what_was_stopped_is_not_kept(silence: Silence, is_cut: bool) -> None:
    answers = Answers()
    answers.add(place("f("), outcome("", silence), by_hand=False, is_cut=is_cut)
    assert len(answers) == 0


def test_the_number_of_answers_is_bounded_and_what_is_used_stays() -> None:
    answers = Answers(size=3)
    for name in "abcde":
        answers.add(place(f"{name}("), outcome("1)"), by_hand=False, is_cut=False)
        assert shown(answers, "a(") == "1)"
    assert len(answers) == 3
    assert [name for name in "abcde" if shown(answers, f"{name}(")] == ["a", "d", "e"]


def test_a_closed_document_is_forgotten(answers: Answers) -> None:
    answers.add(place("f(", uri="file:///b.py"), outcome("1"), by_hand=False, is_cut=False)
    answers.forget(URI)
    assert (shown(answers, "f(wid"), shown(answers, "f(", uri="file:///b.py")) == (None, "1")


def test_one_that_came_late_is_found_first_and_the_one_shown_before_is_kept(answers: Answers) -> None:
    answers.add(place("f(wid"), outcome("th * 2"), by_hand=False, is_cut=False, beside=True)
    assert shown(answers, "f(wid") == "th * 2"
    assert shown(answers, "f(widt") == "h * 2"
    assert shown(answers, "f(width,") == " height"
    answers.add(place("f(wid"), outcome("e"), by_hand=False, is_cut=False)  # anew: it stands for both
    assert shown(answers, "f(width,") is None
    assert len(answers) == 1


@pytest.mark.parametrize("suffix", ["", "\n", "\nnext = 1\n", "  \n"])
def test_what_was_taken_whole_asks_for_no_more(answers: Answers, suffix: str) -> None:
    answers.add(place("size = ", suffix), outcome("width * height"), by_hand=False, is_cut=False)
    found = answers.find(place("size = width * height", suffix), by_hand=False)
    assert found is not None
    assert found[0].silence is Silence.UNWANTED
    assert answers.find(place("size = width * height", suffix), by_hand=True) is None


@pytest.mark.parametrize(
    ("text", "suffix"),
    [("width * ", "\n"), ("area(", "\n"), ("area(", ")\n"), ("width", " * height\n"), ("if x:", "\n")],
)
def test_what_goes_on_asks_for_more(answers: Answers, text: str, suffix: str) -> None:
    answers.add(place("size = ", suffix), outcome(text), by_hand=False, is_cut=False)
    assert answers.find(place("size = " + text, suffix), by_hand=False) is None


def test_what_was_cut_short_is_asked_for_more(answers: Answers) -> None:
    answers.add(place("size = ", "\n"), outcome("width"), by_hand=False, is_cut=True)
    assert answers.find(place("size = width", "\n"), by_hand=False) is None
