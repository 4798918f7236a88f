"""Typing: each token is chosen by its left side and the text behind, as an autoregressive infiller does.

Drafts make it fast without changing it: where somebody guesses what follows, one forward checks all of the guess, and
what agrees is kept (speculative decoding: Leviathan et al., arXiv 2211.17192; greedy, so that nothing is sampled).

Shapes: T tokens of a forward, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from torch import Tensor

from midspan_model.denoising.constraints import Constraints
from midspan_model.denoising.loop import StopSignal

MAX_LINE_TOKENS = 40

TypeForward = Callable[[list[int], int], Tensor]
"""(tokens, tokens of earlier calls that stand before them) -> logits_TV in float32, row t for what follows token t."""

DraftSource = Callable[[list[int]], Sequence[int]]
"""Tokens typed so far -> a guess of those that follow; nothing if there is none that is worth a look."""


@dataclass
class Typed:
    """What was typed.

    Attributes:
        token_ids: the first ones reproduce what is healed; a line break that ends it is not among them.
        confidences: their probabilities.
        confidence: product of these, and of the end's.
        end_confidence: of the end; 1 before it has come.
        n_forwards: of the model.
        ended: whether it came to its end: the end token or the last line break wanted.
    """

    token_ids: list[int] = field(default_factory=list[int])
    confidences: list[float] = field(default_factory=list[float])
    confidence: float = 1.0
    end_confidence: float = 1.0
    n_forwards: int = 0
    ended: bool = False


def no_drafts(_token_ids: list[int]) -> Sequence[int]:
    """Nobody guesses: one token a forward."""
    return ()


def type_lines(
    forward: TypeForward,
    constraints: Constraints,
    known_id: int,
    heal: bytes,
    stop: StopSignal,
    *,
    n_lines: int = 1,
    max_tokens: int = MAX_LINE_TOKENS,
    floor: float = 0.0,
    drafts: DraftSource = no_drafts,
) -> Typed:
    """Type greedily, until so many lines end, or it is no more confident than `floor`, or `stop` says so.

    A middle that is empty but for healed bytes is none: it may not end before it has begun.

    Args:
        forward: of the model that types.
        constraints: what a token may be.
        known_id: the token in front of the middle.
        heal: bytes that the first tokens have to reproduce.
        stop: asked before each forward.
        n_lines: line breaks until the end.
        max_tokens: most tokens.
        floor: a middle less confident than this is not wanted.
        drafts: guesses what follows; changes the number of forwards only.
    """
    typed, n_known, n_breaks, is_bare = Typed(), 0, 0, True
    pending = [known_id]
    while typed.confidence > floor and not (stop.cancelled() or stop.expired()):
        draft = list(drafts(typed.token_ids))[: max_tokens - len(typed.token_ids) - 1]
        logits_TV = forward([*pending, *draft], n_known)[len(pending) - 1 :]
        typed.n_forwards += 1
        n_known += len(pending)
        for row, drafted in enumerate([*draft, None]):
            logits_MV = logits_TV[row : row + 1]
            constraints.apply(logits_MV, [0], {}, heal)
            if logits_MV.isneginf().all():  # nothing that is allowed heals the cut
                return typed
            probability_V = logits_MV[0].softmax(-1)
            at_end = probability_V[constraints.ends_at_once(n_lines - n_breaks)].sum() if not heal else None
            if is_bare and not heal:  # what the empty middle was worth stays in the sum
                probability_V[constraints.ends_at_once(n_lines - n_breaks)] = 0
            token_id = int(probability_V.argmax())
            confidence = float(probability_V[token_id])
            n_breaks += 0 if token_id == constraints.end_id else constraints.line_breaks(token_id, heal)
            if token_id == constraints.end_id or n_breaks >= n_lines:
                typed.end_confidence = confidence if at_end is None else float(at_end)
                typed.confidence *= typed.end_confidence
                typed.ended = True
                return typed
            is_bare = is_bare and not constraints.is_longer(token_id, heal)
            typed.token_ids.append(token_id)
            typed.confidences.append(confidence)
            typed.confidence *= confidence
            heal = constraints.after(token_id, heal)
            if len(typed.token_ids) >= max_tokens:
                return typed
            if token_id != drafted:
                pending = [token_id]
                break
            n_known += 1
    return typed
