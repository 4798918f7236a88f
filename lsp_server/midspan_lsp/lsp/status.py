"""What a client may show of the server: `midspan/status`, sent when it changes and answered when asked.

{"state": "loading" | "ready" | "off" | "error", "message": string, "hint"?: string, "percentage"?: number,
"uri"?: string}

With a `uri` it is a document's: "off" where nothing is suggested in it, and else the server's own state again. It is
sent to clients that say `"experimental": {"midspan": {"status": true}}`: some warn their user of every notification
that they do not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from midspan_lsp.backends.base import LoadProgress
    from midspan_lsp.documents import DocumentSnapshot
    from midspan_lsp.errors import InfillError
    from midspan_lsp.lsp.server import MidspanServer

METHOD = "midspan/status"

State = dict[str, Any]


class Status:
    """The server's state and its documents'. Belongs to one event loop."""

    def __init__(self, server: MidspanServer) -> None:
        self._server = server
        self._state: State = {"state": "loading", "message": "starting"}
        self._off: dict[str, str] = {}

    def loading(self, progress: LoadProgress) -> None:
        """The model gets ready."""
        state: State = {"state": "loading", "message": progress.message}
        self._become(state if progress.percentage is None else {**state, "percentage": progress.percentage})

    def ready(self) -> None:
        """All is well."""
        self._become({"state": "ready", "message": ""})

    def failed(self, error: InfillError) -> None:
        """Something is wrong, and perhaps the user can mend it."""
        state: State = {"state": "error", "message": str(error).removesuffix(f"\n{error.hint}")}
        self._become({**state, "hint": error.hint} if error.hint else state)

    def recovered(self) -> None:
        """A request has gone well: what was wrong before is so no more."""
        if self._state["state"] == "error":
            self.ready()

    def document(self, snapshot: DocumentSnapshot) -> None:
        """A document is open, or may be another one's matter by now."""
        reason = self._server.configuration.exclusions.reason(snapshot)
        if reason == self._off.get(snapshot.uri):
            return
        if reason is None:
            del self._off[snapshot.uri]
        else:
            self._off[snapshot.uri] = reason
        self._send(self.of(snapshot.uri))

    def closed(self, uri: str) -> None:
        """A document is no more."""
        self._off.pop(uri, None)

    def of(self, uri: str | None) -> State:
        """A document's state, or the server's own."""
        if uri is None:
            return self._state
        if reason := self._off.get(uri):
            return {"state": "off", "message": reason, "uri": uri}
        return {**self._state, "uri": uri}

    def _become(self, state: State) -> None:
        if state != self._state:
            self._state = state
            self._send(state)

    def _send(self, state: State) -> None:
        if _wants_status(self._server.client_capabilities.experimental):
            self._server.protocol.notify(METHOD, state)


def _wants_status(experimental: object) -> bool:
    own = _member(experimental, "midspan")
    return _member(own, "status") is True


def _member(value: object, name: str) -> object:
    return cast("Mapping[str, object]", value).get(name) if isinstance(value, Mapping) else None
