"""Several ways to go on from one token, as a tree: what they begin with in common is read once.

As in SpecInfer's tree verification (Miao et al., arXiv 2305.09781).

Shapes: T nodes, the root among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class TokenTree:
    """Tokens, each behind its parent; the first is the known token that all ways go on from.

    Attributes:
        ids: of all nodes; the first way's follow the root one by one.
        parents: each node's; the root's is -1.
        depths: tokens between the root and each node, itself counted; the root's is 0.
        ways: each way's nodes, the root left out.
    """

    ids: list[int]
    parents: list[int]
    depths: list[int]
    ways: list[list[int]]

    @classmethod
    def of(cls, known_id: int, ways: Sequence[Sequence[int]]) -> TokenTree:
        """The tree of some ways."""
        ids, parents, depths = [known_id], [-1], [0]
        children: dict[tuple[int, int], int] = {}
        paths = list[list[int]]()
        for way in ways:
            node, path = 0, list[int]()
            for token_id in way:
                child = children.setdefault((node, token_id), len(ids))
                if child == len(ids):
                    ids.append(token_id)
                    parents.append(node)
                    depths.append(depths[node] + 1)
                node = child
                path.append(node)
            paths.append(path)
        return cls(ids, parents, depths, paths)

    def seen(self) -> Tensor:
        """Whether a node (row) sees another (column): itself and those that it stands behind."""
        seen_TT = torch.eye(len(self.ids), dtype=torch.bool)
        for node, parent in enumerate(self.parents[1:], start=1):
            seen_TT[node] |= seen_TT[parent]
        return seen_TT

    def path(self, node: int) -> tuple[int, ...]:
        """The tokens from the root to a node."""
        ids = list[int]()
        while node >= 0:
            ids.append(self.ids[node])
            node = self.parents[node]
        return tuple(reversed(ids))
