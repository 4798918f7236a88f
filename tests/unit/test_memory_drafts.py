"""Drafts: what stands elsewhere, fitted to the cursor."""

from __future__ import annotations

import pytest
from midspan_lsp.config import MemorySettings
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.memory.drafts import RetrievedDraft
from midspan_lsp.memory.memory import ProjectMemory


def drafts(
    text: str, *others: str, max_lines: int = 1, min_indent: int | None = None, language_id: str = "python"
) -> list[RetrievedDraft]:
    """Drafts at the mark `|` of a text, with other open documents."""
    memory = ProjectMemory(MemorySettings(), keep=False)
    for number, other in enumerate(others):
        memory.open(f"file:///other{number}", None, language_id, other)
    offset = text.index("|")
    text = text[:offset] + text[offset + 1 :]
    memory.open("file:///own", None, language_id, text)
    return memory.drafts(DocumentSnapshot("file:///own", language_id, 1, text), offset, max_lines, min_indent)


def texts(found: list[RetrievedDraft]) -> list[str]:
    return [draft.text for draft in found]


def test_the_longest_match_goes_on_to_the_end_of_its_line() -> None:
    other = "def f():\n    total = price * count\n    return total\n\ndef g():\n    x = price / 2\n"
    best = drafts("def h():\n    total = price |\n", other)[0]
    assert best.text == "* count"
    assert (best.source_path, best.source_line, best.is_same_file, best.renamed) == ("file:///other0", 1, False, False)
    assert best.match_tokens >= 3
    assert 0 < best.score < 1


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("resp", "onse.close()"),
        ("response", ".close()"),
        ("response.", "close()"),
        ("response.cl", "ose()"),
        ("", "response.close()"),
    ],
)
def test_a_word_begun_is_healed(before: str, text: str) -> None:
    other = "try:\n    work()\nfinally:\n    response.close()\n"
    assert text in texts(drafts(f"finally:\n    {before}|\n", other))


def test_what_does_not_begin_with_the_word_is_no_draft() -> None:
    assert drafts("finally:\n    req|\n", "finally:\n    response.close()\n") == []


def test_the_text_behind_decides_between_equal_matches() -> None:
    other = "start()\nfirst()\nalpha()\n\nstart()\nsecond()\nbeta()\n"
    assert drafts("start()\n|\nbeta()\n", other)[0].text == "second()"
    assert drafts("start()\n|\nalpha()\n", other)[0].text == "first()"
    assert drafts("start()\n|\nbeta()\n", other)[0].suffix_agrees == 3


def test_what_more_places_say_is_before_what_one_says() -> None:
    other = "x = get(1)\ny\nx = get(2)\nz\nx = get(2)\nw\nx = get(2)\n"
    best = drafts("x = get(|\n", other)[0]
    assert (best.text, best.n_agreeing, best.n_places) == ("2)", 3, 4)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("total = area(|)\n", "width, height"),
        ("total = area(wi|)\n", "dth, height"),
        ("total = area(width, |) # x\n", "height"),
        ("total = area(|, height)\n", "width"),
    ],
)
def test_a_draft_ends_where_the_rest_of_the_line_begins(text: str, wanted: str) -> None:
    assert drafts(text, "total = area(width, height)\n")[0].text == wanted


def test_a_draft_that_does_not_meet_the_rest_is_none() -> None:
    assert drafts("total = area(| else 3\n", "total = area(width, height)\n") == []


def test_several_lines_take_the_cursors_indent() -> None:
    other = (
        "def f(self):\n    for x in self.items:\n        if x:\n            x.run()\n        x.stop()\n    return 3\n"
    )
    text = "class A:\n        def f(self):\n            for x in self.items:\n                |\n"
    best = drafts(text, other, max_lines=4, min_indent=16)[0]
    assert best.text == "if x:\n                    x.run()\n                x.stop()"
    best = drafts(text, other, max_lines=2, min_indent=16)[0]
    assert best.text == "if x:\n                    x.run()"


def test_several_lines_with_tabs_and_other_line_ends() -> None:
    other = "if ok {\n    for x {\n        run()\n    }\n}\n"
    found = drafts("func f() {\r\n\tif ok {\r\n\t\t|\r\n", other, max_lines=3, min_indent=16, language_id="go")
    assert "for x {\r\n\t\t\trun()\r\n\t\t}" in texts(found)


def test_other_names_are_renamed() -> None:
    other = "if width is None:\n    raise ValueError(width)\nself.width = width\n"
    best = drafts("if height is None:\n    |\n", other)[0]
    assert (best.text, best.renamed) == ("raise ValueError(height)", True)


def test_renaming_is_consistent() -> None:
    other = "add(left, right)\nsub(left, right)\n"
    assert "sub(a, b)" in texts(drafts("add(a, b)\n|\n", other))
    assert not any(draft.renamed for draft in drafts("add(a, a)\n|\n", other))


def test_a_literal_match_is_before_a_renamed_one() -> None:
    other = "if height is None:\n    return 3\n\nif width is None:\n    raise ValueError(width)\n"
    best = drafts("if height is None:\n    |\n", other)[0]
    assert (best.text, best.renamed) == ("return 3", False)


def test_the_cursors_own_line_is_no_draft() -> None:
    assert drafts("x = f(x = f(|\n") == []
    assert drafts("a = compute(1)|\n") == []
    assert drafts("|\n") == []
    assert drafts("|") == []


def test_nothing_blank_is_offered() -> None:
    assert all(draft.text.strip() for draft in drafts("x = 3 |\n", "x = 3 \n\n\n", "y = 3  # no\n"))


def test_another_language_is_not_searched() -> None:
    memory = ProjectMemory(MemorySettings(), keep=False)
    memory.open("file:///a.go", None, "go", "total = price * count\n")
    text = "total = price "
    assert memory.drafts(DocumentSnapshot("file:///b.py", "python", 1, text), len(text)) == []
    assert memory.drafts(DocumentSnapshot("file:///b.go", "go", 1, text), len(text))[0].text == "* count"


def test_distance_is_in_lines() -> None:
    best = drafts("a = call(one)\n\n\nb = 2\na = call(|\n")[0]
    assert (best.text, best.is_same_file, best.source_line) == ("one)", True, 0)
    assert best.distance_lines >= 2


@pytest.mark.parametrize(
    "text", ["\ud800|", "\0\0|\0", "x" * 100_000 + "|", "(" * 3000 + "|" + ")" * 3000, "\r\r\n|\n\r"]
)
def test_anything_may_stand_around(text: str) -> None:
    drafts(text, "x = 3\n", text.replace("|", ""), max_lines=4)
