from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from midspan_lsp.config import Settings
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine.edits import edits_between
from midspan_lsp.engine.gaps import Rewrite, stretch
from midspan_lsp.engine.pipeline import Engine
from midspan_lsp.engine.refilling import other_drafts
from midspan_lsp.types import CancellationToken, Candidate, InfillRequest, Span
from scripted_backend import Answering, candidate

AREA = "def area(radius):\n    return 3 * radius\n"


def document_of(text: str) -> DocumentSnapshot:
    return DocumentSnapshot("file:///a.py", "python", 1, text)


def engine_of(backend: Answering) -> Engine:
    return Engine(backend, Settings())


def where(text: str, part: str) -> Span:
    return Span(text.index(part), text.index(part) + len(part))


async def refill(backend: Answering, text: str, part: str) -> list[Rewrite]:
    return await engine_of(backend).rewriter.refill(document_of(text), where(text, part))


def test_a_stretch_has_no_white_space_around_it_and_keeps_its_indent() -> None:
    text = "if x:\n    a = 1\n    b = 2\n\nc = 3\n"
    gap = stretch(text, where(text, "    a = 1\n    b = 2\n\n"), more_lines=2)
    assert text[gap.span.start : gap.span.end] == "a = 1\n    b = 2"
    assert (gap.shape.max_lines, gap.shape.min_indent) == (4, 4)
    line = stretch(text, where(text, " c"[1:] + " = 3\n"))
    assert (line.shape.max_lines, line.shape.min_indent) == (1, None)
    assert stretch(text, Span(5, 5)).span == Span(5, 5)


async def test_others_are_valid_different_and_not_what_is_there() -> None:
    texts = ["3 * radius", "2 * radius )", "radius**2", "radius  ** 2", "4"]
    backend = Answering(lambda _: [replace(candidate(text), probability=0.5) for text in texts], can_remask=False)
    found = await refill(backend, AREA, "3 * radius")
    assert [one.middles for one in found] == [("radius**2",), ("4",)]
    assert found[0].after == AREA.replace("3 * radius", "radius**2")
    (asked,) = backend.requests
    assert (asked.prefix, asked.suffix) == ("def area(radius):\n    return ", "\n")
    assert asked.n_candidates == 4


async def test_where_nothing_else_comes_it_is_masked_again_behind_the_least_sure_token() -> None:
    first = replace(candidate("3 * radius"), confidences=(0.9, 0.2, *[0.9] * 8))

    def answer(request: InfillRequest) -> Sequence[Candidate]:
        return [first] if request.draft is None else [candidate("radius * 3")]

    backend = Answering(answer)
    found = await refill(backend, AREA, "3 * radius")
    assert [one.middles for one in found] == [("radius * 3",)]
    draft = backend.requests[1].draft
    assert draft is not None
    assert draft.remask == frozenset(range(1, 11))
    assert draft.banned == {1: frozenset({first.token_ids[1]})}
    assert len(backend.requests) == 5, "bounded rounds"
    assert len(other_drafts(first)) == 10


async def test_nothing_is_asked_where_nothing_is_selected_or_too_much() -> None:
    backend = Answering(lambda _: [candidate("x")])
    assert await refill(backend, AREA, "\n") == []
    long = "x = 1\n" * 1000
    assert await refill(backend, long, long) == []
    assert backend.requests == []


async def test_holes_are_filled_in_turn_each_in_the_light_of_those_before() -> None:
    text = "def total(values):\n    result = ...\n    for value in values:\n        pass\n    return ...\n"
    answers = iter(["0", "result += value", "result"])
    backend = Answering(lambda _: [candidate(next(answers))])
    found = await engine_of(backend).rewriter.fill(document_of(text), where(text, "for"))
    assert found is not None
    assert found.after == (
        "def total(values):\n    result = 0\n    for value in values:\n        result += value\n    return result\n"
    )
    assert (found.middles, found.n_gaps) == (("0", "result += value", "result"), 3)
    assert backend.requests[1].prefix == "def total(values):\n    result = 0\n    for value in values:\n        "
    assert [one.max_lines for one in backend.requests] == [1, 4, 1], "a body may have several lines"


async def test_a_hole_that_cannot_be_filled_stays() -> None:
    text = "def f():\n    a = ...\n    return ...\n"
    backend = Answering(lambda request: [candidate(")" if request.prefix.endswith("a = ") else "a")])
    found = await engine_of(backend).rewriter.fill(document_of(text), Span(0, 0))
    assert found is not None
    assert found.after == "def f():\n    a = ...\n    return a\n"
    assert (len(found.middles), found.n_gaps) == (1, 2)
    assert await engine_of(backend).rewriter.fill(document_of("x = 1\n"), Span(0, 0)) is None


async def test_a_todo_comment_stays_above_what_is_written() -> None:
    text = "function f(a, b) {\n  // TODO: add both\n}\n"
    backend = Answering(lambda _: [candidate("return a + b;")])
    snapshot = DocumentSnapshot("file:///a.js", "javascript", 1, text)
    found = await engine_of(backend).rewriter.fill(snapshot, where(text, "TODO"))
    assert found is not None
    assert found.after == "function f(a, b) {\n  // TODO: add both\n  return a + b;\n}\n"


