"""How long a forward takes here, packed linears beside plain ones: `python -m midspan_model.benchmark`.

Both are held at once and take turns, so that what else the machine does meets both. Times are of the thread's
processor time, medians; a run on one thread that is alone on its processor has the same on the clock.

`python -m midspan_model.benchmark families` measures bigger checkpoints instead (`families/benchmark.py`).
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable

import torch

from midspan_model.config import DenoiseConfig
from midspan_model.embedded import ADAPTER, fetch_trunk
from midspan_model.infilling import Infiller
from midspan_model.kv_cache import ContextCache
from midspan_model.linears import best_packing
from midspan_model.machine import best_dtype

N_CONTEXT, N_SUFFIX, N_PREFILL, N_ROUNDS = 600, 48, 384, 9
SLOTS = (1, 16, 32, 64)


def time_forwards(infillers: dict[str, Infiller]) -> dict[str, dict[str, float]]:
    """Milliseconds by infiller and work: `typed` (one token), `N slots` (logits of all), `prefill`."""
    times: dict[str, dict[str, list[float]]] = {name: {} for name in infillers}
    for _ in range(N_ROUNDS):
        for name, infiller in infillers.items():
            for work, call in _works(infiller).items():
                began_s = time.process_time()
                call()
                times[name].setdefault(work, []).append(1e3 * (time.process_time() - began_s))
    return {
        name: {work: round(statistics.median(taken[1:]), 1) for work, taken in by_work.items()}
        for name, by_work in times.items()
    }


def _works(infiller: Infiller) -> dict[str, Callable[[], object]]:
    config, denoiser = infiller.trunk.config, infiller.denoiser
    ids = [config.n_special + 7 * place % 4096 for place in range(N_CONTEXT)]
    cache = ContextCache(config, N_CONTEXT + max(SLOTS), infiller.trunk.dtype)
    cache.keys_NHSD.normal_()
    cache.suffix_ids, cache.prefix_ids = ids[:N_SUFFIX], ids[N_SUFFIX:]
    empty = ContextCache(config, N_PREFILL, infiller.trunk.dtype)

    def forward(n_slots: int) -> Callable[[], object]:
        block = ids[:n_slots]
        return lambda: denoiser.logits(denoiser.forward_block(block, cache, causal=n_slots == 1))

    works = {"typed" if n == 1 else f"{n} slots": forward(n) for n in SLOTS}
    return {**works, f"prefill of {N_PREFILL}": lambda: infiller.trunk.encode_prefix(ids[:N_PREFILL], empty)}


def peak_megabytes() -> float | None:
    """Most memory that this process has held; None where the system does not tell."""
    if sys.platform == "win32":
        return None
    import resource  # noqa: PLC0415

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10))


@torch.inference_mode()
def main() -> None:
    """Measure, print a table and one JSON line."""
    from midspan_model.checkpoints import load_infiller  # noqa: PLC0415  (the time of importing torch is not of loading)

    folder = fetch_trunk(lambda *_: None)
    torch.set_num_threads(1)
    began_s = time.perf_counter()
    packed = load_infiller(folder, DenoiseConfig(), adapter=ADAPTER)
    load_s, peak = round(time.perf_counter() - began_s, 2), peak_megabytes()
    infillers = {"packed": packed}
    for dtype in {best_dtype(), torch.float32}:
        infillers[f"plain {dtype}".replace("torch.", "")] = load_infiller(
            folder, DenoiseConfig(), adapter=ADAPTER, dtype=dtype
        )
    milliseconds = time_forwards(infillers)
    print(f"{best_packing()}; loaded in {load_s} s, peak {peak} MB; {N_CONTEXT} places of context, ms on one thread")
    for work in milliseconds["packed"]:
        columns = "".join(f"{name}: {by_work[work]:8.1f}   " for name, by_work in milliseconds.items())
        print(f"{work:16}{columns}")
    print(json.dumps({"packing": str(best_packing()), "load_s": load_s, "peak_mb": peak, "ms": milliseconds}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["families"]:
        from midspan_model.families.benchmark import main as measure_families

        measure_families(sys.argv[2:])
    else:
        main()
