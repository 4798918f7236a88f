"""Keys and values of a canvas, and who sees whom.

Shapes: B canvases, H query heads, K key/value heads, T tokens of a call, S places of the canvas, D width of a head.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn


@dataclass
class Sheet:
    """What one forward writes and sees.

    Attributes:
        seen_TS: whether a token sees a place; (B, 1, T or 1, S) where canvases differ; None: all see all.
        kept: where keys and values stay from one call to the next; None: nothing is kept, and T = S.
        places: where this call's tokens stand in `kept`.
        end: so many places are seen of `kept`.
    """

    seen_TS: Tensor | None = None
    kept: Kept | None = None
    places: slice | Tensor = field(default_factory=lambda: slice(0, 0))
    end: int = 0

    def put(self, layer: int, key_BKTD: Tensor, value_BKTD: Tensor) -> tuple[Tensor, Tensor]:
        """Keep a layer's keys and values; all that the call may see (B, K, S, D)."""
        if self.kept is None:
            return key_BKTD, value_BKTD
        keys, values = self.kept.of(layer, key_BKTD)
        keys[:, :, self.places], values[:, :, self.places] = key_BKTD, value_BKTD
        return keys[:, :, : self.end], values[:, :, : self.end]


class Kept:
    """Buffers of keys and values, layer by layer, made when first written to.

    Args:
        n_places: room of each.
    """

    def __init__(self, n_places: int) -> None:
        self.n_places = n_places
        self._layers: dict[int, tuple[Tensor, Tensor]] = {}

    @property
    def nbytes(self) -> int:
        """Memory of the buffers."""
        return sum(keys.nbytes + values.nbytes for keys, values in self._layers.values())

    def of(self, layer: int, like_BKTD: Tensor) -> tuple[Tensor, Tensor]:
        """A layer's buffers (B, K, n_places, D)."""
        if layer not in self._layers:
            batch, heads, _, dim = like_BKTD.shape
            self._layers[layer] = tuple(like_BKTD.new_zeros(batch, heads, self.n_places, dim) for _ in "kv")  # pyright: ignore[reportArgumentType]
        return self._layers[layer]


def attend(
    module: nn.Module,
    query_BHTD: Tensor,
    key_BKTD: Tensor,
    value_BKTD: Tensor,
    attention_mask: Tensor | None,
    *,
    sheet: Sheet,
    scaling: float | None = None,
    **_: object,
) -> tuple[Tensor, None]:
    """Attention (B, T, H, D) over what the sheet shows, as transformers calls it (`AttentionInterface`)."""
    del attention_mask
    layer = module.layer_idx
    assert isinstance(layer, int)
    keys, values = sheet.put(layer, key_BKTD, value_BKTD)
    grouped = query_BHTD.shape[1] != keys.shape[1]
    found = F.scaled_dot_product_attention(
        query_BHTD, keys, values, attn_mask=sheet.seen_TS, scale=scaling, enable_gqa=grouped
    )
    return found.transpose(1, 2).contiguous(), None


def block_causal(first: int, n_tokens: int, end: int, block: int, device: torch.device) -> Tensor | None:
    """Who sees whom where attention is causal between blocks and free inside them: seen_TS, or None if all see all.

    Args:
        first: place of the first of `n_tokens` tokens.
        n_tokens: of the call.
        end: places seen at most.
        block: tokens of a block; blocks are counted from place 0.
        device: of the result.
    """
    if (first // block + 1) * block >= end:  # all is in the first token's block or before it
        return None
    block_T = torch.arange(first, first + n_tokens, device=device) // block
    block_S = torch.arange(end, device=device) // block
    return block_T[:, None] >= block_S