def reading(request: InfillRequest, *others: str) -> list[Candidate]:
    """What a model says that reads all proposals, and writes what else is given."""
    read = [replace(candidate(one.text), proposal=number) for number, one in enumerate(request.proposals)]
    return [*read, *map(candidate, others)]


async def repair(backend: Answering, text: str, lines: Span | None = None) -> Rewrite | None:
    return await engine_of(backend).rewriter.repair(document_of(text), lines)


@pytest.mark.parametrize(
    ("broken", "mended"),
    [
        ("def f(a):\n    print(a, 1\n    return a\n", "print(a, 1)"),
        ("def f(a)\n    return a\n", "def f(a):"),
        ("def f(a):\n    return {1: a, 2: [a, 1}\n\n\nx = 1\n", "]"),
    ],
)
async def test_what_lacks_an_end_gets_it(broken: str, mended: str) -> None:
    found = await repair(Answering(lambda request: reading(request, "return {1: a, 2: [a, 1]}")), broken)
    assert found is not None
    assert mended in found.after
    assert await repair(Answering(reading), found.after) is None, "nothing is left to be repaired"


async def test_the_fault_is_masked_again_and_the_rest_of_the_line_stays() -> None:
    text = "def f(a):\n    return (a + 1))\n\n\nb = 1\n"

    def answer(request: InfillRequest) -> Sequence[Candidate]:
        return reading(request) if request.draft is None else [candidate("return (a + 1)")]

    backend = Answering(answer)
    found = await repair(backend, text)
    assert found is not None
    assert found.after == text.replace("))", ")")
    drafts = [one.draft for one in backend.requests if one.draft is not None]
    assert drafts
    assert 0 not in drafts[0].remask


async def test_of_several_repairs_the_smallest_change_wins_and_another_statement_is_none() -> None:
    text = "def f(a):\n    value = compute(a, [1, 2)\n    return value\n"
    others = ["value = 1", "value = compute(a, [1])", "value = compute(a, [1, 2])"]
    found = await repair(Answering(lambda request: reading(request, *others), can_remask=False), text)
    assert found is not None
    assert found.after == text.replace("2)", "2])")
    assert await repair(Answering(lambda request: reading(request, "pass"), can_remask=False), text) is None


async def test_only_what_touches_the_lines_is_repaired() -> None:
    text = "def f(a)\n    return a\n\n\ndef g(a):\n    return a\n\n\ndef h(a)\n    return a\n"
    found = await repair(Answering(reading), text, where(text, "def h(a)"))
    assert found is not None
    assert found.after == text.replace("def h(a)", "def h(a):")
    both = await repair(Answering(reading), text)
    assert both is not None
    assert both.after == text.replace("(a)\n", "(a):\n")
    assert len(edits_between(text, both.after)) == 2


async def test_a_sound_document_and_an_unknown_language_are_not_asked_about() -> None:
    backend = Answering(reading)
    assert await repair(backend, "x = 1\n") is None
    snapshot = DocumentSnapshot("file:///a.kl", "klingon", 1, "x = (")
    assert await engine_of(backend).rewriter.repair(snapshot) is None
    assert backend.requests == []


Call = Callable[[Engine, DocumentSnapshot], object]


@pytest.mark.parametrize("what", ["refill", "fill", "repair"])
async def test_an_edit_or_a_cancel_ends_it(what: str) -> None:
    text = "def f(a)\n    return ...\n" if what == "repair" else "def f(a):\n    return ...\n"
    snapshot = document_of(text)
    backend = Answering(lambda _: [candidate("a")], gate=asyncio.Event())
    engine = engine_of(backend)
    rewriter = engine.rewriter

    def start() -> asyncio.Task[object]:
        spans = () if what == "repair" else (where(text, "..."),)
        return asyncio.ensure_future(getattr(rewriter, what)(snapshot, *spans))

    async def until_asked(n: int) -> CancellationToken:
        async with asyncio.timeout(10):
            while len(backend.requests) < n:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        return backend.tokens[-1]

    engine.opened(snapshot)
    edited = start()
    token = await until_asked(1)
    engine.changed(replace(snapshot, text=text + "\n", version=2))
    assert token.cancelled()
    assert backend.gate is not None
    backend.gate.set()
    assert not await edited
    backend.gate.clear()
    cancelled = start()
    token = await until_asked(2)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    assert token.cancelled()
    backend.gate.set()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "x"),
        ("a\nb\nc\n", "a\nB\nc\n"),
        ("a\r\nb\r\nc", "a\r\nb1\r\nnew\r\nc"),
        ("a\nb\nc\nd\ne\n", "a1\nb\nc\nd\ne1\n"),
        ("same\n", "same\n"),
        ("a\nb\n", "b\n"),
        ("x\u2028y\n😀z", "x\u2028y\n😀zz"),
    ],
)
def test_edits_make_one_text_of_the_other(before: str, after: str) -> None:
    edits, text = edits_between(before, after), before
    for edit in reversed(edits):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    assert text == after
    assert all(edit.span.start < edit.span.end or edit.text for edit in edits)
