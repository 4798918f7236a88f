"""Between the protocol's shapes and Midspan's own, both ways, and nothing else.

All positions go through `LineIndex`: pygls' own arithmetic takes form feeds and others for line ends.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from lsprotocol import types as lsp

from midspan_lsp.types import Edit, Span, Suggestion, Trigger

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from midspan_lsp.documents import DocumentSnapshot, PositionEncoding
    from midspan_lsp.engine.outcome import Tally

    OnAccept = Callable[[DocumentSnapshot], lsp.Command]

ACCEPTED = "midspan.accepted"
"""The command of an item; its argument is the document's language."""

MAX_LABEL_CHARACTERS = 80
MAX_WORD_CHARACTERS = 256

_ENCODINGS: dict[str | None, PositionEncoding] = {"utf-8": "utf-8", "utf-16": "utf-16", "utf-32": "utf-32"}
_WORD_END = re.compile(r"\w*\Z")
_LINE_END = re.compile(r"\r\n|\r")


def encoding_of(kind: lsp.PositionEncodingKind | str | None) -> PositionEncoding:
    """The units of the negotiated encoding; the protocol's default is UTF-16."""
    return _ENCODINGS.get(kind, "utf-16")


def trigger_of(kind: lsp.InlineCompletionTriggerKind) -> Trigger:
    """Why an inline completion is asked for."""
    invoked = kind == lsp.InlineCompletionTriggerKind.Invoked
    return Trigger.INVOKED if invoked else Trigger.AUTOMATIC


def offset_of(snapshot: DocumentSnapshot, position: lsp.Position, encoding: PositionEncoding) -> int:
    """Offset of a position, clamped to the text."""
    return snapshot.lines.offset(position.line, position.character, encoding)


def range_of(snapshot: DocumentSnapshot, span: Span, encoding: PositionEncoding) -> lsp.Range:
    """The editor's range of a span."""
    start, end = (snapshot.lines.position(offset, encoding) for offset in (span.start, span.end))
    return lsp.Range(start=lsp.Position(*start), end=lsp.Position(*end))


def edit_of(suggestion: Suggestion) -> Edit:
    """What a suggestion does to the document."""
    # editors put in the document's own line ends, but Neovim would show a carriage return
    return Edit(suggestion.replace, _LINE_END.sub("\n", suggestion.text))


def extend_selected(text: str, edit: Edit, selected: Edit) -> Edit | None:
    """The same change written as one that goes on from the item selected in a menu.

    VS Code shows ghost text beside an open menu only if it has the item's range and goes on from its text.

    Args:
        text: the document.
        edit: the change.
        selected: what the menu's item would do.

    Returns:
        None if the change contradicts the item, adds nothing to it, or would span several lines.
    """
    start = min(edit.span.start, selected.span.start)
    end = max(edit.span.end, selected.span.end)
    if re.search(r"[\r\n]", text[start:end]):
        return None
    changed = text[start : edit.span.start] + edit.text + text[edit.span.end : end]
    unchanged = text[start : selected.span.start]
    wanted = unchanged + selected.text
    if not changed.startswith(wanted) or changed == wanted + text[selected.span.end : end]:
        return None
    return Edit(Span(selected.span.start, end), changed[len(unchanged) :])


def include_word(text: str, edit: Edit) -> Edit:
    """The same change with the part of a word before it: menus filter by what is typed of a word."""
    start = edit.span.start
    match = _WORD_END.search(text, max(0, start - MAX_WORD_CHARACTERS), start)
    word = match.group() if match else ""
    return Edit(Span(start - len(word), edit.span.end), word + edit.text)


def inline_list(
    snapshot: DocumentSnapshot,
    suggestions: Sequence[Suggestion],
    selected: lsp.SelectedCompletionInfo | None,
    encoding: PositionEncoding,
    on_accept: OnAccept | None = None,
) -> lsp.InlineCompletionList | None:
    """Suggestions as ghost text; None if there is none.

    Args:
        snapshot: the document they are for.
        suggestions: best first.
        selected: the item selected in an open menu, if any.
        encoding: the editor's.
        on_accept: makes the command that tells us of an item's being accepted.
    """
    edits: list[Edit | None] = [edit_of(suggestion) for suggestion in suggestions]
    if selected is not None:
        item = Edit(_span_of(snapshot, selected.range, encoding), selected.text)
        edits = [extend_selected(snapshot.text, edit, item) for edit in edits if edit is not None]
    command = on_accept and on_accept(snapshot)
    items = [
        lsp.InlineCompletionItem(edit.text, range=range_of(snapshot, edit.span, encoding), command=command)
        for edit in edits
        if edit is not None
    ]
    return lsp.InlineCompletionList(items=items) if items else None


def menu_list(
    snapshot: DocumentSnapshot,
    suggestions: Sequence[Suggestion],
    encoding: PositionEncoding,
    on_accept: OnAccept | None = None,
) -> lsp.CompletionList | None:
    """The best suggestion as an item of the completion menu; None if there is none.

    The list is incomplete, so that the editor asks again at the next key.
    """
    if not suggestions or not suggestions[0].text.strip():
        return None
    edit = include_word(snapshot.text, edit_of(suggestions[0]))
    item = _menu_item(snapshot, edit, encoding)
    item.command = on_accept and on_accept(snapshot)
    return lsp.CompletionList(is_incomplete=True, items=[item])


def acceptance_command(snapshot: DocumentSnapshot) -> lsp.Command:
    """What an editor is to run once it has inserted an item."""
    return lsp.Command("Midspan: accepted", ACCEPTED, arguments=[snapshot.language_id])


def uri_of(params: object) -> str | None:
    """The document that the parameters of a method of our own are about, if they tell one."""
    uri = cast("Mapping[str, object]", params).get("uri") if isinstance(params, Mapping) else None
    return uri if isinstance(uri, str) else None


def tally_object(tally: Tally) -> dict[str, int]:
    """What was done since the start, as a JSON object."""
    return {
        "requests": tally.n_requests,
        "repeated": tally.n_repeated,
        "typedThrough": tally.n_typed_through,
        "forwards": tally.n_forwards,
        "wastedForwards": tally.n_wasted_forwards,
        "encodedTokens": tally.n_encoded_tokens,
        "cachedTokens": tally.n_cached_tokens,
        "prefilledTokens": tally.n_prefilled_tokens,
    }


def _menu_item(snapshot: DocumentSnapshot, edit: Edit, encoding: PositionEncoding) -> lsp.CompletionItem:
    return lsp.CompletionItem(
        label=edit.text.strip().split("\n")[0][:MAX_LABEL_CHARACTERS],
        kind=lsp.CompletionItemKind.Text,
        documentation=edit.text,
        preselect=False,
        sort_text="~",  # behind what a language's own server offers
        filter_text=edit.text,
        text_edit=lsp.TextEdit(range=range_of(snapshot, edit.span, encoding), new_text=edit.text),
        insert_text_mode=lsp.InsertTextMode.AsIs,
    )


def _span_of(snapshot: DocumentSnapshot, edges: lsp.Range, encoding: PositionEncoding) -> Span:
    start, end = (offset_of(snapshot, position, encoding) for position in (edges.start, edges.end))
    return Span(start, max(start, end))
