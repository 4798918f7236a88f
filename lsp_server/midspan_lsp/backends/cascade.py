"""The embedded model at once, and a server's better answer where it comes in time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

from midspan_lsp.backends.base import Capabilities, InfillBackend, ReportProgress
from midspan_lsp.backends.http.candidates import is_probability_known
from midspan_lsp.backends.notices import Notices
from midspan_lsp.errors import BackendUnavailable, InfillError
from midspan_lsp.types import CancellationToken, Candidate, InfillRequest, InfillResponse, InfillStats, StepObserver

SURE = 0.7
"""A middle of the embedded model at least so likely is not held back for the server's: `completion.eagerness` low."""
_FORWARD_S = 0.2
"""The embedded model says what it has after the forward in which time runs out; it is not waited for any longer, such
as where it does something else, or has just been loaded and reads the whole context."""


class CascadeBackend:
    """Asks both at the same time.

    The embedded middle is answered as soon as it is there, if it is sure; otherwise the server is waited for,
    `patience_s` at most and never beyond the request's time. What the server says after that is the response's `later`,
    until the next request comes.

    Args:
        local: the embedded model; mends drafts and takes what must not leave this machine.
        remote: the server.
        notices: told, once for each cause, why the server does not answer.
        patience_s: see above.
    """

    def __init__(self, local: InfillBackend, remote: InfillBackend, notices: Notices, patience_s: float) -> None:
        self._local, self._remote, self._notices, self._patience_s = local, remote, notices, patience_s
        self._late = CancellationToken()
        self._later: asyncio.Task[InfillResponse] | None = None

    @property
    def capabilities(self) -> Capabilities:
        """The embedded model's."""
        return self._local.capabilities

    @property
    def ready(self) -> bool:
        """True once one of the two is."""
        return self._local.ready or self._remote.ready

    async def load(self, report: ReportProgress) -> None:
        """Both; with one of them it goes on.

        Raises:
            InfillError: neither can be used.
        """
        failed = await asyncio.gather(_failure_of(self._remote, report), _failure_of(self._local, report))
        remote_error, local_error = failed
        if remote_error is not None:
            self._notices.tell(f"{remote_error}\nThe embedded model answers alone.")
        if local_error is not None and remote_error is not None:
            raise local_error
        if local_error is not None:
            self._notices.tell(f"{local_error}\n{self._remote.capabilities.name} answers alone.")

    async def infill(
        self, request: InfillRequest, token: CancellationToken, on_step: StepObserver | None = None
    ) -> InfillResponse:
        """The likelier middle of the two first; the other one may do where that does not fit.

        Raises:
            InfillError: the embedded model failed, and the server has nothing either.
        """
        if request.draft is not None:  # the same question still
            return await self._local.infill(request, token, on_step)
        self._late.cancel()  # whoever asks again has gone another way than that answer
        if request.is_private or not self._remote.ready:
            response, error = await _in_time(self._ask_local(request, token, on_step), token)
            if error is not None and self._local.ready:
                raise error
            return response
        began_s = time.monotonic()
        remote_token = CancellationToken()
        waiting = True

        def stop() -> None:
            if waiting:  # what comes later belongs to no request
                remote_token.cancel()

        token.when_cancelled(stop)
        asking = asyncio.get_running_loop().create_task(self._ask_remote(request, remote_token))
        try:
            local, error = await _in_time(self._ask_local(request, token, on_step), token)
            candidate = local.candidates[0] if local.candidates else None
            if token.cancelled():
                remote_token.cancel()
                return replace(local, candidates=())
            if candidate is None or candidate.probability < SURE:
                await asyncio.wait({asking}, timeout=self._waiting_s(token, local_failed=error is not None))
            elif not self._remote.capabilities.gives_probability:
                remote_token.cancel()  # it could not be the likelier one
                return local
        except BaseException:
            remote_token.cancel()
            raise
        waiting = False
        stats = replace(local.stats, elapsed_ms=1e3 * (time.monotonic() - began_s))
        if not asking.done():
            self._late = remote_token
            self._later = asyncio.get_running_loop().create_task(_better(asking, candidate))
            return InfillResponse(local.candidates, stats, later=self._later)
        ranked = _ranked(candidate, asking.result(), local)
        if error is not None and not ranked and self._local.ready:
            raise error
        return InfillResponse(ranked, stats)

    async def prepare(self, request: InfillRequest, token: CancellationToken) -> InfillStats:
        """The embedded model's; the server is not sent what nobody has asked for."""
        return await self._local.prepare(request, token) if self._local.ready else InfillStats()

    async def aclose(self) -> None:
        """Both."""
        self._late.cancel()
        await asyncio.gather(self._local.aclose(), self._remote.aclose())

    def _waiting_s(self, token: CancellationToken, *, local_failed: bool) -> float | None:
        """How long the server is still waited for; without an embedded middle, as long as the request may take."""
        remaining_s = token.remaining_s
        if local_failed:
            return remaining_s
        return self._patience_s if remaining_s is None else min(self._patience_s, remaining_s)

    async def _ask_local(
        self, request: InfillRequest, token: CancellationToken, on_step: StepObserver | None
    ) -> tuple[InfillResponse, InfillError | None]:
        if not self._local.ready:  # it would answer only once it has loaded
            return InfillResponse(), BackendUnavailable("the embedded model is not loaded yet", retryable=True)
        try:
            return await self._local.infill(request, token, on_step), None
        except InfillError as error:
            return InfillResponse(), error

    async def _ask_remote(self, request: InfillRequest, token: CancellationToken) -> Candidate | None:
        """The server's middle, if it has one. Its failures are told, once for each cause."""
        try:
            response = await self._remote.infill(request, token)
        except InfillError as error:
            self._notices.tell(f"{error}\nThe embedded model answers alone meanwhile.")
            return None
        return response.candidates[0] if response.candidates else None


async def _in_time(
    asking: Coroutine[Any, Any, tuple[InfillResponse, InfillError | None]], token: CancellationToken
) -> tuple[InfillResponse, InfillError | None]:
    """The embedded model's answer; nothing if the request's time is over, and a forward that had begun too."""
    task, remaining_s = asyncio.get_running_loop().create_task(asking), token.remaining_s
    try:
        await asyncio.wait({task}, timeout=None if remaining_s is None else remaining_s + _FORWARD_S)
    except BaseException:
        task.cancel()
        raise
    return task.result() if task.done() else (InfillResponse(), None)


async def _better(asking: asyncio.Task[Candidate | None], shown: Candidate | None) -> InfillResponse:
    """The server's middle if it is better than the one shown."""
    candidate = await asking
    return InfillResponse((candidate,) if candidate is not None and _is_better(candidate, shown) else ())


async def _failure_of(backend: InfillBackend, report: ReportProgress) -> InfillError | None:
    try:
        await backend.load(report)
    except InfillError as error:
        return error
    return None


def _ranked(local: Candidate | None, remote: Candidate | None, response: InfillResponse) -> tuple[Candidate, ...]:
    """All middles, best first; the server's is in front where it is better, and a second choice where not."""
    if remote is None:
        return response.candidates
    if _is_better(remote, local):
        return (remote, *response.candidates)
    return (*response.candidates, remote)


def _is_better(remote: Candidate, local: Candidate | None) -> bool:
    """Whether a server's middle is to be shown instead; one of unknown probability is, where the other is not sure."""
    if local is None:
        return True
    if is_probability_known(remote):
        return remote.probability > local.probability
    return local.probability < SURE
