"""Between the protocol's shapes and Midspan's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types as lsp
from midspan_lsp.documents import DocumentSnapshot, PositionEncoding
from midspan_lsp.lsp import convert
from midspan_lsp.lsp.convert import Edit
from midspan_lsp.types import InfillStats, Span, Suggestion, Trigger, Verdict


def document(text: str) -> DocumentSnapshot:
    return DocumentSnapshot("file:///a.py", "python", 1, text)


def suggestion(text: str, start: int, end: int | None = None) -> Suggestion:
    span = Span(start, start if end is None else end)
    return Suggestion(text, span, 1.0, Verdict.VALID, InfillStats())


def edges(start: tuple[int, int], end: tuple[int, int]) -> lsp.Range:
    return lsp.Range(lsp.Position(*start), lsp.Position(*end))


def applied(text: str, edit: Edit) -> str:
    return text[: edit.span.start] + edit.text + text[edit.span.end :]


@pytest.mark.parametrize("kind", [*lsp.PositionEncodingKind, "utf-8"])
def test_encodings(kind: lsp.PositionEncodingKind | str) -> None:
    assert convert.encoding_of(kind) == str(getattr(kind, "value", kind))


def test_utf_16_is_the_default_encoding() -> None:
    assert convert.encoding_of(None) == "utf-16"


def test_triggers() -> None:
    assert convert.trigger_of(lsp.InlineCompletionTriggerKind.Invoked) is Trigger.INVOKED
    assert convert.trigger_of(lsp.InlineCompletionTriggerKind.Automatic) is Trigger.AUTOMATIC


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 9), ("utf-16", 7), ("utf-32", 6)])
def test_ranges_after_an_emoji(encoding: PositionEncoding, column: int) -> None:
    snapshot = document("a\r\ns = '😀' + x")
    offset = convert.offset_of(snapshot, lsp.Position(1, column), encoding)
    assert snapshot.text[:offset].endswith("😀")
    assert convert.range_of(snapshot, Span(offset, offset + 1), encoding) == edges((1, column), (1, column + 1))


def test_carriage_returns_do_not_reach_the_editor() -> None:
    assert convert.edit_of(suggestion("a\r\nb\rc\nd", 3)) == Edit(Span(3, 3), "a\nb\nc\nd")


@pytest.mark.parametrize(
    ("text", "edit", "selected", "expected"),
    [
        ("obj.", Edit(Span(4, 4), "log()"), Edit(Span(4, 4), "log"), Edit(Span(4, 4), "log()")),
        ("obj.", Edit(Span(4, 4), "log()"), Edit(Span(3, 4), ".log"), Edit(Span(3, 4), ".log()")),
        ("obj.lo", Edit(Span(6, 6), "g()"), Edit(Span(4, 6), "log"), Edit(Span(4, 6), "log()")),
        ("obj.lo", Edit(Span(0, 6), "obj.log()"), Edit(Span(4, 6), "log"), Edit(Span(4, 6), "log()")),
        ("obj.lo)", Edit(Span(6, 7), "g(1))"), Edit(Span(4, 6), "log"), Edit(Span(4, 7), "log(1))")),
        ("obj.logx", Edit(Span(6, 6), "gger"), Edit(Span(4, 8), "logger"), Edit(Span(4, 8), "loggergx")),
        ("obj.lo", Edit(Span(6, 6), "g()"), Edit(Span(4, 6), "load"), None),
        ("obj.lo", Edit(Span(6, 6), "g"), Edit(Span(4, 6), "log"), None),
        ("obj.lo)", Edit(Span(6, 7), "g)"), Edit(Span(4, 6), "log"), None),
        ("a\nobj.", Edit(Span(6, 6), "log()"), Edit(Span(0, 1), "a"), None),
        ("a\robj.", Edit(Span(6, 6), "log()"), Edit(Span(0, 1), "a"), None),
    ],
)
def test_extending_the_selected_item(text: str, edit: Edit, selected: Edit, expected: Edit | None) -> None:
    assert convert.extend_selected(text, edit, selected) == expected


spans = st.tuples(st.integers(0, 8), st.integers(0, 8)).map(lambda ends: Span(min(ends), max(ends)))
edits = st.builds(Edit, spans, st.text("ab", max_size=3))


@given(st.text("ab", min_size=8, max_size=8), edits, edits)
def test_an_extension_changes_the_document_as_the_suggestion_does(text: str, edit: Edit, selected: Edit) -> None:
    extended = convert.extend_selected(text, edit, selected)
    if extended is not None:
        assert applied(text, extended) == applied(text, edit)
        assert extended.text.startswith(selected.text)
        assert extended.span.start == selected.span.start


@pytest.mark.parametrize(
    ("text", "start", "word"),
    [("x = fo", 6, "fo"), ("x = ", 4, ""), ("größe1", 6, "größe1"), ("a\nb", 2, ""), ("", 0, "")],
)
def test_the_word_before_a_change_belongs_to_a_menu_item(text: str, start: int, word: str) -> None:
    edit = convert.include_word(text, Edit(Span(start, start), "!"))
    assert edit == Edit(Span(start - len(word), start), word + "!")


def test_a_word_without_end_is_cut() -> None:
    edit = convert.include_word("x" * 1000, Edit(Span(1000, 1000), "!"))
    assert edit.span.start == 1000 - convert.MAX_WORD_CHARACTERS


def test_inline_items_keep_order_and_have_ranges() -> None:
    snapshot = document("x = )")
    answer = convert.inline_list(snapshot, [suggestion("f(", 4), suggestion("g()", 4, 5)], None, "utf-16")
    assert answer is not None
    ranges = [(item.insert_text, item.range) for item in answer.items]
    assert ranges == [("f(", edges((0, 4), (0, 4))), ("g()", edges((0, 4), (0, 5)))]


def test_inline_items_beside_a_menu_are_those_that_extend_its_item() -> None:
    snapshot = document("obj.")
    selected = lsp.SelectedCompletionInfo(edges((0, 3), (0, 4)), ".log")
    answer = convert.inline_list(snapshot, [suggestion("nothing", 4), suggestion("log()", 4)], selected, "utf-16")
    assert answer is not None
    assert [item.insert_text for item in answer.items] == [".log()"]
    assert convert.inline_list(snapshot, [suggestion("nothing", 4)], selected, "utf-16") is None


def test_no_suggestion_is_null() -> None:
    assert convert.inline_list(document(""), [], None, "utf-16") is None
    assert convert.menu_list(document(""), [], "utf-16") is None
    assert convert.menu_list(document("x"), [suggestion(" \n ", 1)], "utf-16") is None


def test_a_menu_item_shows_its_first_line_and_documents_all() -> None:
    text = "\n    " + "y" * 200 + "\n    z"
    answer = convert.menu_list(document("if x:"), [suggestion(text, 5), suggestion("second", 5)], "utf-16")
    assert answer is not None
    assert answer.is_incomplete
    (item,) = answer.items
    assert item.label == "y" * 80
    assert item.documentation == text
    assert item.text_edit == lsp.TextEdit(edges((0, 5), (0, 5)), text)
    assert item.insert_text_mode == lsp.InsertTextMode.AsIs
    assert item.preselect is False
