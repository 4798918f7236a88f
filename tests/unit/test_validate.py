"""The gate beyond the golden cases: any text, offsets, time, threads, memory."""

from __future__ import annotations

import gc
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from midspan_lsp.syntax import parsing
from midspan_lsp.syntax.languages import validated_languages
from midspan_lsp.syntax.parsing import OutOfTimeError, TimeLimit, encode
from midspan_lsp.syntax.trees import ByteRange, Hole, faults, parse_text
from midspan_lsp.syntax.validate import MAX_LENGTH, TIME_LIMIT_S, validate
from midspan_lsp.types import Span, SyntaxReport, Verdict

LANGUAGES = validated_languages()
# pieces of code in all six languages, whole and cut, and characters of every width; a lone surrogate, NUL, BOM
PIECES = [
    *"()[]{}<>=+-*/.,:;!?&|#@'\"`\\ \t\n\r\0",
    "\r\n", "\n    ", '"""', "'''", "/*", "*/", "//", "=>", "->", "::", "${", "</", "/>", "r#\"", "é", "世", "😀",
    "\ud83d", "\udc00", "\ufeff", "\u2028", "x", "foo", "1", "def f(a):", "return ", "if x", "else", "class A",
    "import ", "function f() ", "const x = ", "async ", "<div>", "</div>", "func f() ", "package main\n", ":= ",
    "fn f() ", "let ", "match x ", "impl ", "lambda ", "`a${", "yield", "f'{x}'", "# c\n", "while True:\n    pass\n",
]  # fmt: skip
codes = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
texts = codes | st.text(max_size=20) | st.text(st.characters(categories=["Cs", "Cc", "Ll", "So"]), max_size=12)
spans = st.tuples(st.integers(-3, 60), st.integers(-3, 60)).map(lambda edges: Span(*edges))


def insert(text: str, middle: str, language_id: str = "python") -> SyntaxReport:
    """Validates `middle` at the mark │."""
    head, tail = text.split("│")
    return validate(head + tail, Span(len(head), len(head)), middle, language_id)


@settings(max_examples=400, deadline=None)
@given(texts, texts, texts, st.sampled_from(LANGUAGES))
def test_no_text_raises_and_faults_lie_in_the_middle(head: str, middle: str, tail: str, language_id: str) -> None:
    report = validate(head + tail, Span(len(head), len(head)), middle, language_id)
    assert report.verdict is not Verdict.NO_OPINION
    assert (report.verdict is Verdict.BROKEN) == bool(report.error_spans)
    assert all(0 <= span.start <= span.end <= len(middle) for span in report.error_spans)


@settings(max_examples=200, deadline=None)
@given(texts, spans, texts, st.sampled_from(LANGUAGES))
def test_no_span_raises(text: str, replace: Span, middle: str, language_id: str) -> None:
    report = validate(text, replace, middle, language_id)
    assert all(0 <= span.start <= span.end <= len(middle) for span in report.error_spans)


@settings(max_examples=200, deadline=None)
@given(texts, texts, st.sampled_from(LANGUAGES))
def test_nothing_in_place_of_nothing_is_valid(head: str, tail: str, language_id: str) -> None:
    assert insert(head.replace("│", "") + "│" + tail.replace("│", ""), "", language_id) == SyntaxReport(Verdict.VALID)


@settings(max_examples=300, deadline=None)
@given(codes, codes, codes, st.sampled_from(LANGUAGES))
def test_a_second_parse_from_the_first_tree_finds_what_a_fresh_one_does(
    head: str, middle: str, tail: str, language_id: str
) -> None:
    limit = TimeLimit(60)
    tree = parse_text(language_id, head + tail, limit)
    fresh = parse_text(language_id, head + middle + tail, limit)
    assert tree is not None
    assert fresh is not None
    place = ByteRange(len(encode(head)), len(encode(head)))
    filled = Hole(language_id, encode(head + tail), place, tree).fill(encode(middle), limit)
    assert bool(faults(filled.tree, limit)) == bool(faults(fresh, limit))
    assert filled.tree.root_node.end_byte == fresh.root_node.end_byte


def a_module(n_functions: int) -> str:
    return "".join(f"def f{n}(a):\n    b = a + {n}\n    return [b]\n\n\n" for n in range(n_functions))


LINES = [
    "    c = 1\n", "    if a:\n        return b\n", "    # é\n", "\n", "    d = [\n        a,\n    ]\n",
    "    e = '😀'\n",
]  # fmt: skip
MIDDLES = [
    "    c = f(a)\n", "    c = f(a\n", "    c = ]\n", "c = 1\n", "      c = 1\n", "    if a:\n", "    c = 'é\n",
    "# c\n",
]  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 149), st.sampled_from(LINES), st.sampled_from(MIDDLES)), min_size=1, max_size=6)
)
def test_a_kept_tree_judges_as_a_fresh_one(edits: list[tuple[int, str, str]]) -> None:
    """Lines are added here and there; the tree that is edited with them tells what one of the text alone does.

    Of sound documents only: how the parser recovers from a fault depends on the tree it had before.
    """
    text = a_module(150)
    for n, line, middle in edits:
        start = text.index(f"    b = a + {n}\n")
        text = text[:start] + line + text[start:]
        place = Span(start + len(line), start + len(line))
        kept = validate(text, place, middle, "python", "file:///kept.py")
        fresh = validate(text, place, middle, "python", f"file:///{time.perf_counter_ns()}")
        assert kept.verdict == fresh.verdict


