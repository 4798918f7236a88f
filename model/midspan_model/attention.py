"""Attention over a canvas held in a `ContextCache`, and rotary positions.

Shapes: T tokens of one run, S places attended to, H key/value heads, G query heads per key/value head, X = G * T
queries, D width of a head.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from midspan_model.kv_cache import ContextCache


@dataclass(frozen=True)
class Run:
    """Tokens of one canvas that go through all layers.

    Attributes:
        ids: the tokens.
        cache: of their canvas.
        start: the place of the first of them.
        visible: the first place they attend to.
        rope: cosines and sines of their positions, each (T, D).
        bias_XS: what is added to the scores; None: they see all there is.
    """

    ids: list[int]
    cache: ContextCache
    start: int
    visible: int
    rope: tuple[Tensor, Tensor]
    bias_XS: Tensor | None

    def attend(
        self,
        q_HXD: Tensor,
        k_HTD: Tensor,
        v_HTD: Tensor,
        k_HSD: Tensor,
        v_HSD: Tensor,
    ) -> Tensor:
        """Attention (H, X, D) of one layer, whose new keys and values are put into the cache's."""
        k_HSD[:, self.start - self.visible :] = k_HTD
        v_HSD[:, self.start - self.visible :] = v_HTD
        return attend(q_HXD, k_HSD, v_HSD, self.bias_XS)


def attend(q_HXD: Tensor, k_HSD: Tensor, v_HSD: Tensor, bias_XS: Tensor | None) -> Tensor:
    """Attention (H, X, D) of X = G * T queries."""
    bias = None if bias_XS is None else bias_XS[None, None]
    return F.scaled_dot_product_attention(q_HXD[None], k_HSD[None], v_HSD[None], attn_mask=bias)[0]


def attend_each(
    runs: Sequence[Run],
    places: Sequence[tuple[Tensor, Tensor]],
    counts: list[int],
    q_HXD: Tensor,
    k_HTD: Tensor,
    v_HTD: Tensor,
) -> Tensor:
    """Attention (H, X, D) of runs that were projected together; places: each one's keys and values (H, S, D)."""
    n_kv, n_tokens, dim = k_HTD.shape
    q_HGTD = q_HXD.view(n_kv, -1, n_tokens, dim)
    parts = zip(q_HGTD.split(counts, 2), k_HTD.split(counts, 1), v_HTD.split(counts, 1), strict=True)
    attended = [
        run.attend(q.reshape(n_kv, -1, dim), k, v, *kept).view(n_kv, -1, len(run.ids), dim)
        for run, kept, (q, k, v) in zip(runs, places, parts, strict=True)
    ]
    return torch.cat(attended, 2).reshape(n_kv, -1, dim)


def joined(ropes: Sequence[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """The positions of several runs, one behind the other."""
    cosines, sines = zip(*ropes, strict=True)
    return torch.cat(cosines), torch.cat(sines)


def rope_table(position: int, n: int, dim: int, theta: float, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Cosines and sines (n, dim) of the rotary embedding from `position` on (Su et al. 2021, halves layout).

    The first half of the sines is negated, as `rotate` wants it.
    """
    inverse = theta ** (-torch.arange(0, dim, 2, dtype=torch.float32) / dim)
    angles = torch.arange(position, position + n, dtype=torch.float32)[:, None] * inverse
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([cos, cos], -1).to(dtype), torch.cat([-sin, sin], -1).to(dtype)


def rotate(x: Tensor, rope: tuple[Tensor, Tensor]) -> Tensor:
    """Rotary embedding of x (..., T, D)."""
    cos, sin = rope
    return torch.addcmul(x * cos, x.roll(x.shape[-1] // 2, -1), sin)
