"""pygls' protocol, with the specification's answers where pygls gives others or none."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInternalError,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.protocol.json_rpc import MsgId, RPCMessage, RPCRequest

if TYPE_CHECKING:
    from collections.abc import Generator


@dataclass(frozen=True)
class Malformed:
    """A message whose parameters do not have the shape of its method's."""

    id: MsgId | None
    error: JsonRpcException


class MidspanProtocol(LanguageServerProtocol):
    """One editor's session.

    Attributes:
        ended: set when the editor has sent `exit`, is gone, or the process is to stop.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.ended = asyncio.Event()

    @property
    def exit_code(self) -> int:
        """0 if the editor has asked for a shutdown, as the specification wants."""
        return 0 if self._shutdown else 1

    def structure_message(self, data: dict[str, Any]) -> Any:
        """A message from its JSON; called for each object within it too."""
        if "method" in data and "jsonrpc" in data:
            data = {"params": None, **data}
        try:
            return super().structure_message(data)
        except JsonRpcException:  # its cause quotes the parameters, and so the user's code
            error = JsonRpcInvalidParams(f"Malformed parameters of {data.get('method')!r:.60}")
            return Malformed(data.get("id") if "method" in data else None, error)

    def handle_message(self, message: RPCMessage | Malformed) -> None:
        """Answers a message, or refuses it."""
        if isinstance(message, Malformed):
            if message.id is not None:
                self._send_response(message.id, error=message.error.to_response_error())
            self._server.report_server_error(message.error, JsonRpcException)
        elif isinstance(message, RPCRequest):  # asked first: a request looks like a notification too
            refusal = self._refusal(message.method)
            if refusal is None:
                super().handle_message(message)
            else:
                self._send_response(message.id, error=refusal.to_response_error())
        elif self._workspace is not None or getattr(message, "method", "") == lsp.EXIT:
            super().handle_message(message)

    def _refusal(self, method: str) -> JsonRpcException | None:
        if self._shutdown:
            return JsonRpcInvalidRequest("The server is shut down")
        if self._workspace is None:
            return None if method == lsp.INITIALIZE else JsonRpcServerNotInitialized("Not initialized yet")
        return JsonRpcInvalidRequest("Initialized already") if method == lsp.INITIALIZE else None

    def _send_response(self, msg_id: MsgId, result: Any | None = None, error: lsp.ResponseError | None = None) -> None:
        if error is not None:
            # pygls puts the traceback with the user's paths into the data, and the exception into the message
            internal = error.code == JsonRpcInternalError.CODE
            error = lsp.ResponseError(error.code, "Internal error" if internal else error.message)
        super()._send_response(msg_id, result, error)

    @lsp_method(lsp.EXIT)
    def lsp_exit(self, *args: Any) -> Generator[Any, Any, None]:  # noqa: ARG002
        """Ends the session; pygls' own would lose the exit code."""
        self.ended.set()
        yield from ()
