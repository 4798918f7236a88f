"""Unmasking policies: which masked slots to commit after a forward, and which committed ones to mask again. Pure.

`choosing.py` makes of them what the loop asks. Shapes: M masked slots, from left to right; W slots that are written;
V vocabulary; H earlier forwards.
"""

from __future__ import annotations

import torch
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


def confident(confidence_M: Tensor, threshold: float) -> Tensor:
    """Commit every slot whose confidence reaches the threshold, else the best one (Fast-dLLM, arXiv 2505.22618).

    Returns:
        commit_M, bool, never all false.
    """
    return _or_best(confidence_M >= threshold, confidence_M)


def factor(confidence_M: Tensor, factor: float = 1.0) -> Tensor:
    """Commit the n surest slots for the largest n whose n-th is at least 1 - factor / (n + 1) sure; the best always.

    Fast-dLLM's bound for parallel decoding (arXiv 2505.22618, section 3.3; dInfer's `get_transfer_index_dynamic`).

    Returns:
        commit_M, bool, never all false.
    """
    ranked_M, order_M = confidence_M.sort(descending=True)
    bound_M = 1 - factor / (torch.arange(1, len(ranked_M) + 1, device=ranked_M.device) + 1)
    enough_M = (ranked_M >= bound_M).cummin(0).values  # up to the first that is not sure enough
    enough_M[0] = True
    return torch.zeros_like(enough_M).scatter_(0, order_M, enough_M)


def entropy_bounded(probability_MV: Tensor, bound: float) -> Tensor:
    """Commit the slots of least entropy as long as the sum of entropies without the largest stays within the bound.

    EB-sampler (arXiv 2505.24857): the sum bounds what deciding slots apart from one another can cost.

    Args:
        probability_MV: of the slots.
        bound: in nats.

    Returns:
        commit_M, bool, never all false.
    """
    entropy_M = -torch.special.xlogy(probability_MV, probability_MV).sum(-1)
    ranked_M, order_M = entropy_M.sort()
    enough_M = ranked_M.cumsum(0) - ranked_M <= bound  # sorted, so the largest is the last
    return torch.zeros_like(enough_M).scatter_(0, order_M, enough_M)


def margin(probability_MV: Tensor, threshold: float) -> Tensor:
    """Commit where the best token leads the second by the threshold, else the largest lead (Dream's `topk_margin`).

    Returns:
        commit_M, bool, never all false.
    """
    best_M2 = probability_MV.topk(2, -1).values
    lead_M = best_M2[:, 0] - best_M2[:, 1]
    return _or_best(lead_M >= threshold, lead_M)


def divergence(probability_MV: Tensor, earlier_MV: Tensor) -> Tensor:
    """Kullback-Leibler divergence of the slots' distributions from their earlier ones, in nats (M)."""
    log_ratio_MV = probability_MV.clamp(min=1e-12).log() - earlier_MV.clamp(min=1e-12).log()
    return (probability_MV * log_ratio_MV).sum(-1)


def klass(confidence_M: Tensor, divergence_MH: Tensor, threshold: float, bound: float) -> Tensor:
    """Commit what is sure and has not changed for H forwards, else the best (KLASS, arXiv 2511.05664).

    Args:
        confidence_M: of the slots.
        divergence_MH: from the forward before, over the last forwards; infinite where there was none.
        threshold: least confidence.
        bound: of the divergences, in nats.

    Returns:
        commit_M, bool, never all false.
    """
    stable_M = (divergence_MH < bound).all(-1)
    return _or_best((confidence_M > threshold) & stable_M, confidence_M)


def draft_wide(confidence_M: Tensor, threshold: float, share: float = 0.7, least: int = 5, most: int = 20) -> Tensor:
    """WINO's draft (arXiv 2507.18578): commit what is over a low threshold, at most a share of the masks; or the best.

    Args:
        confidence_M: of the slots.
        threshold: least confidence; the paper's are 0.6 to 0.8.
        share: of the masks that may be committed at once.
        least: so many may be in any case.
        most: so many at most.

    Returns:
        commit_M, bool, never all false.
    """
    n_most = min(max(int(share * len(confidence_M)), least), most)
    commit_M = _or_best(confidence_M > threshold, confidence_M)
    if int(commit_M.sum()) > n_most:
        commit_M = torch.zeros_like(commit_M)
        commit_M[confidence_M.topk(n_most).indices] = True
    return commit_M


def verify(blind_W: Tensor, threshold: float, most: int) -> Tensor:
    """WINO's verification: mask again what is unlikely to one who does not see it, the unlikeliest first.

    Args:
        blind_W: probability of each written token, predicted without seeing it.
        threshold: below it a token is masked again; the paper's is 0.9.
        most: so many at most; fewer than were committed last, so that it comes to an end.

    Returns:
        remask_W, bool.
    """
    remask_W = blind_W < threshold
    if int(remask_W.sum()) > most:
        remask_W = torch.zeros_like(remask_W)
        remask_W[blind_W.topk(max(0, most), largest=False).indices] = True
    return remask_W


def remask_rate(alpha_t: float, alpha_s: float, eta: float, *, rescale: bool = False) -> float:
    """ReMDM's chance that a written token is masked again on the way from time t to s (arXiv 2503.00307, section 4.1).

    Args:
        alpha_t: share of slots that are written at t.
        alpha_s: the same at s; larger.
        eta: the cap of the chance, or with `rescale` the part of the largest possible that is taken.
        rescale: which of the two.
    """
    largest = min(1.0, (1 - alpha_s) / alpha_t) if alpha_t > 0 else 1.0
    return eta * largest if rescale else min(eta, largest)


def remask_chances(confidence_W: Tensor, rate: float) -> Tensor:
    """ReMDM-conf: the chances of the written tokens, larger for those written with less confidence.

    The paper's softmax over all slots is scaled so that the mean chance is `rate`; none is over 1.

    Returns:
        chance_W, 0 to 1.
    """
    share_W = (-confidence_W).softmax(-1)
    return (rate * len(confidence_W) * share_W).clamp(max=1.0)


def _or_best(commit_M: Tensor, score_M: Tensor) -> Tensor:
    if not commit_M.any():
        commit_M[score_M.argmax()] = True
    return commit_M
