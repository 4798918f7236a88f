"""pygls' protocol, with the specification's answers where pygls gives others or none."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from lsprotocol import types as lsp
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInternalError,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcMethodNotFound,
    JsonRpcParseError,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.protocol.json_rpc import MsgId, RPCMessage, RPCRequest

from midspan_lsp.lsp.convert import encoding_of
from midspan_lsp.lsp.texts import OpenTexts

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from concurrent.futures import Future

logger = logging.getLogger(__name__)

MAX_POSITION = 2**31 - 1
_VERSIONED = (lsp.TEXT_DOCUMENT_DID_OPEN, lsp.TEXT_DOCUMENT_DID_CHANGE)


@dataclass(frozen=True)
class Malformed:
    """A message whose parameters do not have the shape of its method's."""

    data: dict[str, Any]
    error: JsonRpcException


class MidspanProtocol(LanguageServerProtocol):
    """One editor's session.

    Attributes:
        texts: the open documents.
        on_exit: called when the editor has sent `exit`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.texts = OpenTexts()
        self.on_exit: Callable[[], None] = lambda: None

    @property
    def exit_code(self) -> int:
        """0 if the editor has asked for a shutdown, as the specification wants."""
        return 0 if self._shutdown else 1

    def receive(self, body: bytes) -> None:
        """Answers a message, or refuses it."""
        try:
            data = json.loads(body, object_hook=_clamp_position, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            self._refuse(None, JsonRpcParseError("Not JSON"))
            return
        if not isinstance(data, dict):
            self._refuse(None, JsonRpcInvalidRequest("Not a JSON-RPC message"))
            return
        message = cast("dict[str, Any]", data)
        if _is_message(message):
            self.handle_message(self.structure_message(message))
        elif "method" in message and "id" in message:  # a bad answer has no answer: that could go on for ever
            self._refuse(message["id"], JsonRpcInvalidRequest("Not a JSON-RPC 2.0 message"))

    def structure_message(self, data: dict[str, Any]) -> Any:
        """A message from its JSON."""
        if "method" in data:
            data = {"params": None, **data}
            _mend_document(data)
        try:
            return super().structure_message(data)
        except JsonRpcException:  # its cause quotes the parameters, and so the user's code
            what = f"parameters of {data['method']!r:.60}" if "method" in data else "answer"
            return Malformed(data, JsonRpcInvalidParams(f"Malformed {what}"))

    def handle_message(self, message: RPCMessage | Malformed) -> None:
        """Answers a message that has been read, or refuses it."""
        if isinstance(message, Malformed):
            self._handle_malformed(message.data, message.error)
        elif isinstance(message, RPCRequest):  # asked first: a request looks like a notification too
            refusal = self._refusal(message.method)
            if refusal is None:
                super().handle_message(message)
            else:
                self._refuse(message.id, refusal)
        elif self._workspace is not None or getattr(message, "method", "") == lsp.EXIT:
            super().handle_message(message)

    def _handle_malformed(self, data: dict[str, Any], error: JsonRpcException) -> None:
        if "method" not in data:
            self._handle_response(data["id"], error=error.to_response_error())
        elif "id" in data:
            self._refuse(data["id"], self._refusal(data["method"]) or self._unknown(data["method"]) or error)
        elif data["method"] == lsp.EXIT:
            self.on_exit()
        elif data["method"] == lsp.TEXT_DOCUMENT_DID_CHANGE and (uri := _uri_of(data["params"])) is not None:
            self.texts.lose(uri)
        self._server.report_server_error(error, JsonRpcException)

    def _refuse(self, msg_id: Any, error: JsonRpcException) -> None:
        if _is_id(msg_id):
            self._send_response(msg_id, error=error.to_response_error())
        else:  # lsprotocol leaves out a null, which has to be there
            body = {"code": error.code, "message": error.message}
            self._send_data({"jsonrpc": self.VERSION, "id": None, "error": body})

    def _refusal(self, method: str) -> JsonRpcException | None:
        if self._shutdown:
            return JsonRpcInvalidRequest("The server is shut down")
        if self._workspace is None:
            return None if method == lsp.INITIALIZE else JsonRpcServerNotInitialized("Not initialized yet")
        return JsonRpcInvalidRequest("Initialized already") if method == lsp.INITIALIZE else None

    def _unknown(self, method: str) -> JsonRpcException | None:
        try:
            self._get_handler(method)
        except JsonRpcMethodNotFound as error:
            return error
        return None

    def _execute_handler(
        self,
        msg_id: MsgId,
        handler: Callable[..., Any],
        callback: Callable[[Future[Any]], None],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        """Forgets what is done: pygls keeps the futures of its own notifications, one at each key, for good."""

        def done(future: Future[Any]) -> None:
            if self._request_futures.get(msg_id) is future:
                del self._request_futures[msg_id]
            callback(future)

        super()._execute_handler(msg_id, handler, done, args, kwargs)

    def _send_response(self, msg_id: MsgId, result: Any | None = None, error: lsp.ResponseError | None = None) -> None:
        if error is not None:
            # pygls puts the traceback with the user's paths into the data, and the exception into the message
            internal = error.code == JsonRpcInternalError.CODE
            error = lsp.ResponseError(error.code, "Internal error" if internal else error.message)
        super()._send_response(msg_id, result, error)

    def _own_handler(self, method: str) -> Any:
        return self.fm.features[method]  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]

    @lsp_method(lsp.EXIT)
    def lsp_exit(self, *args: Any) -> Generator[Any, Any, None]:  # noqa: ARG002
        """Ends the session; pygls' own would lose the exit code."""
        self.on_exit()
        yield from ()

    @lsp_method(lsp.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: lsp.DidOpenTextDocumentParams) -> Generator[Any, Any, None]:
        """Keeps a text, then tells the handler; so do the next two."""
        self.texts.open(params.text_document)
        yield self._own_handler(lsp.TEXT_DOCUMENT_DID_OPEN), (params,), None

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: lsp.DidChangeTextDocumentParams) -> Generator[Any, Any, None]:
        """A part is put in its place, though whole texts are asked for: an editor's word is better than none."""
        document, encoding = params.text_document, encoding_of(self.workspace.position_encoding)
        old = self.texts.find(document.uri)
        if old is not None and document.version <= (old.version or 0):
            logger.debug("version %d after %s", document.version, old.version)
        if self.texts.change(document.uri, document.version, params.content_changes, encoding):
            yield self._own_handler(lsp.TEXT_DOCUMENT_DID_CHANGE), (params,), None

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: lsp.DidCloseTextDocumentParams) -> Generator[Any, Any, None]:
        """The handler hears the URI by which the document was opened."""
        if closed := self.texts.close(params.text_document.uri):
            params = lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(closed.uri))
            yield self._own_handler(lsp.TEXT_DOCUMENT_DID_CLOSE), (params,), None


