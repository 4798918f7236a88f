"""Answers that come after another one was given: they wait for the next request at their place."""

from __future__ import annotations

import asyncio
import logging

from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine.answers import Answers, Place
from midspan_lsp.engine.filling import Filler
from midspan_lsp.engine.outcome import Outcome
from midspan_lsp.errors import InfillError
from midspan_lsp.types import InfillRequest

logger = logging.getLogger(__name__)


class LateAnswers:
    """Awaits them, and has them judged as all others are. Belongs to one event loop."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def expect(
        self,
        outcome: Outcome,
        question: tuple[InfillRequest, DocumentSnapshot, int],
        filler: Filler,
        answers: Answers,
        place: Place,
        *,
        by_hand: bool,
    ) -> None:
        """An outcome was given, and a better one may come.

        Args:
            outcome: the one given.
            question: what was asked: the request, the document and the offset in it.
            filler: judges what comes.
            answers: keeps it.
            place: of the question.
            by_hand: whether somebody asked by hand.
        """
        if outcome.later is not None:
            task = asyncio.get_running_loop().create_task(
                self._await(outcome, question, filler, answers, place, by_hand=by_hand)
            )
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def stop(self) -> None:
        """Wait for none any more."""
        for task in self._tasks:
            task.cancel()

    async def _await(
        self,
        outcome: Outcome,
        question: tuple[InfillRequest, DocumentSnapshot, int],
        filler: Filler,
        answers: Answers,
        place: Place,
        *,
        by_hand: bool,
    ) -> None:
        try:
            better = await filler.better(outcome, *question)
        except InfillError as error:  # nobody waits for it
            logger.info("a late answer could not be had: %s", error)
            return
        if better is not None:
            answers.add(place, better, by_hand=by_hand, is_cut=False, beside=True)
