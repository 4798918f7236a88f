"""Guessing ahead: how a middle may go on, by somebody who can look it up, read in the next forward.

What is typed stays the same, token for token; where the guess is what would be typed, it takes fewer forwards. The
guess is asked for anew behind whatever was typed, so it helps where the middle as a whole stands nowhere (retrieval in
place of a draft model: He et al., REST, arXiv 2311.08252).
"""

from __future__ import annotations

from functools import partial

from midspan_model.growth import Growth
from midspan_model.questions import Ahead
from midspan_model.typewriter import Guess


def guesser(growth: Growth, ahead: Ahead | None, most: int) -> Guess | None:
    """For a typewriter whose tokens grow there; None where nobody can be asked."""
    return None if ahead is None or most == 0 else partial(guess_ahead, growth, ahead, most)


def guess_ahead(growth: Growth, ahead: Ahead, most: int) -> list[int]:
    """Tokens that may follow what has grown, `most` of them at most; none where nobody knows."""
    if not growth.is_healed:
        return []
    text = growth.spell()[0]
    more = ahead(text)
    if not more:
        return []
    healed = growth.canvas.healed.decode("utf-8", "ignore")
    token_ids, n_known = growth.tokenizer.encode(healed + text + more), len(growth.token_ids)
    if token_ids[:n_known] != growth.token_ids:  # what was typed is not how the tokenizer would have it
        token_ids, n_known = growth.tokenizer.encode(more), 0
    return token_ids[n_known:][:most]