def _is_id(value: object) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)


def _is_message(data: dict[str, Any]) -> bool:
    has_method = isinstance(data.get("method"), str)
    has_id = _is_id(data.get("id"))
    return data.get("jsonrpc") == "2.0" and (
        (has_method and ("id" not in data or has_id))
        or ("method" not in data and has_id and ("result" in data or "error" in data))
    )


def _clamp_position(data: dict[str, Any]) -> dict[str, Any]:
    """Editors mean the end by a huge number, and some the start by a negative one; the shape's check refuses both."""
    if data.keys() == {"line", "character"}:
        for key, value in data.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                data[key] = int(min(max(value, 0), MAX_POSITION))
    return data


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _mend_document(data: dict[str, Any]) -> None:
    """Some editors, and the protocol before 3.16, tell no version, or no language; the text counts all the same.

    lsprotocol takes anything for a language.
    """
    params: Any = data["params"]
    if data["method"] in _VERSIONED and isinstance(params, dict):
        document: Any = cast("dict[str, Any]", params).get("textDocument")
        if not isinstance(document, dict):
            return
        if cast("dict[str, Any]", document).get("version") is None:
            document["version"] = 0
        if not isinstance(cast("dict[str, Any]", document).get("languageId", ""), str):
            document["languageId"] = ""


def _uri_of(params: object) -> str | None:
    """The document that malformed parameters are about, if they tell one."""
    document: Any = cast("dict[str, Any]", params).get("textDocument") if isinstance(params, dict) else None
    uri: Any = cast("dict[str, Any]", document).get("uri") if isinstance(document, dict) else None
    return uri if isinstance(uri, str) else None
