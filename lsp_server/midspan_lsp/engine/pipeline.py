"""The story of a keystroke: what it makes obsolete, what is known already, what is asked, what is got ready."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from functools import partial

from midspan_lsp.backends.base import InfillBackend, ReportProgress
from midspan_lsp.backends.notices import Notices
from midspan_lsp.config import MemorySettings, Settings
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine.answers import Answers, Place
from midspan_lsp.engine.asking import reason_not_to_ask
from midspan_lsp.engine.edits import end_of_edit
from midspan_lsp.engine.feedback import Feedback
from midspan_lsp.engine.filling import Filler
from midspan_lsp.engine.late import LateAnswers
from midspan_lsp.engine.latest import LatestWins, Running
from midspan_lsp.engine.outcome import STOPPED, Outcome, Silence, Tally, suggestions
from midspan_lsp.engine.pacing import Pace
from midspan_lsp.engine.prefetch import QUIET_S, Prefetch
from midspan_lsp.engine.recall import Recall
from midspan_lsp.engine.requests import least_shown, request_at, token_for
from midspan_lsp.engine.rewriting import Rewriter
from midspan_lsp.errors import InfillError
from midspan_lsp.syntax import validate
from midspan_lsp.types import CancellationToken, InfillRequest, StepObserver, Suggestion, Trigger


class Engine:
    """Answers requests from one backend. Belongs to one event loop.

    Args:
        backend: the model.
        settings: the editor's.
        recall: the project's memory; None: there is none.
        feedback: counts what becomes of requests; None: nobody does.
        quiet_s: after so long without a word of the editor the context of the next request is prepared.
        notices: what the backend has to tell the user; None: nothing.

    Attributes:
        notices: to be listened to.
        recall: the project's memory, which is to be told what happens to files and folders.
        feedback: is to be told what was accepted, and where nothing was asked.
        tally: what was done so far.
    """

    def __init__(
        self,
        backend: InfillBackend,
        settings: Settings,
        recall: Recall | None = None,
        feedback: Feedback | None = None,
        *,
        quiet_s: float = QUIET_S,
        notices: Notices | None = None,
    ) -> None:
        self.notices = notices or Notices()
        self.recall = recall or Recall(MemorySettings(enabled=False))
        self.feedback = feedback or Feedback(enabled=False)
        self.tally = Tally()
        self._backend = backend
        self._settings = settings
        self._latest = LatestWins()
        self._filler = self._new_filler()
        self._answers = Answers()
        self._late = LateAnswers()
        self._pace = Pace()
        self._prefetch = Prefetch(backend, self.tally, quiet_s)
        self._running = Running()
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
        """Get the backend ready; `report` may be called from any thread. Raises InfillError: it cannot."""
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
            self._pace.edited()
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
        the cancelling of the task that awaits this. Raises InfillError: the backend failed.
        """
        request = request_at(snapshot, offset, self._settings, trigger)
        if not self.ready:
            self._expect(snapshot, offset)
            self.feedback.silent(snapshot.language_id, Silence.LOADING)
            return []
        token = token or token_for(self._settings.completion, trigger)
        kind = "menu" if trigger is Trigger.MENU else "ghost text"  # an editor may ask for both at once
        self._latest.start(snapshot.uri, kind, token)
        outcome, began_s = STOPPED, time.monotonic()
        try:
            is_typed = trigger is not Trigger.INVOKED
            outcome = await self._answer(request, snapshot, offset, trigger, token, is_typed=is_typed)
        except InfillError:
            outcome = replace(STOPPED, silence=Silence.FAILED)
            raise
        finally:
            self._latest.finish(snapshot.uri, kind, token)
            self.feedback.answered(snapshot.language_id, outcome, 1e3 * (time.monotonic() - began_s))
        return suggestions(outcome, offset)

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
        request = request_at(snapshot, offset, self._settings)
        outcome = await self._filler.fill(request, snapshot, offset, token, on_step)
        return await self._filler.better(outcome, request, snapshot, offset) or outcome

    async def answer(
        self,
        snapshot: DocumentSnapshot,
        offset: int,
        token: CancellationToken,
        on_step: StepObserver | None = None,
    ) -> Outcome:
        """As `complete` for an automatic request, but it ends no other: for callers who do not know of one another.

        `on_step` hears nothing of what is known already. Raises InfillError: the backend failed or is not ready.
        """
        request = request_at(snapshot, offset, self._settings, Trigger.AUTOMATIC)
        return await self._answer(request, snapshot, offset, Trigger.AUTOMATIC, token, on_step)

    async def apply(self, settings: Settings) -> bool:
        """Have other settings count, those of the backend, the model and its context excepted.

        Returns:
            whether the memory is another one: it is to be told again what is open.
        """
        old = self._settings
        self._settings = replace(settings, backend=old.backend, model=old.model, context=old.context)
        self._latest.cancel_all()
        self._answers = Answers()
        is_renewed = (settings.memory, settings.stats) != (old.memory, old.stats)
        if is_renewed:
            old_recall, self.recall = self.recall, self.recall.renewed(settings.memory, count=settings.stats.enabled)
            await old_recall.aclose()
        self.feedback.enable(enabled=settings.stats.enabled)
        self._filler = self._new_filler()
        return is_renewed

    async def aclose(self) -> None:
        """End all requests, the memory and the backend."""
        self._latest.cancel_all()
        self._prefetch.pause()
        self._late.stop()
        await asyncio.gather(self.recall.aclose(), self.feedback.aclose(), self._backend.aclose())

    def _new_filler(self) -> Filler:
        least = least_shown(self._settings.completion, Trigger.AUTOMATIC)
        return Filler(self._backend, self.recall, self.tally, least)

    def _expect(self, snapshot: DocumentSnapshot, offset: int) -> None:
        """Have the context of a likely request prepared."""
        request = request_at(snapshot, offset, self._settings)
        self._prefetch.expect(request, partial(self.recall.neighbour, snapshot, offset))

    async def _answer(
        self,
        request: InfillRequest,
        snapshot: DocumentSnapshot,
        offset: int,
        trigger: Trigger,
        token: CancellationToken,
        on_step: StepObserver | None = None,
        *,
        is_typed: bool = False,
    ) -> Outcome:
        """What is known of this place already, or else what the backend says; `is_typed`: once no key follows."""
        knowledge, by_hand = self.recall.knowledge(snapshot.uri), trigger is Trigger.INVOKED
        place = Place(snapshot.uri, request.prefix, request.suffix, knowledge)
        self.tally.n_requests += 1
        if not by_hand and await self._running.ended(place) and token.cancelled():
            return STOPPED
        if known := self._answers.find(place, by_hand=by_hand):
            outcome, is_begun = known
            self.tally.n_typed_through += is_begun
            self.tally.n_repeated += not is_begun
            return outcome
        if not by_hand and (silence := await reason_not_to_ask(request, snapshot, offset, self._settings.completion)):
            return replace(STOPPED, silence=silence)
        with self._running.started(place):
            if is_typed:
                await self._pace.wait(self._settings.completion, token)
            if token.cancelled():
                return STOPPED
            self._prefetch.pause()
            with self._pace.work(token):
                outcome = await self._filler.fill(request, snapshot, offset, token, on_step)
            is_cut = token.expired()
            self._answers.add(place, outcome, by_hand=by_hand, is_cut=is_cut)
            question = (request, snapshot, offset)
            self._late.expect(outcome, question, self._filler, self._answers, place, by_hand=by_hand)
        if outcome.silence is None:  # once, however often it is shown again
            self.recall.shown(snapshot, from_project=outcome.source is not None)
        if is_cut and not token.cancelled():  # what it lacked is made up for
            self._expect(snapshot, offset)
        return outcome
