"""How long an automatic request waits for the next key before the model is asked, by rhythm and latency.

Whoever types faster than the model answers has it begin at each key what the next key may make obsolete. To wait for a
pause, which is known by its length, saves processor time, and costs answers: work that goes on while its draft is being
typed (`carrying.py`) has many of them ready before the pause. So nobody waits by default.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass

from midspan_lsp.cancellation import cancelled_event
from midspan_lsp.choices import Pacing
from midspan_lsp.config import CompletionSettings
from midspan_lsp.types import CancellationToken

LONGEST_GAP_MS = 1500.0
"""Between two keys of somebody who types; after longer ones typing begins anew."""
SHORTEST_GAP_MS = 20.0
"""Shorter ones are not between keys: an editor has changed something by itself."""
_GAP_WEIGHT, _DEVIATION_WEIGHT = 1 / 8, 1 / 4
_ANSWER_WEIGHT = 1 / 4


@dataclass(frozen=True)
class Rhythm:
    """A moving estimate of the gaps between keys, with the weights that TCP has for round trips (RFC 6298).

    Attributes:
        gap_ms: the mean gap.
        deviation_ms: the mean deviation from it.
    """

    gap_ms: float
    deviation_ms: float

    @property
    def pause_ms(self) -> float:
        """After so long without a key the next one is probably not coming: four gaps of five are shorter."""
        return self.gap_ms + max(SHORTEST_GAP_MS, self.deviation_ms)


def next_rhythm(rhythm: Rhythm | None, gap_ms: float) -> Rhythm | None:
    """The estimate after one more gap; None: there is none yet."""
    if not SHORTEST_GAP_MS <= gap_ms <= LONGEST_GAP_MS:
        return rhythm
    if rhythm is None:
        return Rhythm(gap_ms, gap_ms / 2)
    off_ms = gap_ms - rhythm.gap_ms
    deviation_ms = rhythm.deviation_ms + _DEVIATION_WEIGHT * (abs(off_ms) - rhythm.deviation_ms)
    return Rhythm(rhythm.gap_ms + _GAP_WEIGHT * off_ms, deviation_ms)


def next_latency_ms(latency_ms: float | None, elapsed_ms: float, *, cancelled: bool) -> float | None:
    """The moving estimate of how long an answer takes, after one more; None: there is none yet.

    One that was cancelled would have taken longer, nobody knows how much: it never lowers the estimate.
    """
    if latency_ms is None:
        return elapsed_ms
    return max(latency_ms if cancelled else 0.0, latency_ms + _ANSWER_WEIGHT * (elapsed_ms - latency_ms))


def adaptive_delay_ms(rhythm: Rhythm | None, latency_ms: float | None, most_ms: float) -> float:
    """From a key on, until a pause is known to be one.

    None before both are known, where some answers come before the next key, or where `most_ms` is too short: it would
    only be lost.
    """
    if rhythm is None or latency_ms is None or not rhythm.pause_ms < min(latency_ms, most_ms):
        return 0.0
    return rhythm.pause_ms


class Pace:
    """Somebody's rhythm and the model's latency, and the waiting. Belongs to one event loop.

    Args:
        now_s: the clock.
    """

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._rhythm: Rhythm | None = None
        self._latency_ms: float | None = None
        self._edited_s: float | None = None
        self._is_asked = False

    def edited(self) -> None:
        """A document was changed: by a key, as far as can be told."""
        now_s = self._now_s()
        if self._edited_s is not None:
            self._rhythm = next_rhythm(self._rhythm, 1e3 * (now_s - self._edited_s))
        self._edited_s, self._is_asked = now_s, False

    @contextlib.contextmanager
    def work(self, token: CancellationToken) -> Generator[None]:
        """To be held while an answer is worked on."""
        began_s = self._now_s()
        try:
            yield
        finally:
            elapsed_ms = 1e3 * (self._now_s() - began_s)
            self._latency_ms = next_latency_ms(self._latency_ms, elapsed_ms, cancelled=token.cancelled())

    def delay_ms(self, settings: CompletionSettings) -> float:
        """From the last key on."""
        if settings.pacing == Pacing.NONE:
            return 0.0
        is_fixed = settings.pacing == Pacing.FIXED
        return settings.delay_ms if is_fixed else adaptive_delay_ms(self._rhythm, self._latency_ms, settings.delay_ms)

    async def wait(self, settings: CompletionSettings, token: CancellationToken) -> None:
        """Until work is to begin, or `token` is cancelled or its time is up.

        What an editor has waited by itself since the last key counts. Where only the cursor has moved nobody knows for
        how long it has stood there: there the time begins now.
        """
        now_s = self._now_s()
        since_s = now_s if self._is_asked or self._edited_s is None else self._edited_s
        self._is_asked = True
        left_s = since_s + self.delay_ms(settings) / 1e3 - now_s
        if token.remaining_s is not None:
            left_s = min(left_s, token.remaining_s)
        if left_s > 0:
            with cancelled_event(token) as cancelled, contextlib.suppress(TimeoutError):
                await asyncio.wait_for(cancelled.wait(), left_s)
