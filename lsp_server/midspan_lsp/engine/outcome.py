"""What the engine answers, and what all its answers have cost."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, field
from enum import Enum

from midspan_lsp.types import InfillResponse, InfillStats, Source, Span, Suggestion, Verdict


class Silence(Enum):
    """Why nothing is shown."""

    STOPPED = "cancelled, or time was up"
    BLANK = "nothing to insert"
    UNSURE = "not sure enough"
    BROKEN = "would break the syntax"
    UNWANTED = "nothing is wanted at such a place"
    COMMENT = "in a comment"
    STRING = "in a string"
    OFF = "switched off for this file or language"
    LOADING = "the model is not loaded"
    FAILED = "the model failed"


class Mended(Enum):
    """What is shown instead of a middle that would have broken the syntax."""

    RIVAL = "the next likely middle"
    REMASKED = "mended under its fault"
    SHORTER = "cut before its fault"


@dataclass(frozen=True)
class Outcome:
    """All that is known of one answer, shown or not.

    Attributes:
        text: the middle; where it is not shown, what was drafted.
        probability: of the draft's being right.
        verdict: the gate's, of `text`.
        silence: why it is not to be shown; None if it is.
        stats: cost of all backend calls.
        source: where in the project it is from, even if it was mended since; None: the model's own.
        later: as of the backend's answer.
        mended: how, if the best draft would have broken the syntax.
        n_rounds: of masking again.
        others: what else is to be shown, if that was asked for; best first.
    """

    text: str
    probability: float
    verdict: Verdict
    silence: Silence | None
    stats: InfillStats
    source: Source | None = None
    later: Awaitable[InfillResponse] | None = field(default=None, compare=False)
    mended: Mended | None = None
    n_rounds: int = 0
    others: tuple[Outcome, ...] = ()


def suggestions(outcome: Outcome, offset: int) -> list[Suggestion]:
    """What is shown of it at a cursor, best first."""
    shown = () if outcome.silence is not None else (outcome, *outcome.others)
    place, stats = Span(offset, offset), outcome.stats
    return [Suggestion(one.text, place, one.probability, one.verdict, stats, one.source) for one in shown]


STOPPED = Outcome("", 0.0, Verdict.NO_OPINION, Silence.STOPPED, InfillStats())
"""Before anything was asked."""


@dataclass
class Tally:
    """What an engine has done since it was made.

    Attributes:
        n_requests: for a completion, once the model was loaded.
        n_repeated: of these, answered by what was known of the same place.
        n_typed_through: of these, answered by the rest of what was shown before.
        n_forwards: of the denoiser.
        n_wasted_forwards: of these, for requests that were cancelled.
        n_encoded_tokens: context tokens encoded for requests.
        n_cached_tokens: context tokens that requests found encoded.
        n_prefilled_tokens: context tokens encoded while nobody waited.
    """

    n_requests: int = 0
    n_repeated: int = 0
    n_typed_through: int = 0
    n_forwards: int = 0
    n_wasted_forwards: int = 0
    n_encoded_tokens: int = 0
    n_cached_tokens: int = 0
    n_prefilled_tokens: int = 0

    def count(self, stats: InfillStats, *, cancelled: bool) -> None:
        """A backend call for a request has ended."""
        self.n_forwards += stats.n_forwards
        self.n_wasted_forwards += stats.n_forwards if cancelled else 0
        self.n_encoded_tokens += stats.n_encoded_tokens
        self.n_cached_tokens += stats.n_cached_tokens
