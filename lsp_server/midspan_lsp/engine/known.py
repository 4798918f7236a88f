"""What needs no work of its own: answers that were given, and those that are being worked on."""

from __future__ import annotations

from midspan_lsp.engine.answers import Answers, Place
from midspan_lsp.engine.carrying import Carrier
from midspan_lsp.engine.latest import Running
from midspan_lsp.engine.outcome import STOPPED, Outcome, Tally
from midspan_lsp.types import CancellationToken


class Known:
    """Belongs to one event loop.

    Args:
        tally: counts what is found.

    Attributes:
        answers: that were given.
        running: what is being answered.
        carrier: keeps the work on answers that are being typed.
    """

    def __init__(self, tally: Tally) -> None:
        self.answers, self.running, self.carrier = Answers(), Running(), Carrier()
        self._tally = tally

    async def find(self, place: Place, token: CancellationToken, *, by_hand: bool) -> tuple[Outcome, bool] | None:
        """The outcome at a place, and whether nobody has seen it; `STOPPED` if `token` is cancelled while it comes.

        Who asks by hand waits for none that nobody has asked for by hand.
        """
        is_new = not by_hand and await self.carrier.ended(place, token)
        is_awaited = not by_hand and await self.running.ended(place)
        if (is_new or is_awaited) and token.cancelled():
            return STOPPED, False
        found = self.answers.find(place, by_hand=by_hand)
        if found is None:
            return None
        outcome, is_begun = found
        self._tally.n_typed_through += is_begun
        self._tally.n_repeated += not is_begun
        return outcome, is_new

    def forget(self, uri: str) -> None:
        """A document was closed."""
        self.carrier.stop(uri)
        self.answers.forget(uri)

    def clear(self) -> None:
        """Other settings count now."""
        self.carrier.stop()
        self.answers = Answers()
