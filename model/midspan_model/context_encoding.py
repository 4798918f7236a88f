"""The trunk's part: bring a context cache up to date with as few tokens as possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from midspan_model.architecture import Transformer
from midspan_model.denoising.loop import StopSignal
from midspan_model.kv_cache import ContextCache, common_length


@dataclass
class Cost:
    """What an answer costs.

    Attributes:
        n_encoded: context tokens that were encoded.
        n_cached: those that the cache held already.
        n_forwards: of the denoiser.
        n_spared: times that no forward was needed, because its outcome was known.
    """

    n_encoded: int = 0
    n_cached: int = 0
    n_forwards: int = 0
    n_spared: int = 0

    @property
    def n_read(self) -> int:
        """Times that the model's word was had, with or without a forward."""
        return self.n_forwards + self.n_spared


def encode_context(
    trunk: Transformer,
    cache: ContextCache,
    prefix_ids: Sequence[int],
    suffix_ids: Sequence[int],
    chunk: int,
    stop: StopSignal,
    cost: Cost,
) -> bool:
    """Make `cache` hold these tokens; what it has in common with them is kept.

    Works in chunks and asks `stop` before each, and first of all; what was encoded until then stays.

    Returns:
        whether all is encoded; if not, `stop` said so.
    """
    if stop.cancelled() or stop.expired():
        return False
    if cache.suffix_ids == list(suffix_ids):
        cost.n_cached += len(suffix_ids)
    else:
        trunk.encode_suffix(list(suffix_ids), cache)
        cost.n_encoded += len(suffix_ids)
    kept = common_length(cache.prefix_ids, prefix_ids)
    cache.trim(kept)
    cost.n_cached += kept
    for start in range(kept, len(prefix_ids), chunk):
        if stop.cancelled() or stop.expired():
            return False
        ids = list(prefix_ids[start : start + chunk])
        trunk.encode_prefix(ids, cache)
        cost.n_encoded += len(ids)
    return True
