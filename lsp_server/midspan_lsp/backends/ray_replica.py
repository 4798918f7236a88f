"""One replica: a model in a process of its own, and how Ray Serve is to keep as many as are planned."""

# Ray is no dependency of the checks, and has few types
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from typing import Any

from ray import serve

from midspan_lsp.backends.local import LocalBackend
from midspan_lsp.backends.ray_plan import Plan, read_plan
from midspan_lsp.backends.shared_wire import Tell, failure_of, read_ask, write
from midspan_lsp.errors import InfillError
from midspan_lsp.types import CancellationToken

_HEALTH_PERIOD_S, _HEALTH_TIMEOUT_S = 2.0, 10.0
_DOCUMENTS_PER_REPLICA = 256
_LOOK_BACK_S = 10.0
_SURGE_PERCENT = 25
"""So many more replicas while they are replaced, at least one: a new one has loaded before an old one goes."""
_ENDING_TIMEOUT_S, _ENDING_POLL_S = 30.0, 0.2
"""An old replica answers what it was asked before it ends; requests take half of that at most."""


class Model:
    """A replica: a model in a process of its own.

    Requests of one document come to one replica, which has its context encoded: Ray routes what it takes for one of
    many models (`multiplexed`) to where that was used last, or elsewhere if that replica is gone or has too much to do.
    """

    def __init__(self, plan: str) -> None:
        settings, n_together = read_plan(plan)
        self._plan = plan
        self._backend = LocalBackend(settings, n_together)
        self._backend.load_now(lambda _progress: None)

    async def plan(self) -> str:
        """What it was told to be."""
        return self._plan

    @serve.multiplexed(max_num_models_per_replica=_DOCUMENTS_PER_REPLICA)
    async def document(self, key: str) -> str:
        """Nothing is to be loaded for a document: only its place is remembered."""
        return key

    async def answer(self, line: bytes) -> bytes:
        """Do what the line of `shared_wire.py` asks; a cancelled call stops within one forward."""
        ask = read_ask(line)
        assert ask.request is not None
        await self.document(serve.get_multiplexed_model_id())  # pyright: ignore[reportCallIssue]
        token = CancellationToken(ask.timeout_s)
        try:
            if ask.kind == "prepare":
                return write(Tell(ask.id, "prepared", stats=await self._backend.prepare(ask.request, token)))
            return write(Tell(ask.id, "infilled", response=await self._backend.infill(ask.request, token)))
        except InfillError as error:
            return write(Tell(ask.id, "failed", failure=failure_of(error)))
        finally:
            token.cancel()


def application(plan: Plan) -> Any:
    """The deployment of a plan, for `serve.run`; running it again replaces all replicas, one after another."""
    scale, number = plan.scale, {}
    if scale.is_fixed:
        number["num_replicas"] = scale.least
    else:
        number["autoscaling_config"] = {
            "min_replicas": scale.least,
            "max_replicas": scale.most,
            "target_ongoing_requests": plan.n_together,
            "upscale_delay_s": scale.grow_after_s,
            "downscale_delay_s": scale.shrink_after_s,
            "look_back_period_s": _LOOK_BACK_S,
        }
    deployment = serve.deployment(
        Model,
        name="Model",
        max_ongoing_requests=2 * plan.n_together,  # what more there is goes to another replica
        health_check_period_s=_HEALTH_PERIOD_S,
        health_check_timeout_s=_HEALTH_TIMEOUT_S,
        graceful_shutdown_timeout_s=_ENDING_TIMEOUT_S,
        graceful_shutdown_wait_loop_s=_ENDING_POLL_S,
        max_surge_percent=_SURGE_PERCENT,
        max_constructor_retry_count=1,
        ray_actor_options={"num_cpus": 0},  # a replica's threads are the model's setting
        **number,
    )
    return deployment.bind(plan.text)
