"""Latest wins: of one kind of request, one lives per document."""

from __future__ import annotations

from collections.abc import Hashable

from midspan_lsp.types import CancellationToken


class LatestWins:
    """The newest request's token for each document and kind; a newer one cancels the older."""

    def __init__(self) -> None:
        self._tokens: dict[tuple[str, Hashable], CancellationToken] = {}

    def start(self, uri: str, kind: Hashable, token: CancellationToken) -> None:
        """A request begins; the document's older one of its kind ends."""
        if older := self._tokens.get((uri, kind)):
            older.cancel()
        self._tokens[uri, kind] = token

    def finish(self, uri: str, kind: Hashable, token: CancellationToken) -> None:
        """A request has ended."""
        if self._tokens.get((uri, kind)) is token:
            del self._tokens[uri, kind]

    def cancel(self, uri: str) -> None:
        """Nobody waits for this document's requests any more."""
        for key, token in self._tokens.items():
            if key[0] == uri:
                token.cancel()

    def cancel_all(self) -> None:
        """Nobody waits for anything any more."""
        for token in self._tokens.values():
            token.cancel()
