"""Real gateways for the tests: the command in a process of its own, on loopback."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import httpx

LOADING_TIMEOUT_S = 300
ENDING_TIMEOUT_S = 10


@dataclass(frozen=True)
class RunningGateway:
    """A gateway that answers.

    Attributes:
        url: of it.
        process: the command's.
    """

    url: str
    process: subprocess.Popen[str]

    def client(self, **rest: object) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=60, trust_env=False, **rest)  # type: ignore[arg-type]

    def metric(self, name: str) -> float:
        """A number of `/metrics`."""
        with self.client() as client:
            text = client.get("/metrics").text
        found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
        assert found, f"{name} is not among the metrics"
        return float(found[1])

    def wait_for_metric(self, name: str, value: float, timeout_s: float = 30) -> None:
        deadline_s = time.monotonic() + timeout_s
        while self.metric(name) != value:
            assert time.monotonic() < deadline_s, f"{name} is {self.metric(name)}, not {value}"
            time.sleep(0.05)


@contextmanager
def running_gateway(
    *arguments: str, environment: Mapping[str, str] | None = None, listen: str = "127.0.0.1:0"
) -> Iterator[RunningGateway]:
    """Starts `midspan gateway`, waits until it has loaded, and has it end by itself afterwards."""
    command = [sys.executable, "-P", "-m", "midspan_lsp", "gateway", "--listen", listen, *arguments]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})}, encoding="utf-8"
    )
    assert process.stdout is not None
    try:
        found = re.search(r"answers on (http://\S+)", process.stdout.readline())
        assert found, "it did not say where it listens"
        gateway = RunningGateway(found[1], process)
        _wait_until_ready(gateway)
        yield gateway
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            assert process.wait(ENDING_TIMEOUT_S) in (0, -signal.SIGTERM)
        finally:
            process.kill()
            process.stdout.close()


def _wait_until_ready(gateway: RunningGateway) -> None:
    deadline_s = time.monotonic() + LOADING_TIMEOUT_S
    with gateway.client() as client:
        while client.get("/health").status_code != 200:
            assert gateway.process.poll() is None, "it has ended"
            assert time.monotonic() < deadline_s
            time.sleep(0.1)
