"""A server that fails is left alone, tried again, and told of when it is back."""

from __future__ import annotations

import asyncio

import pytest
from midspan_lsp.backends.base import Capabilities, ReportProgress
from midspan_lsp.backends.breaker import FIRST_REST_S, HOPELESS_REST_S, LONGEST_REST_S, MAX_FAILURES, Breaker
from midspan_lsp.backends.guarded import GuardedBackend
from midspan_lsp.backends.notices import Notices
from midspan_lsp.errors import BackendBusy, BackendTimeout, BackendUnavailable, BadResponse, InfillError
from midspan_lsp.types import (
    CancellationToken,
    Candidate,
    InfillRequest,
    InfillResponse,
    InfillStats,
    StepObserver,
)


class Clock:
    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


DOWN = BadResponse("down", retryable=True)


def failing(n: int) -> tuple[Breaker, Clock]:
    clock = Clock()
    breaker = Breaker(clock)
    for _ in range(n):
        assert breaker.try_pass()
        breaker.failed(DOWN)
    return breaker, clock


def test_a_few_failures_are_nothing() -> None:
    breaker, _ = failing(MAX_FAILURES - 1)
    assert breaker.try_pass()
    assert not breaker.succeeded()
    breaker.failed(DOWN)
    assert breaker.try_pass()


def test_after_more_none_passes_for_a_while_and_then_one() -> None:
    breaker, clock = failing(MAX_FAILURES)
    assert not breaker.try_pass()
    assert breaker.error is DOWN
    clock.now_s += FIRST_REST_S
    assert breaker.try_pass()
    assert not breaker.try_pass()  # the trial is still on its way
    assert breaker.succeeded()
    assert breaker.error is None
    assert breaker.try_pass()


def test_each_trial_that_fails_is_followed_by_a_longer_rest() -> None:
    breaker, clock = failing(MAX_FAILURES)
    rests = []
    for _ in range(7):
        began_s = clock.now_s
        while not breaker.try_pass():
            clock.now_s += 1
        rests.append(clock.now_s - began_s)
        breaker.failed(DOWN)
    assert rests == [min(FIRST_REST_S * 2**n, LONGEST_REST_S) for n in range(7)]


def test_a_trial_that_nobody_waited_for_says_nothing() -> None:
    breaker, clock = failing(MAX_FAILURES)
    clock.now_s += FIRST_REST_S
    assert breaker.try_pass()
    breaker.abandoned()
    assert breaker.try_pass()


@pytest.mark.parametrize(
    ("error", "rest_s"),
    [
        (BackendUnavailable("the key is not taken"), HOPELESS_REST_S),
        (BackendBusy("too many", retry_after_s=17.0), 17.0),
        (BackendBusy("too many"), None),
        (BackendTimeout("slow", retryable=True), None),
        (BadResponse("this one request was not taken"), None),
    ],
)
def test_one_failure_is_enough_where_the_next_would_be_no_other(error: InfillError, rest_s: float | None) -> None:
    clock = Clock()
    breaker = Breaker(clock)
    breaker.failed(error)
    assert breaker.try_pass() is (rest_s is None)
    clock.now_s += (rest_s or 0) - 0.1
    assert breaker.try_pass() is (rest_s is None)
    clock.now_s += 0.2
    assert breaker.try_pass()


class Flaky:
    """Fails while it is told to."""

    capabilities = Capabilities("The server", can_remask=False)
    ready = True
    error: InfillError | None = None
    n_asked = 0

    async def load(self, report: ReportProgress) -> None:
        pass

    async def infill(
        self, request: InfillRequest, token: CancellationToken, on_step: StepObserver | None = None
    ) -> InfillResponse:
        self.n_asked += 1
        if self.error:
            raise self.error
        return InfillResponse((Candidate("x", 0.5),))

    async def prepare(self, request: InfillRequest, token: CancellationToken) -> InfillStats:
        return InfillStats()

    async def aclose(self) -> None:
        pass


async def test_a_backend_is_not_asked_while_it_is_left_alone_and_its_return_is_told() -> None:
    told: list[str] = []
    notices, flaky, clock = Notices(), Flaky(), Clock()
    notices.listen(told.append)
    backend = GuardedBackend(flaky, notices, Breaker(clock))
    flaky.error = DOWN
    for _ in range(10):
        with pytest.raises(BadResponse, match="down"):
            await backend.infill(InfillRequest("", ""), CancellationToken())
    assert flaky.n_asked == MAX_FAILURES
    flaky.error = None
    clock.now_s += FIRST_REST_S
    assert told == []
    for _ in range(3):
        assert (await backend.infill(InfillRequest("", ""), CancellationToken())).candidates
    assert told == ["The server is back."]


async def test_a_private_document_says_nothing_of_the_server() -> None:
    flaky = Flaky()
    backend = GuardedBackend(flaky, Notices(), Breaker(Clock()))
    flaky.error = BackendUnavailable("nothing of it is sent", retryable=True)
    for _ in range(MAX_FAILURES + 1):
        with pytest.raises(BackendUnavailable):
            await backend.infill(InfillRequest("", "", is_private=True), CancellationToken())
    flaky.error = None
    assert (await backend.infill(InfillRequest("", ""), CancellationToken())).candidates


async def test_a_cancelled_trial_is_none() -> None:
    class Hanging(Flaky):
        async def infill(
            self, request: InfillRequest, token: CancellationToken, on_step: StepObserver | None = None
        ) -> InfillResponse:
            if self.error:
                raise self.error
            await asyncio.Event().wait()
            raise AssertionError

    clock, hanging = Clock(), Hanging()
    breaker = Breaker(clock)
    backend = GuardedBackend(hanging, Notices(), breaker)
    hanging.error = BackendUnavailable("no")
    with pytest.raises(BackendUnavailable):
        await backend.infill(InfillRequest("", ""), CancellationToken())
    clock.now_s += HOPELESS_REST_S
    hanging.error = None
    trial = asyncio.create_task(backend.infill(InfillRequest("", ""), CancellationToken()))
    await asyncio.sleep(0)
    trial.cancel()
    with pytest.raises(asyncio.CancelledError):
        await trial
    assert breaker.try_pass()


def test_notices_are_told_once_and_none_is_lost() -> None:
    notices, told = Notices(), list[str]()
    notices.tell("early")
    notices.listen(told.append)
    notices.tell("late")
    notices.tell("late")
    notices.tell("early")
    assert told == ["early", "late"]
