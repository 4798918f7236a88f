"""What `/metrics` tells, in Prometheus' form. No text of any request is among it."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from midspan_lsp.engine.outcome import Tally
from midspan_lsp.gateway.admission import Admission

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0)


class Metrics:
    """Counts requests; queue and engine are asked when somebody looks.

    Attributes:
        requests: by path and status.
        seconds: from a request's arrival to its answer.
        gone: clients that left before they had their answer.
    """

    def __init__(self, admission: Admission, tally: Tally) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "midspan_requests", "Requests answered, by path and status.", ["path", "status"], registry=self._registry
        )
        self.seconds = Histogram(
            "midspan_request_seconds",
            "From a request's arrival to its answer.",
            ["path"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self.gone = Counter("midspan_clients_gone", "Clients that left before the answer.", registry=self._registry)
        waiting = Gauge("midspan_requests_waiting", "Requests that wait for their turn.", registry=self._registry)
        waiting.set_function(lambda: admission.n_waiting)
        working = Gauge("midspan_requests_working", "Requests that are worked on.", registry=self._registry)
        working.set_function(lambda: admission.n_working)
        self._registry.register(_EngineCounters(tally))

    def text(self) -> bytes:
        """All of it."""
        return generate_latest(self._registry)


class _EngineCounters(Collector):
    """The engine's own counts, without a second bookkeeping."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally

    def collect(self) -> Iterator[Metric]:
        """As they stand."""
        tally = self._tally
        for name, about, value in (
            ("answers_repeated", "Answered by what was known of the same place.", tally.n_repeated),
            ("answers_typed_through", "Answered by the rest of an earlier middle.", tally.n_typed_through),
            ("forwards", "Forwards of the denoiser.", tally.n_forwards),
            ("forwards_wasted", "Forwards for clients that had gone.", tally.n_wasted_forwards),
            ("tokens_encoded", "Context tokens that were encoded.", tally.n_encoded_tokens),
            ("tokens_cached", "Context tokens that were found encoded.", tally.n_cached_tokens),
        ):
            yield CounterMetricFamily(f"midspan_{name}", about, value)
