"""Code actions and commands beyond the cursor: a selection said otherwise, holes filled, syntax errors mended.

A code action is only listed at first, which takes no model; what it does is found when the editor asks for it
(`codeAction/resolve`), or, where the editor cannot ask, by the command of the same name.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp

from midspan_lsp.engine.gaps import MOST_CHARACTERS, MOST_OTHERS, Rewrite, stretch
from midspan_lsp.engine.text_lines import first_line
from midspan_lsp.errors import InfillError
from midspan_lsp.lsp.convert import offset_of
from midspan_lsp.lsp.handlers import null_on_failure
from midspan_lsp.lsp.offers import KINDS, NOTHING, STALE, Action, Offer, covers, offer_of, workspace_edit
from midspan_lsp.types import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from midspan_lsp.documents import DocumentSnapshot
    from midspan_lsp.lsp.server import MidspanServer

logger = logging.getLogger(__name__)

_TITLES = ("another way", "a second way", "a third way")
_MOST_TITLE_CHARACTERS = 60


@dataclass(frozen=True)
class Found:
    """What came of an offer last; asked again for another of its ways, nothing is done twice."""

    offer: Offer
    snapshot: DocumentSnapshot
    rewrites: tuple[Rewrite, ...]


def register(server: MidspanServer) -> None:
    """Gives a server its code actions and commands."""
    options = lsp.CodeActionOptions(code_action_kinds=list(KINDS.values()), resolve_provider=True)
    server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, options)(code_action)
    server.feature(lsp.CODE_ACTION_RESOLVE)(resolve)
    server.command(Action.REFILL.value)(run_refill)
    server.command(Action.FILL.value)(run_fill)
    server.command(Action.REPAIR.value)(run_repair)


@null_on_failure
async def code_action(ls: MidspanServer, params: lsp.CodeActionParams) -> list[lsp.CodeAction | lsp.Command] | None:
    """What can be done at a place."""
    snapshot = _document(ls, params.text_document.uri)
    if snapshot is None:
        return None
    place, only = params.range, params.context.only
    span = _span(ls, snapshot, place)
    offered = await asyncio.to_thread(_possible, snapshot, span)
    if ls.open_document(snapshot.uri) != snapshot:
        return None
    listed = list[tuple[str, Offer]]()
    for action, title in offered:
        offer = Offer(action, snapshot.uri, place, snapshot.version)
        if not covers(only, action):
            continue
        if action is not Action.REFILL:
            listed.append((title, offer))
            continue
        is_menu = params.context.trigger_kind is not lsp.CodeActionTriggerKind.Automatic
        if only and is_menu:  # a menu for just this: its items say what they would write
            found = await _find(ls, snapshot, offer)
            titles = [_excerpt(one.middles[0]) for one in found]
        else:
            titles = [f"write the selection {way}" for way in _TITLES[:MOST_OTHERS]]
        listed += [(title, replace(offer, number=number)) for number, title in enumerate(titles, start=1)]
    return [_as_action(ls, f"Midspan: {title}", offer, params.context.diagnostics) for title, offer in listed] or None


async def resolve(ls: MidspanServer, action: lsp.CodeAction) -> lsp.CodeAction:
    """The same action with its edit; without one if there is none, or the text is another one by now."""
    offer = offer_of(action.data)
    rewritten = offer and await _rewrite(ls, offer)
    if rewritten:
        action.edit = _edit(ls, *rewritten, action.title)
    return action


# pygls evaluates a command's annotations: what is for the type checker only cannot stand there


async def run_refill(ls: Any, *arguments: Any) -> dict[str, Any]:
    """The command: the first argument tells uri, range, and perhaps version and number."""
    return await _run(ls, Action.REFILL, arguments)


async def run_fill(ls: Any, *arguments: Any) -> dict[str, Any]:
    """The command: the first argument tells uri, range, and perhaps version."""
    return await _run(ls, Action.FILL, arguments)


async def run_repair(ls: Any, *arguments: Any) -> dict[str, Any]:
    """The command: the first argument tells uri, and perhaps range and version."""
    return await _run(ls, Action.REPAIR, arguments)


async def _run(ls: MidspanServer, action: Action, arguments: tuple[object, ...]) -> dict[str, Any]:
    """Has the editor apply what is found; whether it did."""
    offer = offer_of(arguments[0] if arguments else None, action)
    if offer is None or (offer.place is None and action is not Action.REPAIR):
        ls.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Error, f"Midspan: {action.value} needs a place."))
        return {"applied": False}
    rewritten = await _rewrite(ls, offer)
    if rewritten is None:
        return {"applied": False}
    label = f"Midspan: {action.value.removeprefix('midspan.')}"
    edit = _edit(ls, *rewritten, label)
    answer = await ls.workspace_apply_edit_async(lsp.ApplyWorkspaceEditParams(edit, label))
    return {"applied": answer.applied}


def _possible(snapshot: DocumentSnapshot, span: Span) -> list[tuple[Action, str]]:
    """What can be done at a span, without a model; each with what it is called."""
    # parsing is imported when it is needed first: a server must answer within a second of its start
    from midspan_lsp.syntax.broken_lines import document_faults  # noqa: PLC0415
    from midspan_lsp.syntax.placeholders import placeholders  # noqa: PLC0415

    text, language_id, uri = snapshot.text, snapshot.language_id, snapshot.uri
    found = list[tuple[Action, str]]()
    lines = _whole_lines(snapshot, span)
    faults = document_faults(text, language_id, uri) or ()
    if any(fault.start <= lines.end and fault.end >= lines.start for fault in faults):
        found.append((Action.REPAIR, "repair the syntax error"))
    n_holes = len(placeholders(text, language_id, span, uri))
    if n_holes:
        found.append((Action.FILL, "fill the hole here" if n_holes == 1 else f"fill the {n_holes} holes here"))
    gap = stretch(text, span)
    if 0 < gap.span.end - gap.span.start <= MOST_CHARACTERS:
        found.append((Action.REFILL, ""))
    return found


async def _rewrite(ls: MidspanServer, offer: Offer) -> tuple[DocumentSnapshot, Rewrite] | None:
    """What an offer comes to and the text it is for; None, told to the user, if there is none any more."""
    snapshot = _document(ls, offer.uri)
    if snapshot is None:
        return None
    is_stale, found = offer.version not in (None, snapshot.version), ()
    if not is_stale:
        found = await _find(ls, snapshot, offer)
        is_stale = ls.open_document(offer.uri) != snapshot
    if is_stale or len(found) < offer.number:
        message = STALE if is_stale else NOTHING[offer.action]
        ls.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Info, message))
        return None
    return snapshot, found[offer.number - 1]


async def _find(ls: MidspanServer, snapshot: DocumentSnapshot, offer: Offer) -> tuple[Rewrite, ...]:
    """All ways of an offer; none, told to the user, if the model fails."""
    asked, last = replace(offer, number=1), ls.last_found
    if last is not None and (last.offer, last.snapshot) == (asked, snapshot):
        return last.rewrites
    if ls.engine is None:
        return ()
    rewriter, place = ls.engine.rewriter, offer.place
    try:
        if place is None:
            found = [await rewriter.repair(snapshot)]
        elif offer.action is Action.REFILL:
            found = await rewriter.refill(snapshot, _span(ls, snapshot, place))
        elif offer.action is Action.FILL:
            found = [await rewriter.fill(snapshot, _span(ls, snapshot, place))]
        else:
            found = [await rewriter.repair(snapshot, _whole_lines(snapshot, _span(ls, snapshot, place)))]
    except InfillError as error:
        ls.tell_error(error)
        return ()
    rewrites = tuple(one for one in found if one is not None)
    if ls.open_document(snapshot.uri) == snapshot:
        ls.last_found = Found(asked, snapshot, rewrites)
    return rewrites


def _edit(ls: MidspanServer, snapshot: DocumentSnapshot, rewrite: Rewrite, label: str) -> lsp.WorkspaceEdit:
    workspace = ls.client_capabilities.workspace
    return workspace_edit(snapshot, rewrite, label, ls.encoding, workspace and workspace.workspace_edit)


def _as_action(
    ls: MidspanServer, title: str, offer: Offer, diagnostics: Sequence[lsp.Diagnostic]
) -> lsp.CodeAction | lsp.Command:
    """An action as the editor can take it: resolved later, or else a command."""
    document = ls.client_capabilities.text_document
    offered = document and document.code_action
    command = lsp.Command(title, offer.action.value, arguments=[offer.as_object()])
    if offered is None or offered.code_action_literal_support is None:
        return command
    errors = [one for one in diagnostics if one.severity is lsp.DiagnosticSeverity.Error]
    mended = errors if offer.action is Action.REPAIR and errors else None
    action = lsp.CodeAction(title, KINDS[offer.action], diagnostics=mended)
    can_resolve = offered.resolve_support is not None and "edit" in offered.resolve_support.properties
    if can_resolve and offered.data_support:
        action.data = offer.as_object()
    else:
        action.command = command
    return action


def _document(ls: MidspanServer, uri: str) -> DocumentSnapshot | None:
    """An open document in which anything may be suggested, once the model is there."""
    snapshot = ls.open_document(uri)
    if snapshot is None or ls.engine is None or not ls.engine.ready:
        return None
    return None if ls.configuration.exclusions.reason(snapshot) else snapshot


def _span(ls: MidspanServer, snapshot: DocumentSnapshot, place: lsp.Range) -> Span:
    start, end = (offset_of(snapshot, edge, ls.encoding) for edge in (place.start, place.end))
    return Span(min(start, end), max(start, end))


def _whole_lines(snapshot: DocumentSnapshot, span: Span) -> Span:
    """The lines of a span, and one on each side: what is missing on a line is missed on the next."""
    lines = snapshot.lines
    first, last = lines.line_of(span.start), lines.line_of(span.end)
    return Span(lines.line_span(max(0, first - 1))[0], lines.line_span(last + 1)[1])


def _excerpt(middle: str) -> str:
    line = first_line(middle.strip())
    is_cut = len(line) > _MOST_TITLE_CHARACTERS or line != middle.strip()
    return line[:_MOST_TITLE_CHARACTERS] + (" …" if is_cut else "")
