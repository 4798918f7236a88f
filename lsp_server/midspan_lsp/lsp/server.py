"""The server's state: settings, engine, and what the user has been told."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcInternalError, JsonRpcMethodNotFound, PyglsError
from pygls.lsp.server import LanguageServer

from midspan_lsp import __version__
from midspan_lsp.documents import DocumentSnapshot, PositionEncoding, path_of
from midspan_lsp.engine.recall import RULES
from midspan_lsp.errors import InfillError
from midspan_lsp.lsp.configuration import SECTION, Configuration
from midspan_lsp.lsp.convert import acceptance_command, encoding_of
from midspan_lsp.lsp.converter import build_converter
from midspan_lsp.lsp.parent import call_when_gone
from midspan_lsp.lsp.progress import LoadingProgress
from midspan_lsp.lsp.protocol import MidspanProtocol
from midspan_lsp.lsp.settings import FILE_NAMES, needs_restart
from midspan_lsp.lsp.status import Status
from midspan_lsp.memory.languages import ENDINGS

if TYPE_CHECKING:
    from collections.abc import Callable

    from midspan_lsp.config import Settings
    from midspan_lsp.engine.pipeline import Engine
    from midspan_lsp.lsp.actions import Found

logger = logging.getLogger(__name__)

CLOSING_TIMEOUT_S = 1.0
CODE_FILES = f"**/{{{','.join(['*' + ending for ending in ENDINGS] + sorted(RULES))}}}"
"""Code, and what says which of it is ignored."""

SETTINGS_FILES = f"**/{{{','.join(FILE_NAMES)}}}"


class MidspanServer(LanguageServer):
    """One editor's server.

    Args:
        build_engine: called once the editor has told its settings and has been answered.
        stop: ends the session; from any thread.
        is_local: the editor's process is one of this machine.

    Attributes:
        protocol: the session.
        configuration: the settings.
        folders: paths of the workspace folders.
        engine: None until it is built.
        status: what clients may show.
        last_found: what came of the code action or command before.
    """

    protocol: MidspanProtocol  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(
        self, build_engine: Callable[[Settings], Engine], stop: Callable[[], None], *, is_local: bool = True
    ) -> None:
        # whole texts: pygls applies partial changes wrongly below a form feed, and no faster
        sync = lsp.TextDocumentSyncKind.Full
        super().__init__(  # pyright: ignore[reportUnknownMemberType]
            "midspan",
            __version__,
            text_document_sync_kind=sync,
            protocol_cls=MidspanProtocol,
            converter_factory=build_converter,
        )
        self.configuration = Configuration(self)
        self.folders: list[str] = []
        self.engine: Engine | None = None
        self.status = Status(self)
        self.last_found: Found | None = None
        self.protocol.on_exit = stop
        self._build_engine = build_engine
        self._stop = stop
        self._is_local = is_local
        self._told: set[str] = set()
        self._starting: asyncio.Task[None] | None = None
        self._watches_code = False
        self._started_with = self.configuration.settings

    @property
    def encoding(self) -> PositionEncoding:
        """The units of the editor's columns."""
        return encoding_of(self.workspace.position_encoding)

    @property
    def on_accept(self) -> Callable[[DocumentSnapshot], lsp.Command] | None:
        """Makes the command by which an editor tells that an item was accepted; None where nobody counts that."""
        return acceptance_command if self.configuration.settings.stats.enabled else None

    def watch_parent(self, process_id: int | None) -> None:
        """Ends with the editor's process, even if somebody else holds its end of the connection."""
        if process_id is not None and self._is_local:
            call_when_gone(process_id, self._stop)

    def take_folders(self, params: lsp.InitializeParams) -> None:
        """Takes the workspace folders; an editor too old for them tells one root."""
        uris = [folder.uri for folder in params.workspace_folders or []]
        if params.workspace_folders is None and params.root_uri:
            uris = [params.root_uri]
        self.folders = [path for uri in uris if (path := path_of(uri)) is not None]

    def change_folders(self, event: lsp.WorkspaceFoldersChangeEvent) -> None:
        """Takes added and removed workspace folders."""
        for folder in event.removed:
            path = path_of(folder.uri)
            if path in self.folders:
                self.folders.remove(path)
                if self.engine is not None:
                    self.engine.recall.remove_folder(path)
        for folder in event.added:
            path = path_of(folder.uri)
            if path is not None and path not in self.folders:
                self.folders.append(path)
                if self.engine is not None:
                    self.engine.recall.add_folder(path)
        self.configuration.refresh_soon()

    def start(self) -> None:
        """Builds the engine and loads it in the background."""
        if self._starting is None:
            self._starting = asyncio.get_running_loop().create_task(self._load())

    async def apply(self, settings: Settings) -> None:
        """Has other settings count, as far as they can."""
        if self.engine is None:
            return
        self._watch_code()
        if keys := needs_restart(self._started_with, settings):
            self.tell(lsp.MessageType.Info, f"Midspan: {', '.join(keys)} will count once it is started again.")
        if await self.engine.apply(settings):
            self._tell_what_is_open(self.engine)

    def review_documents(self) -> None:
        """Other documents may be left alone by now."""
        for snapshot in self.protocol.texts:
            self.status.document(snapshot)

    def watch_settings(self) -> None:
        """Asks the editor, if it offers that, to tell of other settings."""
        self._watch_files("midspan/settings", SETTINGS_FILES)
        offered = self.client_capabilities.workspace and self.client_capabilities.workspace.did_change_configuration
        if offered and offered.dynamic_registration:
            options = lsp.DidChangeConfigurationRegistrationOptions(SECTION)
            method = lsp.WORKSPACE_DID_CHANGE_CONFIGURATION
            self.client_register_capability(lsp.RegistrationParams([lsp.Registration(method, method, options)]))

    def _watch_code(self) -> None:
        """Asks it once to tell of code that changes outside of it too."""
        if self.configuration.settings.memory.enabled and not self._watches_code:
            self._watches_code = True
            self._watch_files("midspan/code", CODE_FILES)

    def _watch_files(self, name: str, pattern: str) -> None:
        offered = self.client_capabilities.workspace and self.client_capabilities.workspace.did_change_watched_files
        if offered and offered.dynamic_registration:
            options = lsp.DidChangeWatchedFilesRegistrationOptions([lsp.FileSystemWatcher(pattern)])
            one = lsp.Registration(name, lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            self.client_register_capability(lsp.RegistrationParams([one]))

    def open_document(self, uri: str) -> DocumentSnapshot | None:
        """A document as it stands, or None if the editor has not opened it: the disk is never read."""
        return self.protocol.texts.find(uri)

    def tell(self, kind: lsp.MessageType, message: str) -> None:
        """Shows the user a message, and logs it, once."""
        if message not in self._told:
            self._told.add(message)
            logger.warning("%s", message)
            self.window_show_message(lsp.ShowMessageParams(kind, message))

    def tell_error(self, error: InfillError) -> None:
        """Shows the user what is wrong and what to do about it, once."""
        self.tell(lsp.MessageType.Error, f"Midspan: {error}")
        self.status.failed(error)

    def tell_notice(self, text: str) -> None:
        """Shows the user what a backend has to tell, once."""
        self.tell(lsp.MessageType.Warning, f"Midspan: {text}")

    def report_server_error(self, error: Exception, source: type[PyglsError | JsonRpcException]) -> None:
        """Logs what pygls could not do; pygls' own would pop up each time."""
        if isinstance(error, JsonRpcMethodNotFound):
            logger.debug("%s", error)
            return
        # pygls keeps the traceback of what it answers with an error as the error's data
        kept = error.data if isinstance(error, JsonRpcInternalError) else None
        lines = ["\n", *kept["traceback"]] if kept else []
        cause = None if isinstance(error, JsonRpcException) else error
        logger.error("%s: %s%s", source.__name__, error, "".join(lines).rstrip(), exc_info=cause)

    async def aclose(self) -> None:
        """Lets go of the engine, within `CLOSING_TIMEOUT_S`."""
        if self._starting is not None:
            self._starting.cancel()
        if self.engine is None:
            return
        try:
            async with asyncio.timeout(CLOSING_TIMEOUT_S):
                await self.engine.aclose()
        except TimeoutError:
            logger.info("the engine is still busy")
        except Exception:
            logger.exception("the engine could not be closed")

    def _tell_what_is_open(self, engine: Engine) -> None:
        """What is open by now: folders first, for their rules of what is ignored count for documents too."""
        for folder in self.folders:
            engine.recall.add_folder(folder)
        for snapshot in self.protocol.texts:
            engine.opened(snapshot)

    async def _load(self) -> None:
        progress = LoadingProgress(self)
        try:
            await self.configuration.refresh()
            self._watch_code()
            self._started_with = self.configuration.settings
            self.engine = self._build_engine(self._started_with)
            self.engine.notices.listen(self.tell_notice)
            self._tell_what_is_open(self.engine)
            await self.engine.load(progress.report)
            self.status.ready()
        except InfillError as error:
            self.tell_error(error)
        except Exception:
            logger.exception("the engine could not be started")
            self.tell(lsp.MessageType.Error, "Midspan could not start. Its log says why.")
            self.status.failed(InfillError("Midspan could not start", hint="Its log says why."))
        finally:
            progress.end()
