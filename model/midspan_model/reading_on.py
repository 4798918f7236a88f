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
from midspan_model.kv_cache import ContextCache, common_length
from midspan_model.tokenizer import Tokenizer

N_BEHIND = 4
"""Tokens of the text behind that are read; twelve told no more (tuning repositories)."""
_MOST_CHARACTERS = 128


def read_on(
    trunk: Transformer, cache: ContextCache, canvas: Canvas, texts: Sequence[str], suffix: str, tokenizer: Tokenizer
) -> list[float]:
    """Log probabilities of the first tokens of the text behind, after each middle, by one forward.

    Args:
        trunk: bare.
        cache: that holds the prefix; what stands behind it is overwritten.
        canvas: of the question.
        texts: middles.
        suffix: text behind.
        tokenizer: of the trunk.

    Returns:
        for as many of the first texts as there is room in the cache.
    """
    room, branches, starts = cache.room - 1, list[list[int]](), list[int]()
    for text in texts:
        ids, start = _tokens(canvas.healed.decode("utf-8", "ignore") + text, suffix, tokenizer)
        room -= len(ids)
        if room < 0:
            break
        branches.append(ids)
        starts.append(start)
    if not branches:
        return []
    hidden_TC = trunk.forward_branches(canvas.prefix_ids[-1], branches, cache, sees_suffix=False)
    rows, wanted, counts = list[int](), list[int](), list[int]()
    first = 1
    for ids, start in zip(branches, starts, strict=True):
        # a token is predicted by the one to its left; a branch's first one by the known token
        rows += [first + place - 1 if place else 0 for place in range(start, len(ids))]
        wanted += ids[start:]
        counts.append(len(ids) - start)
        first += len(ids)
    logits_TV = trunk.logits(hidden_TC[rows])
    found = logits_TV.log_softmax(-1)[torch.arange(len(rows)), torch.tensor(wanted, dtype=torch.long)]
    return [float(part.sum()) for part in found.split(counts)]


def _tokens(text: str, suffix: str, tokenizer: Tokenizer) -> tuple[list[int], int]:
    """Tokens of a middle and of the first of the text behind, and where these begin.

    Both are tokenised as one text: a middle's last characters may share a token with the text behind.
    """
    ids = tokenizer.encode(text + suffix[:_MOST_CHARACTERS])
    start = common_length(tokenizer.encode(text), ids)
    return ids[: start + N_BEHIND], start
