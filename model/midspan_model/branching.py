"""Where else a middle could have gone: the likeliest beginnings that leave it, by one forward over its tokens.

What stands behind them is typed by whoever asks. A search for the best few that leaves the best one once, as a list
of alternatives wants variety in front (Huang and Chiang, "Better k-best parsing", 2005, lazily from one path).

Shapes: T tokens of a forward, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from midspan_model.denoising.constraints import Constraints


def likeliest_branches(
    logits_TV: Tensor, token_ids: Sequence[int], constraints: Constraints, heal: bytes, n_lines: int, most: int
) -> list[list[int]]:
    """Beginnings whose last token is another one than the path's, or the end; the likeliest, the longest of them first.

    Args:
        logits_TV: of the known token and all of the path; what is not allowed is shut off in place.
        token_ids: the path, with the end token if it has come to its end.
        constraints: what a token may be.
        heal: bytes that the first tokens have to reproduce.
        n_lines: line breaks until the end.
        most: beginnings.
    """
    found = list[tuple[float, list[int]]]()
    log, is_bare = 0.0, True
    ends = constraints.ends_at_once(n_lines)
    for place, token_id in enumerate(token_ids):
        row_MV = logits_TV[place : place + 1]
        constraints.apply(row_MV, [0], {}, heal)
        if row_MV.isneginf().all() or (place and not math.isfinite(log)):
            break
        probability_V = row_MV[0].softmax(-1)
        chosen, ended = float(probability_V[token_id]), float(probability_V[ends].sum())
        chosen = ended if token_id == constraints.end_id else chosen
        probability_V[ends] = 0
        if token_id != constraints.end_id:
            probability_V[token_id] = 0
            if not is_bare and not heal and ended > 0:
                found.append((log + math.log(ended), [*token_ids[:place], constraints.end_id]))
        other, other_id = probability_V.max(-1)
        if float(other) > 0:
            found.append((log + math.log(float(other)), [*token_ids[:place], int(other_id)]))
        if chosen <= 0:
            break
        log += math.log(chosen)
        is_bare = is_bare and not constraints.is_longer(token_id, heal)
        heal = constraints.after(token_id, heal)
    likeliest = sorted(found, key=lambda one: one[0], reverse=True)[:most]
    return sorted((ids for _, ids in likeliest), key=len, reverse=True)
