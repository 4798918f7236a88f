"""The story of a keystroke: what it makes obsolete, what is known already, what is asked, what is got ready."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial

from midspan_lsp.backends.base import InfillBackend, ReportProgress
from midspan_lsp.config import LEAST_PROBABILITY, Eagerness, MemorySettings, Settings
from midspan_lsp.context.shape import middle_shape
from midspan_lsp.context.window import window
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine.answers import Answers, Place
from midspan_lsp.engine.edits import end_of_edit
from midspan_lsp.engine.filling import Filler
from midspan_lsp.engine.latest import LatestWins
from midspan_lsp.engine.outcome import STOPPED, Outcome, Tally
from midspan_lsp.engine.prefetch import QUIET_S, Prefetch
from midspan_lsp.engine.recall import Recall
from midspan_lsp.engine.rewriting import Rewriter
from midspan_lsp.syntax import validate
from midspan_lsp.types import CancellationToken, InfillRequest, Span, StepObserver, Suggestion, Trigger

N_CANDIDATES = 3
"""Most middles to choose from where somebody asks by hand."""


class Engine:
    """Answers requests from one backend. Belongs to one event loop.

    Args:
        backend: the model.
        settings: the editor's.
        recall: the project's memory; None: there is none.
        quiet_s: after so long without a word of the editor the context of the next request is prepared.

    Attributes:
        recall: the project's memory, which is to be told what happens to files and folders.
        tally: what was done so far.
    """

    def __init__(
        self, backend: InfillBackend, settings: Settings, recall: Recall | None = None, *, quiet_s: float = QUIET_S
    ) -> None:
        self.recall = recall or Recall(MemorySettings(enabled=False))
        self.tally = Tally()
        self._backend = backend
        self._settings = settings
        self._latest = LatestWins()
        self._filler = Filler(backend, self.recall, self.tally, self._least(Trigger.AUTOMATIC))
        self._answers = Answers()
        self._prefetch = Prefetch(backend, self.tally, quiet_s)
        self._running: dict[Place, asyncio.Future[None]] = {}
        self._texts: dict[str, str] = {}

    @property
    def ready(self) -> bool:
        """True once the backend is loaded."""
        return self._backend.ready

    @property
    def rewriter(self) -> Rewriter:
        """Writes parts of documents anew."""
        return Rewriter(self._filler, self._settings, self._latest)

    async def load(self, report: ReportProgress) -> None:
        """Get the backend ready; `report` may be called from any thread.

        Raises:
            InfillError: it cannot; the hint says what to do.
        """
        await self._backend.load(report)
        self._prefetch.begin()

    def opened(self, snapshot: DocumentSnapshot) -> None:
        """A document was opened. Nobody knows where its cursor is: nothing is prepared before it is edited."""
        self._texts[snapshot.uri] = snapshot.text
        self.recall.opened(snapshot)

    def changed(self, snapshot: DocumentSnapshot) -> None:
        """A document has another text: answers for the old one are not wanted, and one for the edited place may be."""
        before = self._texts.get(snapshot.uri, "")
        self._texts[snapshot.uri] = snapshot.text
        if before != snapshot.text:
            self._latest.cancel(snapshot.uri)
            self._expect(snapshot, end_of_edit(before, snapshot.text))
        self.recall.changed(snapshot)

    def forget(self, uri: str) -> None:
        """A document was closed."""
        self._texts.pop(uri, None)
        self._prefetch.pause()
        self._latest.cancel(uri)
        self._answers.forget(uri)
        self.recall.closed(uri)
        validate.forget(uri)

    async def complete(
        self,
        snapshot: DocumentSnapshot,
        offset: int,
        trigger: Trigger,
        token: CancellationToken | None = None,
    ) -> list[Suggestion]:
        """What to show at a cursor, best first; often nothing, and more than one only if asked by hand.

        A newer request of the same kind for the same document ends an older one, which then answers nothing; so does
        the cancelling of the task that awaits this. What is known already is answered at once.

        Raises:
            InfillError: the backend failed.
        """
        n_candidates = N_CANDIDATES if trigger is Trigger.INVOKED else 1
        request = replace(self._request(snapshot, offset, self._least(trigger)), n_candidates=n_candidates)
        if not self.ready:
            self._expect(snapshot, offset)
            return []
        token = token or self._new_token(trigger)
        kind = "menu" if trigger is Trigger.MENU else "ghost text"  # an editor may ask for both at once
        self._latest.start(snapshot.uri, kind, token)
        try:
            outcome = await self._answer(request, snapshot, offset, trigger, token)
        finally:
            self._latest.finish(snapshot.uri, kind, token)
        if outcome.silence is not None:
            return []
        place, stats = Span(offset, offset), outcome.stats
        return [
            Suggestion(one.text, place, one.probability, one.verdict, stats, one.source)
            for one in (outcome, *outcome.others)
        ]

    async def infill(
        self,
        snapshot: DocumentSnapshot,
        offset: int,
        token: CancellationToken,
        on_step: StepObserver | None = None,
    ) -> Outcome:
        """Fill the middle at a cursor to its end and judge it, whether or not an automatic request would show it.

        Raises:
            InfillError: the backend failed or is not ready.
        """
        return await self._filler.fill(self._request(snapshot, offset), snapshot, offset, token, on_step)

    async def apply(self, settings: Settings) -> bool:
        """Have other settings count, those of the model and its context excepted.

        Returns:
            whether the memory is another one: it is to be told again what is open.
        """
        old = self._settings
        self._settings = replace(settings, model=old.model, context=old.context)
        self._latest.cancel_all()
        self._answers = Answers()
        is_renewed = (settings.memory, settings.stats) != (old.memory, old.stats)
        if is_renewed:
            old_recall, self.recall = self.recall, self.recall.renewed(settings.memory, count=settings.stats.enabled)
            await old_recall.aclose()
        self._filler = Filler(self._backend, self.recall, self.tally, self._least(Trigger.AUTOMATIC))
        return is_renewed

    async def aclose(self) -> None:
        """End all requests, the memory and the backend."""
        self._latest.cancel_all()
        self._prefetch.pause()
        await asyncio.gather(self.recall.aclose(), self._backend.aclose())

    def _least(self, trigger: Trigger) -> float:
        """The least probability of what is shown; who asks by hand sees more."""
        least = LEAST_PROBABILITY[Eagerness(self._settings.completion.eagerness)]
        return min(least, LEAST_PROBABILITY[Eagerness.HIGH]) if trigger is Trigger.INVOKED else least

    def _new_token(self, trigger: Trigger) -> CancellationToken:
        settings = self._settings.completion
        invoked = trigger is Trigger.INVOKED
        return CancellationToken((settings.invoked_timeout_ms if invoked else settings.timeout_ms) / 1e3)

    def _expect(self, snapshot: DocumentSnapshot, offset: int) -> None:
        """Have the context of a likely request prepared."""
        self._prefetch.expect(self._request(snapshot, offset), partial(self.recall.neighbour, snapshot, offset))

    def _request(self, snapshot: DocumentSnapshot, offset: int, least: float = 0.0) -> InfillRequest:
        prefix, suffix = window(snapshot.text, offset, self._settings.context)
        shape = middle_shape(prefix, suffix, self._settings.completion.max_lines)
        return InfillRequest(prefix, suffix, snapshot.language_id, shape.max_lines, shape.min_indent, least)

    async def _answer(
        self,
        request: InfillRequest,
        snapshot: DocumentSnapshot,
        offset: int,
        trigger: Trigger,
        token: CancellationToken,
    ) -> Outcome:
        """What is known of this place already, or else what the backend says."""
        knowledge, by_hand = self.recall.knowledge(snapshot.uri), trigger is Trigger.INVOKED
        place = Place(snapshot.uri, request.prefix, request.suffix, knowledge)
        self.tally.n_requests += 1
        if same := self._running.get(place):  # the menu asks what ghost text has asked: one answer will do for both
            await asyncio.wait({same})
            if token.cancelled():
                return STOPPED
        if known := self._answers.find(place, by_hand=by_hand):
            outcome, is_begun = known
            self.tally.n_typed_through += is_begun
            self.tally.n_repeated += not is_begun
            return outcome
        self._prefetch.pause()
        self._running[place] = done = asyncio.get_running_loop().create_future()
        try:
            outcome = await self._filler.fill(request, snapshot, offset, token)
            is_cut = token.expired()
            self._answers.add(place, outcome, by_hand=by_hand, is_cut=is_cut)
        finally:
            done.set_result(None)
            if self._running.get(place) is done:
                del self._running[place]
        if outcome.silence is None:  # once, however often it is shown again
            self.recall.shown(snapshot, from_project=outcome.source is not None)
        if is_cut and not token.cancelled():  # what it lacked is made up for
            self._expect(snapshot, offset)
        return outcome
