"""Answers that are still good: a request that repeats, or whose cursor has moved on through what was shown."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine.outcome import Outcome, Silence
from midspan_lsp.types import InfillRequest, InfillStats

SIZE = 64
SILENCE_LIFE_S = 5.0
_DONE = Silence.UNWANTED
_GOES_ON = frozenset("([{,=+-*/.&|<:\\")
_CLOSERS, _MAX_CLOSERS = frozenset(")]}\"'`"), 3


@dataclass(frozen=True)
class Place:
    """A cursor's surroundings, as a backend is shown them.

    Attributes:
        uri: the document.
        prefix: text before the cursor, from where the window begins.
        suffix: text after it, to where the window ends.
        knowledge: the memory's for this document: with another one a question is asked anew, but what is being typed
            stays.
    """

    uri: str
    prefix: str
    suffix: str
    knowledge: int = 0


def place_of(request: InfillRequest, snapshot: DocumentSnapshot, knowledge: int = 0) -> Place:
    """The place that a request is about."""
    return Place(snapshot.uri, request.prefix, request.suffix, knowledge)


@dataclass(frozen=True)
class Answer:
    """An answer and what it is worth.

    Attributes:
        place: where it was given.
        outcome: it.
        by_hand: whether somebody asked by hand, and so gave it more time and a lower bar, and wanted to choose.
        is_cut: whether time was too short for all of it.
        at_s: when.
    """

    place: Place
    outcome: Outcome
    by_hand: bool
    is_cut: bool
    at_s: float


class Answers:
    """The last answers, a bounded number of them. What was typed since is taken from them.

    The settings belong to the engine, and so to all its answers alike.

    Args:
        size: most answers kept; the one used least recently goes first.
        silence_life_s: so long nothing is shown where nothing was: the project's memory may know more by then.
        now_s: the clock.
    """

    def __init__(
        self,
        size: int = SIZE,
        silence_life_s: float = SILENCE_LIFE_S,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._size, self._silence_life_s, self._now_s = size, silence_life_s, now_s
        self._answers: list[Answer] = []

    def __len__(self) -> int:
        return len(self._answers)

    def find(self, place: Place, *, by_hand: bool) -> tuple[Outcome, bool] | None:
        """The outcome at a place, as far as it is known, and whether some of it has been typed since.

        What is asked by hand is not answered by less: where nobody asked by hand there is nothing to choose from.
        """
        place = _with_plain_ends(place)
        for answer in reversed(self._answers):
            outcome = _rest(answer.outcome, answer.place, place)
            if outcome is None or not self._is_good(answer, by_hand):
                continue
            if outcome.silence is _DONE and (by_hand or answer.is_cut):
                continue
            self._answers.remove(answer)
            self._answers.append(answer)
            return outcome, place != answer.place
        return None

    def add(self, place: Place, outcome: Outcome, *, by_hand: bool, is_cut: bool, beside: bool = False) -> None:
        """Keep an outcome, unless it is only that nobody waited for one, or that time was too short for one.

        One that came late is found before the one of the same place that was shown meanwhile, and kept `beside` it:
        who has begun to type that is not left without.
        """
        if outcome.silence is Silence.STOPPED or (outcome.silence is not None and is_cut):
            return
        place = _with_plain_ends(place)
        self._answers = [one for one in self._answers if beside or one.place != place][-self._size + 1 :]
        self._answers.append(Answer(place, replace(outcome, later=None), by_hand, is_cut, self._now_s()))

    def forget(self, uri: str) -> None:
        """A document was closed."""
        self._answers = [one for one in self._answers if one.place.uri != uri]

    def _is_good(self, answer: Answer, by_hand: bool) -> bool:
        is_silence = answer.outcome.silence is not None
        if by_hand and not answer.by_hand:
            return False
        return not is_silence or self._now_s() - answer.at_s < self._silence_life_s


def typed_since(then: Place, now: Place) -> str | None:
    """What was typed between two places, editors' own closing brackets aside; None if more than that has happened."""
    then, now = _with_plain_ends(then), _with_plain_ends(now)
    is_typed = then.uri == now.uri and now.prefix.startswith(then.prefix)
    return now.prefix[len(then.prefix) :] if is_typed and _closers(then.suffix, now.suffix) is not None else None


def _rest(outcome: Outcome, then: Place, now: Place) -> Outcome | None:
    """What is left of an outcome if all that has happened since is that a text of it was begun; None otherwise."""
    typed, closers = typed_since(then, now), _closers(then.suffix, now.suffix)
    if typed is None or closers is None:
        return None
    if not typed:
        return replace(outcome, stats=InfillStats()) if then == now else None
    found = (_begun(one, typed, closers, now.suffix) for one in (outcome, *outcome.others))
    # one that was taken whole counts only if no other goes on from there
    left = sorted((one for one in found if one is not None), key=lambda one: one.silence is not None)
    return replace(left[0], others=tuple(one for one in left[1:] if one.silence is None)) if left else None


def _begun(outcome: Outcome, typed: str, closers: str, suffix: str) -> Outcome | None:
    """What is left of one text behind what was typed of it, without the brackets that the editor has closed."""
    text = _with_plain_ends_in(outcome.text)
    rest = text[len(typed) :].removesuffix(closers)
    if outcome.silence is None and typed == text and not closers and _ends_its_line(text, suffix):
        return replace(outcome, text="", silence=_DONE, stats=InfillStats(), others=())
    is_begun = outcome.silence is None and text.startswith(typed) and text.endswith(rest + closers) and rest.strip()
    return replace(outcome, text=rest, stats=InfillStats(), others=()) if is_begun else None


def _ends_its_line(text: str, suffix: str) -> bool:
    """Whether nothing more is wanted behind what was shown and taken: it was all that there was to say."""
    return not suffix.partition("\n")[0].strip() and text.rstrip()[-1:] not in _GOES_ON


def _closers(then: str, now: str) -> str | None:
    """What the editor has put behind the cursor by itself, as it closes brackets; None if more has changed."""
    for n in range(_MAX_CLOSERS + 1):
        closers = now[:n]
        if set(closers) <= _CLOSERS and len(now) >= len(then) and (closers + then).startswith(now):
            return closers
    return None


def _with_plain_ends(place: Place) -> Place:
    """Line ends all alike: an editor puts its document's own into what it inserts."""
    return replace(place, prefix=_with_plain_ends_in(place.prefix), suffix=_with_plain_ends_in(place.suffix))


def _with_plain_ends_in(text: str) -> str:
    return text.replace("\r\n", "\n")
