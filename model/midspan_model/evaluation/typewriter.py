"""The control: the same trunk typing from left to right, seeing the prefix only, with the same healing."""

from __future__ import annotations

import torch

from midspan_model.canvas import build_canvas
from midspan_model.infilling import Infiller

_MAX_TOKENS = 40


@torch.inference_mode()
def type_line(infiller: Infiller, prefix: str) -> tuple[str, float, int]:
    """Greedy to the end of the line.

    Returns:
        the middle, the product of its tokens' probabilities, and the number of forwards.
    """
    trunk, tokenizer, constraints = infiller.trunk, infiller.tokenizer, infiller.constraints
    canvas = build_canvas(prefix, "", tokenizer, trunk.config, infiller.config)
    cache = infiller.contexts.take(canvas.prefix_ids)
    cache.trim(0)
    hidden_TC = trunk.encode_prefix(list(canvas.prefix_ids), cache)
    heal, typed, confidence = canvas.healed, b"", 1.0
    n_forwards = 0
    while n_forwards < _MAX_TOKENS:
        n_forwards += 1
        logits_MV = trunk.logits(hidden_TC[-1:])
        constraints.apply(logits_MV, [0], {}, heal)
        best_M, token_M = logits_MV.softmax(-1).max(-1)
        token_id = int(token_M)
        if token_id == constraints.end_id or constraints.line_breaks(token_id, heal):
            break
        confidence *= float(best_M)
        typed += tokenizer.token_bytes(token_id)
        heal = constraints.after(token_id, heal)
        hidden_TC = trunk.encode_prefix([token_id], cache)
    return typed[len(canvas.healed) :].decode("utf-8", "ignore"), confidence, n_forwards
