"""The model as a Ray Serve deployment: replicas on this machine or on several. Only this file knows Ray."""

# Ray is no dependency of the checks, and has few types
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import os
from dataclasses import asdict
from typing import Any

import ray
from ray import serve
from ray.exceptions import RayActorError, RayError

from midspan_lsp.backends.base import Capabilities, LoadProgress, ReportProgress
from midspan_lsp.backends.local import LocalBackend
from midspan_lsp.backends.shared_wire import Ask, Tell, error_of, failure_of, read_ask, read_tell, write
from midspan_lsp.config import Settings, read_settings
from midspan_lsp.errors import BackendUnavailable, BadResponse, InfillError
from midspan_lsp.types import CancellationToken, InfillRequest, InfillResponse, InfillStats, StepObserver

logger = logging.getLogger(__name__)

APPLICATION = "midspan"
_N_TRIES = 4
_HEAD_LENGTH = 256
_MOST_ONGOING = 64
_HEALTH_PERIOD_S, _HEALTH_TIMEOUT_S = 2.0, 10.0
_DOCUMENTS_PER_REPLICA = 256


class Model:
    """A replica: a model in a process of its own.

    Requests of one document come to one replica, which has its context encoded: Ray routes what it takes for one of
    many models (`multiplexed`) to where that was used last, or elsewhere if that replica is gone or has too much to do.
    """

    def __init__(self, told: str, n_together: int) -> None:
        settings, _ = read_settings(json.loads(told))
        self._backend = LocalBackend(settings, n_together)
        self._backend.load_here(lambda _progress: None)

    @serve.multiplexed(max_num_models_per_replica=_DOCUMENTS_PER_REPLICA)
    async def document(self, key: str) -> str:
        """Nothing is to be loaded for a document: only its place is remembered."""
        return key

    async def answer(self, line: bytes) -> bytes:
        """Do what the line of `shared_wire.py` asks; a cancelled call stops within one forward."""
        ask = read_ask(line)
        assert ask.request is not None
        await self.document(serve.get_multiplexed_model_id())
        token = CancellationToken(ask.timeout_s)
        try:
            if ask.kind == "prepare":
                return write(Tell(ask.id, "prepared", stats=await self._backend.prepare(ask.request, token)))
            return write(Tell(ask.id, "infilled", response=await self._backend.infill(ask.request, token)))
        except InfillError as error:
            return write(Tell(ask.id, "failed", failure=failure_of(error)))
        finally:
            token.cancel()


class RayBackend:
    """Asks a deployment, which it makes, or finds in the cluster that `RAY_ADDRESS` names. Belongs to one event loop.

    A replica that dies is replaced by Ray; what it was asked is asked again elsewhere.

    Args:
        settings: the model's.
        n_replicas: of it.
        n_together: requests that each works on at a time.
    """

    def __init__(self, settings: Settings, n_replicas: int, n_together: int) -> None:
        self._settings, self._n_replicas, self._n_together = settings, n_replicas, n_together
        self._handle: Any = None
        self._is_ours = False

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
            report(LoadProgress(f"starting {self._n_replicas} replicas"))
            try:
                self._handle = await asyncio.to_thread(self._deploy)
            except (RayError, RuntimeError, ConnectionError) as error:
                raise BackendUnavailable(f"the replicas do not start: {error}", hint="See Ray's log.") from error

    async def infill(
        self, request: InfillRequest, token: CancellationToken, on_step: StepObserver | None = None
    ) -> InfillResponse:
        """Have a replica fill the middle; steps are not told."""
        del on_step
        told = await self._ask(Ask("infill", request=request, timeout_s=token.remaining_s), request, token)
        return InfillResponse() if told is None or told.response is None else told.response

    async def prepare(self, request: InfillRequest, token: CancellationToken) -> InfillStats:
        """Have the document's replica prepare a context."""
        told = await self._ask(Ask("prepare", request=request), request, token)
        return InfillStats() if told is None else told.stats

    async def aclose(self) -> None:
        """Let go of the cluster; one that was started for this is stopped."""
        self._handle = None
        if self._is_ours:
            await asyncio.to_thread(ray.shutdown)

    def _deploy(self) -> Any:
        if not ray.is_initialized():
            self._is_ours = not os.environ.get("RAY_ADDRESS")
            ray.init(log_to_driver=False, include_dashboard=False, configure_logging=False)
        serve.start(proxy_location="Disabled")
        told = json.dumps({"model": asdict(self._settings.model), "context": asdict(self._settings.context)})
        deployment = serve.deployment(
            Model,
            name="Model",
            num_replicas=self._n_replicas,
            max_ongoing_requests=_MOST_ONGOING,
            health_check_period_s=_HEALTH_PERIOD_S,
            health_check_timeout_s=_HEALTH_TIMEOUT_S,
            ray_actor_options={"num_cpus": 0},  # a replica's threads are the model's setting
        )
        return serve.run(deployment.bind(told, self._n_together), name=APPLICATION, route_prefix=None)

    async def _ask(self, ask: Ask, request: InfillRequest, token: CancellationToken) -> Tell | None:
        """What a replica answers; None if nobody wants it any more."""
        if self._handle is None:
            raise BackendUnavailable("the replicas are not started yet", retryable=True)
        loop, line = asyncio.get_running_loop(), write(ask)
        key = hashlib.sha256(request.prefix[:_HEAD_LENGTH].encode("utf-8", "surrogatepass")).hexdigest()[:16]
        handle = self._handle.options(multiplexed_model_id=key)
        for n_tries in range(1, _N_TRIES + 1):
            if token.cancelled():
                return None
            response = handle.answer.remote(line)
            token.when_cancelled(lambda response=response: _call_soon(loop, response.cancel))
            try:
                told = read_tell(await response)
            except RayActorError as error:  # it has died; middles can be asked for twice
                logger.warning("a replica has died: %s", type(error).__name__)
                if n_tries == _N_TRIES:
                    raise BadResponse("the replicas die", hint="See Ray's log.", retryable=True) from error
                continue
            except asyncio.CancelledError:
                response.cancel()
                if token.cancelled() and not _is_cancelling():
                    return None
                token.cancel()
                raise
            except RayError as error:
                if token.cancelled():
                    return None
                raise BadResponse(f"a replica failed: {type(error).__name__}", hint="See Ray's log.") from error
            if told.failure is not None:
                raise error_of(told.failure)
            return told
        raise AssertionError("the last try returns or raises")


def _is_cancelling() -> bool:
    """Whether it is this task that is cancelled, and not what it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _call_soon(loop: asyncio.AbstractEventLoop, call: Any) -> None:
    with contextlib.suppress(RuntimeError):  # the loop has ended, and with it whoever waited
        loop.call_soon_threadsafe(call)
