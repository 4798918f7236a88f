"""Unmasking policies: which masked slots to commit after a forward. Pure.

Shapes: M masked slots, from left to right.
"""

from __future__ import annotations

from torch import Tensor


def threshold(confidence_M: Tensor, threshold: float) -> Tensor:
    """Commit every slot whose confidence reaches the threshold, and the leftmost slot always.

    Fast-dLLM (arXiv 2505.22618, section 3.3) commits the best slot when none is sure. Taking the leftmost makes typing
    from left to right the floor: its logits have a known left neighbour.

    Returns:
        commit_M, bool, never all false.
    """
    commit_M = confidence_M >= threshold
    commit_M[0] = True
    return commit_M
