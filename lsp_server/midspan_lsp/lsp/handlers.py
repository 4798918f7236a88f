"""One function per method of the protocol."""

from __future__ import annotations

import functools
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from lsprotocol import types as lsp

from midspan_lsp.documents import path_of
from midspan_lsp.engine.outcome import Silence
from midspan_lsp.errors import InfillError
from midspan_lsp.lsp import convert, status
from midspan_lsp.types import Suggestion, Trigger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from midspan_lsp.documents import DocumentSnapshot
    from midspan_lsp.lsp.server import MidspanServer

logger = logging.getLogger(__name__)

WORK = "midspan/work"
MENU_TRIGGER_CHARACTERS = (".", "(", "[", "{", "=", " ")

_Params = TypeVar("_Params")
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Answer:
    """Suggestions and the document they are for."""

    snapshot: DocumentSnapshot
    suggestions: list[Suggestion]


def register(server: MidspanServer) -> None:
    """Gives a server its handlers."""
    server.feature(lsp.INITIALIZE)(initialize)
    server.feature(lsp.INITIALIZED)(initialized)
    server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)(did_open)
    server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)(did_change)
    server.feature(lsp.TEXT_DOCUMENT_DID_SAVE, lsp.SaveOptions(include_text=False))(did_save)
    server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)(did_close)
    server.feature(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)(did_change_configuration)
    server.feature(lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)(did_change_workspace_folders)
    any_file = lsp.FileOperationFilter(lsp.FileOperationPattern("**/*"), scheme="file")
    files = lsp.FileOperationRegistrationOptions([any_file])
    server.feature(lsp.WORKSPACE_DID_CREATE_FILES, files)(did_create_files)
    server.feature(lsp.WORKSPACE_DID_RENAME_FILES, files)(did_rename_files)
    server.feature(lsp.WORKSPACE_DID_DELETE_FILES, files)(did_delete_files)
    server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)(did_change_watched_files)
    # without options pygls would not advertise it
    server.feature(lsp.TEXT_DOCUMENT_INLINE_COMPLETION, lsp.InlineCompletionOptions())(inline_completion)
    server.feature(WORK)(work)
    server.feature(status.METHOD)(status_of)
    server.command(convert.ACCEPTED)(_accept)


def initialize(ls: MidspanServer, params: lsp.InitializeParams) -> None:
    """Takes the settings and folders, before pygls reckons the capabilities."""
    ls.watch_parent(params.process_id)
    ls.configuration.begin(params.initialization_options)
    ls.take_folders(params)
    if ls.configuration.settings.completion.menu:
        options = lsp.CompletionOptions(trigger_characters=MENU_TRIGGER_CHARACTERS)
        ls.feature(lsp.TEXT_DOCUMENT_COMPLETION, options)(completion)


def initialized(ls: MidspanServer, params: lsp.InitializedParams) -> None:  # noqa: ARG001
    """Starts loading: not earlier, for the reply must not wait for it."""
    ls.start()
    ls.watch_settings()


# What comes before there is an engine, it is told when there is.


def did_open(ls: MidspanServer, params: lsp.DidOpenTextDocumentParams) -> None:
    """Has a document remembered."""
    snapshot = ls.open_document(params.text_document.uri)
    if snapshot is not None:
        ls.status.document(snapshot)
    if ls.engine is not None and snapshot is not None:
        ls.engine.opened(snapshot)


def did_change(ls: MidspanServer, params: lsp.DidChangeTextDocumentParams) -> None:
    """Has a document's new text remembered."""
    snapshot = ls.open_document(params.text_document.uri)
    if ls.engine is not None and snapshot is not None:
        ls.engine.changed(snapshot)


def did_save(ls: MidspanServer, params: lsp.DidSaveTextDocumentParams) -> None:
    """Has a file looked at again; new rules of what is ignored count from now on, and so do new settings."""
    path = path_of(params.text_document.uri)
    ls.configuration.saved([path])
    if ls.engine is not None and path is not None:
        ls.engine.recall.saved(path)


def did_close(ls: MidspanServer, params: lsp.DidCloseTextDocumentParams) -> None:
    """Stops work on a document that is gone."""
    ls.status.closed(params.text_document.uri)
    if ls.engine is not None:
        ls.engine.forget(params.text_document.uri)


def did_change_configuration(ls: MidspanServer, params: lsp.DidChangeConfigurationParams) -> None:
    """Takes other settings."""
    ls.configuration.changed(params.settings)


