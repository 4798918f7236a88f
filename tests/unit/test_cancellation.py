"""Who waits for an answer tells who works on it."""

from __future__ import annotations

import threading
from functools import partial

from midspan_lsp.types import CancellationToken


def test_whoever_wants_to_know_is_told_once() -> None:
    token, told = CancellationToken(), list[str]()
    token.when_cancelled(lambda: told.append("a"))
    assert told == []
    token.cancel()
    token.cancel()
    assert told == ["a"]
    token.when_cancelled(lambda: told.append("late"))
    assert told == ["a", "late"]


def test_nobody_is_forgotten_between_two_threads() -> None:
    for _ in range(200):
        token, told = CancellationToken(), list[int]()
        cancelling = threading.Thread(target=token.cancel)
        cancelling.start()
        for number in range(20):
            token.when_cancelled(partial(told.append, number))
        cancelling.join()
        assert sorted(told) == list(range(20))


def test_the_time_that_is_left() -> None:
    assert CancellationToken().remaining_s is None
    assert 0 < (CancellationToken(60).remaining_s or 0) <= 60
    token = CancellationToken(0)
    assert token.remaining_s == 0
    assert token.expired()
