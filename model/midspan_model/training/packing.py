"""Rows of different lengths without their padding: linears see packed tokens, attention sees padded rows.

Shapes: R rows, T places of the longest row, F tokens of all rows together.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Packing:
    """Where each token lies.

    Attributes:
        real_RT: which places of the padded rows hold a token.
        flat_F: the place of each packed token in the flattened rows.
        packed_X: for each place of the flattened rows its packed token; some token or other where there is none.
    """

    real_RT: Tensor
    flat_F: Tensor
    packed_X: Tensor

    def pack(self, padded: Tensor) -> Tensor:
        """(R, T, ...) to (F, ...)."""
        return padded.flatten(0, 1).index_select(0, self.flat_F)

    def pad(self, packed: Tensor) -> Tensor:
        """(F, ...) to (R, T, ...)."""
        return packed.index_select(0, self.packed_X).view(*self.real_RT.shape, *packed.shape[1:])


def pack_rows(length_R: Tensor, n_places: int) -> Packing:
    """The packing of rows of these lengths."""
    real_RT = torch.arange(n_places, device=length_R.device) < length_R[:, None]
    flat = real_RT.flatten()
    return Packing(real_RT, flat.nonzero()[:, 0], (flat.cumsum(0) - 1).clamp(min=0))
