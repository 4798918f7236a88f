"""Many clients ask one gateway at a time: requests a second, waiting times, what is turned away, and nothing mixed up.

    python tests/benchmark/load.py [--clients 1 4 16 64] [--together 1 4] [--ray N] [--seconds 12] [--lines N]

Each client types in a document of its own, as an editor does: most of its context stays from one request to the next.
Each request has names of its own in front of the cursor, so no answer is known from before, and an answer that holds
names of another request would show that something was mixed up. The last line is JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).parents[1] / "gateway"))
from gateway_process import RunningGateway, running_gateway

EXAMPLE = (Path(__file__).parents[1] / "examples" / "geometry.py").read_text(encoding="utf-8")
_NAME = re.compile(r"q(\d+)x(\d+)")


@dataclass
class Load:
    """What came of it.

    Attributes:
        n_clients: that asked at the same time, each one request after the other.
        n_together: requests that a model worked on at a time.
        n_replicas: models in Ray Serve; 0: one, in the gateway's process.
        n_answered: requests that were answered, in `seconds`.
        n_shed: requests that were turned away.
        n_own: answers that name what their own prompt names.
        n_mixed_up: answers that name what another prompt names.
        cpu_s: processor time of the gateway's process, its model's included unless that is elsewhere.
        waits_s: of the answered ones.
    """

    n_clients: int
    n_together: int
    n_replicas: int = 0
    seconds: float = 0.0
    n_answered: int = 0
    n_shed: int = 0
    n_own: int = 0
    n_mixed_up: int = 0
    cpu_s: float = 0.0
    waits_s: list[float] = field(default_factory=list, repr=False)

    def summary(self) -> dict[str, float]:
        """The figures."""
        waits = sorted(self.waits_s) or [0.0]
        figures = asdict(self)
        del figures["waits_s"]
        return {
            **figures,
            "cpu_ms_per_answer": round(1e3 * self.cpu_s / max(1, self.n_answered)),
            "requests_per_second": round(self.n_answered / self.seconds, 2),
            "p50_ms": round(1e3 * waits[len(waits) // 2]),
            "p99_ms": round(1e3 * waits[min(len(waits) - 1, int(0.99 * len(waits)))]),
        }


def question(client: int, number: int, n_lines: int | None = None) -> dict[str, object]:
    """A client's next request; the cursor stands where one of its own names is wanted, behind so many lines."""
    name, document = f"q{client}x{number}", "".join(EXAMPLE.splitlines(keepends=True)[:n_lines])
    typed = f"\n\ndef area(width_{name}, height_{name}):\n    return width_{name} * "
    return {"prompt": f"# {client}\n{document}{typed}", "suffix": f"\n\n\nprint(area({number}, 2))\n", "max_tokens": 64}


async def ask(client: int, http: httpx.AsyncClient, until_s: float, load: Load, n_lines: int | None) -> None:
    """One client: a request after the other; who is turned away comes again when told to, but not after the end."""
    number = 0
    while time.monotonic() < until_s:
        number += 1
        began_s = time.monotonic()
        response = await http.post("/v1/completions", json=question(client, number, n_lines))
        if response.status_code == 429:
            load.n_shed += 1
            await asyncio.sleep(min(float(response.headers["retry-after"]), max(0.0, until_s - time.monotonic())))
            continue
        response.raise_for_status()
        load.waits_s.append(time.monotonic() - began_s)
        load.n_answered += 1
        named = _NAME.findall(response.json()["choices"][0]["text"])
        load.n_own += (str(client), str(number)) in named
        load.n_mixed_up += any(one != (str(client), str(number)) for one in named)


async def run_load(
    gateway: RunningGateway, n_clients: int, way: tuple[int, int], seconds: float, n_lines: int | None
) -> Load:
    """All clients for some seconds, and what was under way then to its end."""
    load, began_s, began_cpu_s = Load(n_clients, *way), time.monotonic(), cpu_s(gateway)
    # numbers differ between runs: no answer is known from the run before
    first = 1000 * n_clients
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=gateway.url, timeout=120, trust_env=False, limits=limits) as http:
        await asyncio.gather(*(ask(first + n, http, began_s + seconds, load, n_lines) for n in range(n_clients)))
    load.seconds, load.cpu_s = round(time.monotonic() - began_s, 2), round(cpu_s(gateway) - began_cpu_s, 2)
    return load


def cpu_s(gateway: RunningGateway) -> float:
    """Processor time that a gateway has used; where other programs compute too, it tells more than the clock."""
    fields = Path(f"/proc/{gateway.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table, and a line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 4, 16, 64])
    parser.add_argument("--together", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--ray", type=int, help="once more with so many replicas, each with the last of --together")
    parser.add_argument("--seconds", type=float, default=12)
    parser.add_argument("--lines", type=int, help="of the document before the cursor (default: all of it)")
    parser.add_argument("--model", default="")
    options = parser.parse_args(arguments)
    found: list[dict[str, float]] = []
    ways = [(n_together, 0) for n_together in options.together]
    if options.ray:
        ways.append((options.together[-1], options.ray))
    with ExitStack() as stack:
        gateways: list[RunningGateway] = []
        for n_together, n_replicas in ways:
            arguments = ["--together", str(n_together), "--model", options.model]
            arguments += ["--ray", str(n_replicas)] if n_replicas else []
            gateways.append(stack.enter_context(running_gateway(*arguments)))
            asyncio.run(
                run_load(gateways[-1], 1, (n_together, n_replicas), 2, options.lines)
            )  # the first requests are slower
        for n_clients in options.clients:
            # in turn, so that what else the machine does falls upon all ways alike
            for way, gateway in zip(ways, gateways, strict=True):
                load = asyncio.run(run_load(gateway, n_clients, way, options.seconds, options.lines)).summary()
                found.append(load)
                print("  ".join(f"{key} {value}" for key, value in load.items()), flush=True)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
