"""What this machine computes best with."""

from __future__ import annotations

import ctypes
import os
import sys

import torch


def has_bfloat16() -> bool:
    """Whether the processor multiplies bfloat16 in hardware (on AVX2 it is twice as slow as float32)."""
    asked = (getattr(torch.cpu, name, None) for name in ("_is_amx_tile_supported", "_is_avx512_bf16_supported"))
    return any(ask is not None and ask() for ask in asked)


def best_dtype() -> torch.dtype:
    """The number type to compute in with plain linears."""
    return torch.bfloat16 if has_bfloat16() else torch.float32


def best_threads() -> int:
    """Threads for the model: half of the processors, unless `OMP_NUM_THREADS` says otherwise.

    An editor's machine is busy, and torch's threads wait for each other: beside one busy process, two threads on two
    processors took eight times as long for a forward as one thread did, and alone they were no faster.
    """
    chosen = os.environ.get("OMP_NUM_THREADS", "")
    return torch.get_num_threads() if chosen else max(1, (os.cpu_count() or 2) // 2)


def give_back_memory() -> None:
    """Give back to the system what the C library keeps of freed memory; glibc does not by itself, from its heaps."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # other C libraries have none
        if trim is not None:
            trim(0)