def did_change_workspace_folders(ls: MidspanServer, params: lsp.DidChangeWorkspaceFoldersParams) -> None:
    """Has folders remembered or forgotten."""
    ls.change_folders(params.event)


def did_create_files(ls: MidspanServer, params: lsp.CreateFilesParams) -> None:
    """Has new files and folders remembered."""
    for file in params.files:
        path = path_of(file.uri)
        if ls.engine is not None and path is not None:
            ls.engine.recall.saved(path)


def did_rename_files(ls: MidspanServer, params: lsp.RenameFilesParams) -> None:
    """Has files and folders remembered by their new names."""
    for file in params.files:
        if ls.engine is not None:
            ls.engine.recall.renamed(file.old_uri, file.new_uri)


def did_delete_files(ls: MidspanServer, params: lsp.DeleteFilesParams) -> None:
    """Has files and folders forgotten."""
    for file in params.files:
        path = path_of(file.uri)
        if ls.engine is not None and path is not None:
            ls.engine.recall.deleted(path)


def did_change_watched_files(ls: MidspanServer, params: lsp.DidChangeWatchedFilesParams) -> None:
    """Has files looked at again that another program may have written."""
    paths = [path for change in params.changes if (path := path_of(change.uri))]
    ls.configuration.saved(paths)
    if ls.engine is not None:
        ls.engine.recall.changed_outside(paths)


def null_on_failure(
    handler: Callable[[MidspanServer, _Params], Awaitable[_Result | None]],
) -> Callable[[MidspanServer, _Params], Awaitable[_Result | None]]:
    """A handler that answers null where it would fail: editors show every error as a pop-up."""

    @functools.wraps(handler)
    async def guarded(ls: MidspanServer, params: _Params) -> _Result | None:
        try:
            return await handler(ls, params)
        except InfillError as error:
            ls.tell_error(error)
        except Exception:
            logger.exception("a completion failed")
        return None

    return guarded


@null_on_failure
async def inline_completion(ls: MidspanServer, params: lsp.InlineCompletionParams) -> lsp.InlineCompletionList | None:
    """Ghost text."""
    trigger = convert.trigger_of(params.context.trigger_kind)
    answer = await _ask(ls, params.text_document.uri, params.position, trigger)
    selected = params.context.selected_completion_info
    return answer and convert.inline_list(answer.snapshot, answer.suggestions, selected, ls.encoding, ls.on_accept)


def work(ls: MidspanServer, params: object) -> dict[str, int] | None:  # noqa: ARG001
    """What was done since the start, for benchmarks; null before there is an engine."""
    return None if ls.engine is None else convert.tally_object(ls.engine.tally)


def status_of(ls: MidspanServer, params: object) -> status.State:
    """The state of a document, or of the server."""
    return ls.status.of(convert.uri_of(params))


def accepted(ls: MidspanServer, *arguments: object) -> None:
    """The editor runs this once it has inserted a suggestion."""
    if ls.engine is not None and arguments and isinstance(arguments[0], str):
        ls.engine.feedback.accepted(arguments[0])


def _accept(ls: Any, *arguments: Any) -> None:
    """The same for pygls, which evaluates a command's annotations: others' are for the type checker only."""
    accepted(ls, *arguments)


@null_on_failure
async def completion(ls: MidspanServer, params: lsp.CompletionParams) -> lsp.CompletionList | None:
    """The same middle as an item of the menu."""
    answer = await _ask(ls, params.text_document.uri, params.position, Trigger.MENU)
    return answer and convert.menu_list(answer.snapshot, answer.suggestions, ls.encoding, ls.on_accept)


async def _ask(ls: MidspanServer, uri: str, position: lsp.Position, trigger: Trigger) -> Answer | None:
    """The engine's answer; None if the document is not open, is excluded, or is another one by then."""
    snapshot = ls.open_document(uri)
    if ls.engine is None or snapshot is None:
        return None
    if ls.configuration.exclusions.reason(snapshot) is not None:
        ls.engine.feedback.silent(snapshot.language_id, Silence.OFF)
        return None
    offset = convert.offset_of(snapshot, position, ls.encoding)
    suggestions = await ls.engine.complete(snapshot, offset, trigger)
    ls.status.recovered()
    return Answer(snapshot, suggestions) if ls.open_document(uri) == snapshot else None
