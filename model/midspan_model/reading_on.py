"""Reading on: how well the text behind the cursor follows each of several middles.

The denoiser sees that text, so it cannot be asked how likely it is; the trunk, which types from left to right, can. A
middle that lacks its closing bracket, or closes one too many, makes what follows unlikely (left-to-right reranking of
infills: Fried et al., InCoder, arXiv 2204.05999, section 2).

Shapes: T tokens of a forward, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from midspan_model.architecture import Transformer
from midspan_model.canvas import Canvas
from midspan_model.context_encoding import Cost
from midspan_model.kv_cache import ContextCache, common_length
from midspan_model.readings import Path
from midspan_model.token_tree import TokenTree
from midspan_model.tokenizer import Tokenizer

N_BEHIND = 4
"""Tokens of the text behind that are read; twelve told no more (tuning repositories)."""
_MOST_CHARACTERS = 128


def read_on(
    trunk: Transformer,
    cache: ContextCache,
    canvas: Canvas,
    texts: Sequence[str],
    suffix: str,
    tokenizer: Tokenizer,
    cost: Cost,
) -> list[float]:
    """Log probabilities of the first tokens of the text behind, after each middle, by one forward at most.

    Args:
        trunk: bare.
        cache: that holds the prefix; what stands behind it is overwritten.
        canvas: of the question.
        texts: middles.
        suffix: text behind.
        tokenizer: of the trunk.
        cost: counts the forward.

    Returns:
        for as many of the first texts as there is room in the cache.
    """
    known, room, asked = cache.readings.behind, cache.room - 1, list[tuple[int, Path]]()
    for text in texts:
        ids, start = _tokens(canvas.healed.decode("utf-8", "ignore") + text, suffix, tokenizer)
        room -= len(ids)
        if room < 0:
            break
        asked.append((start, tuple(ids)))
    new = [one for one in asked if one not in known]
    if new:
        known.update(zip(new, _read(trunk, cache, canvas.prefix_ids[-1], new), strict=True))
        cost.n_forwards += 1
    return [known[one] for one in asked]


def _read(trunk: Transformer, cache: ContextCache, known_id: int, asked: Sequence[tuple[int, Path]]) -> list[float]:
    """The log probabilities of each way's tokens from its start on, by one forward."""
    tree = TokenTree.of(known_id, [ids for _, ids in asked])
    hidden_TC = trunk.forward_tree(tree, cache, sees_suffix=False)
    nodes = [nodes[start:] for (start, _), nodes in zip(asked, tree.ways, strict=True)]
    rows = [tree.parents[node] for way in nodes for node in way]  # a token is predicted by its left neighbour
    wanted = [tree.ids[node] for way in nodes for node in way]
    logits_TV = trunk.logits(hidden_TC[rows])
    found = logits_TV.log_softmax(-1)[torch.arange(len(rows)), torch.tensor(wanted, dtype=torch.long)]
    return [float(part.sum()) for part in found.split([len(way) for way in nodes])]


def _tokens(text: str, suffix: str, tokenizer: Tokenizer) -> tuple[list[int], int]:
    """Tokens of a middle and of the first of the text behind, and where these begin.

    Both are tokenised as one text: a middle's last characters may share a token with the text behind.
    """
    ids = tokenizer.encode(text + suffix[:_MOST_CHARACTERS])
    start = common_length(tokenizer.encode(text), ids)
    return ids[: start + N_BEHIND], start
