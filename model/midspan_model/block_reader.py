"""The denoiser as a reader: what it says follows each token of a way to go on, read once and then known.

Shapes: T tokens, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from midspan_model.architecture import Transformer
from midspan_model.canvas import Canvas
from midspan_model.context_encoding import Cost
from midspan_model.kv_cache import ContextCache, common_length
from midspan_model.readings import Path
from midspan_model.token_tree import TokenTree


class BlockReader:
    """For one question, whose context is encoded.

    Args:
        denoiser: reads.
        cache: of the context; knows what was read behind it before.
        canvas: of the question.
        cost: counts the forwards, and what needed none.
    """

    def __init__(self, denoiser: Transformer, cache: ContextCache, canvas: Canvas, cost: Cost) -> None:
        self._denoiser, self._cache, self._cost = denoiser, cache, cost
        self._known_id = canvas.prefix_ids[-1]
        self._tree: TokenTree | None = None
        cache.readings.begin(canvas.prefix_ids, canvas.suffix_ids)

    def known(self, path: Sequence[int]) -> Tensor | None:
        """Logits (1, V) of what follows a path, the known token first, if they are known; they are the caller's."""
        if not self._cache.readings.knows(tuple(path)):
            return None
        self._cost.n_spared += 1
        return self._cache.readings.rows([tuple(path)])

    def read(self, path: Sequence[int], n_new: int) -> Tensor:
        """Logits (n_new, V) of the last tokens of a path, the known token first; they are the caller's."""
        readings, ids = self._cache.readings, list(path)
        wanted = _paths(ids, len(ids) - n_new)
        unknown = next((len(one) for one in wanted if not readings.knows(one)), None)
        if unknown is None:
            self._cost.n_spared += 1
            return readings.rows(wanted)
        start = min(common_length(readings.written, ids), unknown - 1)
        hidden_TC = self._denoiser.forward_block(ids[start:], self._cache, n_kept=start, causal=True)
        self._take(_paths(ids, start), hidden_TC)
        readings.written, self._tree = ids, None
        found = readings.rows(wanted)
        readings.shrink()
        return found

    def read_ways(self, ways: Sequence[Sequence[int]]) -> list[Tensor]:
        """For each way the logits of the known token and of all of the way; they are the caller's."""
        readings, wanted = self._cache.readings, [_paths([self._known_id, *way]) for way in ways]
        new = [way for way, paths in zip(ways, wanted, strict=True) if not all(map(readings.knows, paths))]
        if new:
            self._tree = tree = TokenTree.of(self._known_id, new)
            hidden_TC = self._denoiser.forward_tree(tree, self._cache)
            self._take([tree.path(node) for node in range(len(tree.ids))], hidden_TC)
            readings.written = [self._known_id, *new[0]]
        else:
            self._cost.n_spared += 1
        found = [readings.rows(paths) for paths in wanted]
        readings.shrink()
        return found

    def keep(self, way: Sequence[int]) -> None:
        """Reading goes on behind this one: if it has just been read among others, its keys and values stay."""
        tree, readings = self._tree, self._cache.readings
        nodes = [] if tree is None else _nodes(tree, way)
        if nodes:
            first = self._cache.prefix_end
            self._cache.gather([first + node for node in nodes], first + 1)
            readings.written = [self._known_id, *way[: len(nodes)]]
        self._tree = None

    def _take(self, paths: Sequence[Path], hidden_TC: Tensor) -> None:
        self._cost.n_forwards += 1
        for path, logits_V in zip(paths, self._denoiser.logits(hidden_TC), strict=True):
            self._cache.readings.add(path, logits_V)


def _paths(ids: Sequence[int], first: int = 0) -> list[Path]:
    """A path's beginnings that end with its tokens from `first` on."""
    return [tuple(ids[: end + 1]) for end in range(first, len(ids))]


def _nodes(tree: TokenTree, way: Sequence[int]) -> list[int]:
    """The nodes of a way, as far as it is in the tree."""
    found = max((nodes for nodes in tree.ways), key=lambda nodes: common_length([tree.ids[n] for n in nodes], way))
    return found[: common_length([tree.ids[node] for node in found], way)]
