"""The trunk typing from left to right: blind to the suffix, one token a forward, healed like a draft."""

from __future__ import annotations

from dataclasses import dataclass, field

from midspan_model.architecture import Transformer
from midspan_model.canvas import Canvas
from midspan_model.denoising.constraints import Constraints
from midspan_model.denoising.loop import StopSignal
from midspan_model.kv_cache import ContextCache, common_length

MAX_LINE_TOKENS = 40


@dataclass
class Typed:
    """What was typed.

    Attributes:
        token_ids: the first ones reproduce what is healed; a line break that ends it is not among them.
        confidences: their probabilities.
        confidence: product of these.
        n_forwards: of the trunk.
        ended: whether it came to its end: the end token or the last line break wanted.
    """

    token_ids: list[int] = field(default_factory=list[int])
    confidences: list[float] = field(default_factory=list[float])
    confidence: float = 1.0
    n_forwards: int = 0
    ended: bool = False


def type_lines(
    trunk: Transformer,
    constraints: Constraints,
    canvas: Canvas,
    cache: ContextCache,
    stop: StopSignal,
    *,
    n_lines: int = 1,
    max_tokens: int = MAX_LINE_TOKENS,
    floor: float = 0.0,
) -> Typed:
    """Type greedily, until so many lines end, or it is no more confident than `floor`, or `stop` says so.

    `cache` keeps what it has in common with the prefix, and what is typed.
    """
    prefix_ids = list(canvas.prefix_ids)
    cache.trim(min(common_length(cache.prefix_ids, prefix_ids), len(prefix_ids) - 1))
    hidden_TC = trunk.encode_prefix(prefix_ids[len(cache.prefix_ids) :], cache)
    typed, heal, n_breaks = Typed(), canvas.healed, 0
    while typed.confidence > floor and typed.n_forwards < max_tokens and not (stop.cancelled() or stop.expired()):
        logits_MV = trunk.logits(hidden_TC[-1:])
        typed.n_forwards += 1
        constraints.apply(logits_MV, [0], {}, heal)
        if logits_MV.isneginf().all():
            break
        best_M, token_M = logits_MV.softmax(-1).max(-1)
        token_id = int(token_M)
        n_breaks += constraints.line_breaks(token_id, heal)
        if token_id == constraints.end_id or n_breaks >= n_lines:
            typed.ended = True
            break
        typed.token_ids.append(token_id)
        typed.confidences.append(float(best_M))
        typed.confidence *= typed.confidences[-1]
        heal = constraints.after(token_id, heal)
        if len(cache.prefix_ids) >= cache.max_prefix:
            break
        hidden_TC = trunk.encode_prefix([token_id], cache)
    return typed
