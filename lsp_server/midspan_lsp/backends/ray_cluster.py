"""The model as a Ray Serve deployment: replicas on this machine or on several."""

# Ray is no dependency of the checks, and has few types
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import time
from dataclasses import replace
from typing import Any

import ray
from ray import serve
from ray.exceptions import RayActorError, RayError, TaskCancelledError
from ray.serve.exceptions import RayServeException, ReplicaUnavailableError

from midspan_lsp.backends.base import Capabilities, LoadProgress, ReportProgress
from midspan_lsp.backends.ray_plan import Scale, plan_of
from midspan_lsp.backends.ray_replica import application
from midspan_lsp.backends.shared_wire import Ask, Tell, error_of, read_tell, write
from midspan_lsp.backends.worker import Worker
from midspan_lsp.config import Settings
from midspan_lsp.errors import BackendUnavailable, BadResponse
from midspan_lsp.types import CancellationToken, InfillRequest, InfillResponse, InfillStats, StepObserver

logger = logging.getLogger(__name__)

APPLICATION = "midspan"
_N_TRIES = 4
_HEAD_LENGTH = 256
_PLAN_TIMEOUT_S, _POLL_S = 10.0, 0.2
_GONE = (RayActorError, ReplicaUnavailableError, TaskCancelledError)
"""The replica has died, or was told to end: middles can be asked for twice."""


class RayBackend:
    """Asks a deployment, which it makes, or finds in the cluster that `RAY_ADDRESS` names. Belongs to one event loop.

    A replica that dies is replaced by Ray; what it was asked is asked again elsewhere.

    Args:
        settings: the model's.
        scale: how many replicas of it.
        n_together: requests that each works on at a time.
    """

    def __init__(self, settings: Settings, scale: Scale, n_together: int) -> None:
        self._settings, self._scale, self._n_together = settings, scale, n_together
        self._worker = Worker("midspan-ray")
        self._handle: Any = None
        self._is_ours = False
        self._deploying = asyncio.Lock()

    @property
    def capabilities(self) -> Capabilities:
        """Those of the local backend."""
        return Capabilities(name="ray", can_remask=True)

    @property
    def ready(self) -> bool:
        """True once all replicas have loaded."""
        return self._handle is not None

    async def load(self, report: ReportProgress) -> None:
        """Deploy the replicas, and wait until they have loaded."""
        if self._handle is None:
            report(LoadProgress(f"starting replicas: {self._scale.least}"))
            await self.renew()

    async def renew(self) -> bool:
        """Have replicas that are not as the plan is by now replaced, one after another; whether there were any.

        They are if the checkpoint's folder has other files, or if another gateway has deployed something else. Requests
        are answered meanwhile, by the old or the new ones.

        Raises:
            BackendUnavailable: the new ones do not start; the old ones, if there are any, go on.
        """
        async with self._deploying:
            try:
                was_deployed, self._handle = await asyncio.wrap_future(self._worker.submit(self._deploy))
            except (RayError, RayServeException, RuntimeError, OSError) as error:
                raise BackendUnavailable(f"the replicas do not start: {error}", hint="See Ray's log.") from error
        return was_deployed

    async def infill(
        self, request: InfillRequest, token: CancellationToken, on_step: StepObserver | None = None
    ) -> InfillResponse:
        """Have a replica fill the middle; steps are not told."""
        del on_step
        told = await self._ask(Ask("infill", request=request), request, token)
        return InfillResponse() if told is None or told.response is None else told.response

    async def prepare(self, request: InfillRequest, token: CancellationToken) -> InfillStats:
        """Have the document's replica prepare a context."""
        told = await self._ask(Ask("prepare", request=request), request, token)
        return InfillStats() if told is None else told.stats

    async def aclose(self) -> None:
        """Let go of the cluster; one that was started for this is stopped."""
        self._handle = None
        self._worker.stop()
        if self._is_ours:
            await asyncio.to_thread(ray.shutdown)

    def _deploy(self) -> tuple[bool, Any]:
        """Whether anything had to be done, and a handle. May take minutes."""
        plan = plan_of(self._settings, self._scale, self._n_together)
        if not ray.is_initialized():
            self._is_ours = not os.environ.get("RAY_ADDRESS")
            logging.getLogger("ray.serve").setLevel(logging.WARNING)
            ray.init(log_to_driver=False, include_dashboard=False, configure_logging=False)
        serve.start(proxy_location="Disabled")
        handle = _running()
        if handle is not None and _plan_of(handle) == plan.text:
            return False, handle
        return True, serve.run(application(plan), name=APPLICATION, route_prefix=None)

    async def _ask(self, ask: Ask, request: InfillRequest, token: CancellationToken) -> Tell | None:
        """What a replica answers; None if nobody wants it any more."""
        if self._handle is None:
            raise BackendUnavailable("the replicas are not started yet", retryable=True)
        loop = asyncio.get_running_loop()
        key = hashlib.sha256(request.prefix[:_HEAD_LENGTH].encode("utf-8", "surrogatepass")).hexdigest()[:16]
        handle = self._handle.options(multiplexed_model_id=key)
        for n_tries in range(1, _N_TRIES + 1):
            if token.cancelled():
                return None
            response = handle.answer.remote(write(replace(ask, timeout_s=token.remaining_s)))
            token.when_cancelled(lambda response=response: _call_soon(loop, response.cancel))
            try:
                told = read_tell(await response)
            except (*_GONE, asyncio.CancelledError) as error:
                if _is_cancelling():
                    response.cancel()
                    token.cancel()
                    raise
                if token.cancelled():
                    return None
                logger.warning("a replica is gone: %s", type(error).__name__)
                if n_tries == _N_TRIES:
                    raise BadResponse("the replicas die", hint="See Ray's log.", retryable=True) from error
                continue
            except (RayError, RayServeException) as error:
                if token.cancelled():
                    return None
                raise BadResponse(f"a replica failed: {type(error).__name__}", hint="See Ray's log.") from error
            if told.failure is not None:
                raise error_of(told.failure)
            return told
        raise AssertionError("the last try returns or raises")


def _running() -> Any:
    """A handle of what is deployed; None if nothing is that answers. What is just being deployed is waited for."""
    while (found := serve.status().applications.get(APPLICATION)) is not None and found.status == "DEPLOYING":
        time.sleep(_POLL_S)
    return serve.get_app_handle(APPLICATION) if found is not None and found.status == "RUNNING" else None


def _plan_of(handle: Any) -> str:
    """What a replica was told to be; "" if it does not say, as those of older versions."""
    try:
        return handle.plan.remote().result(timeout_s=_PLAN_TIMEOUT_S)
    except (RayError, RayServeException, TimeoutError) as error:
        logger.info("a replica does not tell its plan: %s", type(error).__name__)
        return ""


def _is_cancelling() -> bool:
    """Whether it is this task that is cancelled, and not what it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _call_soon(loop: asyncio.AbstractEventLoop, call: Any) -> None:
    with contextlib.suppress(RuntimeError):  # the loop has ended, and with it whoever waited
        loop.call_soon_threadsafe(call)