def test_typing_in_a_large_document_parses_little(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[int] = []

    def count(parser: object, source: bytes, *rest: object) -> object:
        parsed.append(len(source))
        return parsing.parse(parser, source, *rest)  # type: ignore[arg-type]

    for module in ("kept", "surroundings", "trees", "stumbles"):
        monkeypatch.setattr(f"midspan_lsp.syntax.{module}.parse", count)
    text = a_module(2000)
    at = text.index("    return [b]", len(text) // 2)
    validate(text, Span(at, at), "    pass\n", "python", "file:///large.py")
    assert parsed.pop(0) == len(text)
    for n in range(1, 5):
        typed = text[:at] + "    c = a"[: 4 + n] + text[at:]
        for middle in ("", "\n", "]\n"):
            validate(typed, Span(at + 4 + n, at + 4 + n), middle, "python", "file:///large.py")
    assert max(parsed) < 1000


@pytest.mark.parametrize("before", ["", "é" * 3, "😀" * 3, "\ud800" * 3, "a\u2028b\x0c"])
def test_faults_are_told_in_code_points(before: str) -> None:
    report = insert(f"# {before}\nx = │\n", f"'{before}', foo(]")
    fault = len(before) + len("'', foo(")
    assert report == SyntaxReport(Verdict.BROKEN, (Span(fault, fault + 1),))


def test_a_fault_of_several_bytes() -> None:
    assert insert("│\n", "größe 世界").error_spans == (Span(6, 8),)


def test_lone_surrogates_count_as_one_character() -> None:
    assert len(encode("a\ud83d\ude00b").decode()) == 4


@pytest.mark.parametrize("language_id", LANGUAGES)
def test_a_lone_surrogate_at_the_end_of_time_does_not_crash(language_id: str) -> None:
    text = "\ud800" * 100_000
    with pytest.raises(OutOfTimeError):
        parse_text(language_id, text, TimeLimit(0.0))
    for limit_s in (0.0005, 0.001, 0.003):
        try:
            parse_text(language_id, text, TimeLimit(limit_s))
        except OutOfTimeError:
            continue


@pytest.mark.parametrize(
    "text",
    ["x" * (MAX_LENGTH + 1), "(" * 400_000, "[{" * 200_000, '"' + "x" * 400_000, "a<" * 200_000, "/*" + "é" * 400_000],
    ids=["too long", "open brackets", "nested", "one string", "generics", "one comment"],
)
def test_hostile_texts_take_no_longer_than_the_limits(text: str) -> None:
    begin_s = time.monotonic()
    validate(text, Span(len(text), len(text)), "foo(]", "javascript")
    # one limit for the document and one for the middle; the rest is for a busy machine
    assert time.monotonic() - begin_s < 2 * TIME_LIMIT_S + 1.5


def test_beyond_the_limit_there_is_no_opinion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("midspan_lsp.syntax.validate.TIME_LIMIT_S", 0.0)
    assert insert("slow = 1\n│", "x = ]").verdict is Verdict.NO_OPINION


def test_a_text_that_is_too_long_is_not_looked_at() -> None:
    text = "#" * MAX_LENGTH
    assert validate(text, Span(0, 0), "", "python").verdict is Verdict.VALID
    assert validate(text, Span(0, 0), "\n", "python").verdict is Verdict.NO_OPINION


def test_middles_of_one_document_share_its_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[int] = []

    def count(parser: object, source: bytes, *rest: object) -> object:
        parsed.append(len(source))
        return parsing.parse(parser, source, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr("midspan_lsp.syntax.kept.parse", count)
    for middle in ("1", "1 + ", "]"):
        insert("shared = │\n", middle)
    assert len(parsed) == 1


def test_threads_do_not_disturb_each_other() -> None:
    jobs = [
        (f"{'# é' * n}\nx = foo(│)\n", middle, verdict)
        for n in range(60)
        for middle, verdict in (("a, b", Verdict.VALID), ("a]", Verdict.BROKEN))
    ]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda job: insert(job[0], job[1]).verdict, jobs))
    assert found == [verdict for _, _, verdict in jobs]


def test_the_parser_keeps_nothing_of_the_text() -> None:
    document = "x = foo(1)\n" * 500

    def n_bytes_after(n_documents: int) -> int:
        for n in range(n_documents):
            insert(f"{document}kept_{n} = │\n", "1]")
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = n_bytes_after(5)
        assert n_bytes_after(40) - before < 10 * len(document)
    finally:
        tracemalloc.stop()


def test_a_table_is_not_said_twice_however_far_away() -> None:
    tables = "".join(f"[table{number}]\nkey = {number}\n\n" for number in range(500))
    report = validate(f"\n{tables}", Span(0, 0), "[table400]", "toml")
    assert report.verdict is Verdict.BROKEN
    assert validate(f"\n{tables}", Span(0, 0), "[table500]", "toml").verdict is Verdict.VALID
