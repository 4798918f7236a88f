"""Latest wins: one living request per document."""

from __future__ import annotations

from midspan_lsp.types import CancellationToken


class LatestWins:
    """The newest request's token of each document; a newer one cancels the older."""

    def __init__(self) -> None:
        self._tokens: dict[str, CancellationToken] = {}

    def start(self, uri: str, token: CancellationToken) -> None:
        """A request begins; the document's older one ends."""
        self.cancel(uri)
        self._tokens[uri] = token

    def finish(self, uri: str, token: CancellationToken) -> None:
        """A request has ended."""
        if self._tokens.get(uri) is token:
            del self._tokens[uri]

    def cancel(self, uri: str) -> None:
        """Nobody waits for this document's request any more."""
        if token := self._tokens.pop(uri, None):
            token.cancel()

    def cancel_all(self) -> None:
        """Nobody waits for anything any more."""
        for uri in list(self._tokens):
            self.cancel(uri)
