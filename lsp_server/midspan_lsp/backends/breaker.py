"""When a server that fails is left alone, and when it is tried again. Pure but for the clock."""

from __future__ import annotations

import time
from collections.abc import Callable

from midspan_lsp.errors import BackendBusy, BackendUnavailable, InfillError

MAX_FAILURES = 3
FIRST_REST_S, LONGEST_REST_S = 5.0, 120.0
HOPELESS_REST_S = 300.0
"""After a failure that will not go away by itself, such as a key that is not taken."""


class Breaker:
    """Closed: requests pass. Open: none does for a while. Half open: one passes, as a trial.

    Args:
        now_s: the clock.

    Attributes:
        error: the last failure while it is not closed.
    """

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self.error: InfillError | None = None
        self._now_s = now_s
        self._n_failures = 0
        self._rest_s = FIRST_REST_S
        self._open_until_s = 0.0
        self._is_tried = False

    def try_pass(self) -> bool:
        """Whether a request may be sent; it is to be told of by one of the three below."""
        if self.error is None:
            return True
        if self._is_tried or self._now_s() < self._open_until_s:
            return False
        self._is_tried = True
        return True

    def succeeded(self) -> bool:
        """A request was answered. Whether that ends a time in which none was sent."""
        was_open = self.error is not None
        self.error, self._n_failures, self._rest_s, self._is_tried = None, 0, FIRST_REST_S, False
        return was_open

    def failed(self, error: InfillError) -> None:
        """A request failed."""
        self._n_failures += 1
        is_trial, self._is_tried = self._is_tried, False
        if isinstance(error, BackendBusy) and error.retry_after_s is not None:
            rest_s = error.retry_after_s
        elif isinstance(error, BackendUnavailable) and not error.retryable:
            rest_s = HOPELESS_REST_S
        elif is_trial or self._n_failures >= MAX_FAILURES:
            rest_s, self._rest_s = self._rest_s, min(2 * self._rest_s, LONGEST_REST_S)
        else:
            return
        self.error = error
        self._open_until_s = self._now_s() + rest_s

    def abandoned(self) -> None:
        """Nobody waited for a request's answer: it says nothing of the server."""
        self._is_tried = False
