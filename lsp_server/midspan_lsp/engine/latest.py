"""Latest wins: of one kind of request, one lives per document; and two that ask the same have one answer."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Hashable
from contextlib import contextmanager

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


class Running:
    """What is being answered. Belongs to one event loop."""

    def __init__(self) -> None:
        self._done: dict[Hashable, asyncio.Future[None]] = {}

    async def ended(self, question: Hashable) -> bool:
        """Until the same question is answered, if it is being asked; whether it was.

        The menu asks what ghost text has asked: one answer will do for both.
        """
        done = self._done.get(question)
        if done is not None:
            await asyncio.wait({done})
        return done is not None

    @contextmanager
    def started(self, question: Hashable) -> Generator[None]:
        """To be held while a question is being answered."""
        self._done[question] = done = asyncio.get_running_loop().create_future()
        try:
            yield
        finally:
            done.set_result(None)
            if self._done.get(question) is done:
                del self._done[question]
