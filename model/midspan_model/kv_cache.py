"""Keys and values of the context, kept from keystroke to keystroke.

Shapes: S places of the buffer, H key/value heads, D width of a head, N layers.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from midspan_model.config import ModelConfig
from midspan_model.readings import Readings


class ContextCache:
    """One buffer for one canvas: the suffix right-aligned in the first `suffix_room` places, then the prefix, then
    room for a block. Suffix, prefix and block are contiguous, so a block attends to one slice, without copies.

    Prefix and suffix do not see each other, so each part's keys and values are exact whatever the other is.
    """

    def __init__(self, config: ModelConfig, max_prefix: int, dtype: torch.dtype) -> None:
        self.suffix_room = config.suffix_room
        self.max_prefix = max_prefix
        places = config.suffix_room + max_prefix + config.block_slots
        shape = (config.n_layers, config.n_kv_heads, places, config.head_dim)
        self.keys_NHSD = torch.zeros(shape, dtype=dtype)
        self.values_NHSD = torch.zeros(shape, dtype=dtype)
        self.prefix_ids: list[int] = []
        self.suffix_ids: list[int] = []
        self.readings = Readings()

    @property
    def nbytes(self) -> int:
        """Memory of the buffers."""
        return 2 * self.keys_NHSD.nbytes

    @property
    def suffix_start(self) -> int:
        """The suffix's first place."""
        return self.suffix_room - len(self.suffix_ids)

    @property
    def prefix_end(self) -> int:
        """The place behind the prefix, where a block begins."""
        return self.suffix_room + len(self.prefix_ids)

    @property
    def room(self) -> int:
        """Places behind the prefix."""
        return self.keys_NHSD.shape[2] - self.prefix_end

    def trim(self, n_prefix: int) -> None:
        """Forget the prefix from its `n_prefix`-th token on."""
        del self.prefix_ids[n_prefix:]

    def places(self, start: int, end: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Keys and values (H, end - start, D) of these places, layer by layer; views, to be read and written."""
        for layer in range(len(self.keys_NHSD)):
            yield self.keys_NHSD[layer, :, start:end], self.values_NHSD[layer, :, start:end]

    def gather(self, places: Sequence[int], target: int) -> None:
        """Copy the keys and values of some places to those from `target` on."""
        for buffer in (self.keys_NHSD, self.values_NHSD):
            buffer[:, :, target : target + len(places)] = buffer[:, :, list(places)]


def common_length(left: Sequence[int], right: Sequence[int]) -> int:
    """Length of the longest common prefix of two token lists."""
    for index, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return index
    return min(len(left), len(right))


class ContextPool:
    """The contexts of the last few documents; the one with the longest common token prefix is used again."""

    def __init__(self, config: ModelConfig, max_prefix: int, dtype: torch.dtype, size: int) -> None:
        self._new = lambda: ContextCache(config, max_prefix, dtype)
        self._size = size
        self._caches: list[ContextCache] = []
        self._lent: list[ContextCache] = []
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """Memory of all contexts kept."""
        return sum(cache.nbytes for cache in self._caches)

    def clear(self) -> None:
        """Forget all contexts."""
        self._caches.clear()

    def take(self, prefix_ids: Sequence[int]) -> ContextCache:
        """The cache for a prefix, most recently used from now on.

        A cache most of whose prefix would be thrown away belongs to another document: it is left alone while there is
        room, and the least recently used one goes when there is none.
        """
        free = [cache for cache in self._caches if not any(cache is lent for lent in self._lent)]
        best = max(free, key=lambda cache: common_length(cache.prefix_ids, prefix_ids), default=None)
        if best is None or 2 * common_length(best.prefix_ids, prefix_ids) < len(best.prefix_ids):
            best = free[0] if free and len(self._caches) >= self._size else self._new()
        self._caches = [*(cache for cache in self._caches if cache is not best), best]
        for other in free:
            if other is not best:  # what was read behind another context takes too much memory to be kept
                other.readings.forget()
        return best

    @contextmanager
    def lend(self, prefix_ids: Sequence[int]) -> Generator[ContextCache]:
        """The same for as long as the block lasts; meanwhile no other thread is given it."""
        with self._lock:
            cache = self.take(prefix_ids)
            self._lent.append(cache)
        try:
            yield cache
        finally:
            with self._lock:
                self._lent = [lent for lent in self._lent if lent is not cache]
