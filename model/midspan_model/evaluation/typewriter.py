"""The control: the same trunk typing from left to right, seeing the prefix only, with the same healing."""

from __future__ import annotations

import torch

from midspan_model.canvas import build_canvas
from midspan_model.infilling import Infiller

_MAX_LINE_TOKENS = 40
_MAX_TOKENS = 80


@torch.inference_mode()
def type_lines(infiller: Infiller, prefix: str, n_lines: int = 1) -> tuple[str, float, int]:
    """Greedy to the end of the line.

    Args:
        infiller: whose trunk types.
        prefix: text before the cursor.
        n_lines: lines to type; a caller may tell the true number, as the control cannot see what follows.

    Returns:
        the middle, the product of its tokens' probabilities, and the number of forwards.
    """
    trunk, tokenizer, constraints = infiller.trunk, infiller.tokenizer, infiller.constraints
    canvas = build_canvas(prefix, "", tokenizer, trunk.config, infiller.config)
    cache = infiller.contexts.take(canvas.prefix_ids)
    cache.trim(0)
    hidden_TC = trunk.encode_prefix(list(canvas.prefix_ids), cache)
    heal, typed, confidence = canvas.healed, b"", 1.0
    n_forwards = n_breaks = 0
    while n_forwards < (_MAX_LINE_TOKENS if n_lines == 1 else _MAX_TOKENS):
        n_forwards += 1
        logits_MV = trunk.logits(hidden_TC[-1:])
        constraints.apply(logits_MV, [0], {}, heal)
        best_M, token_M = logits_MV.softmax(-1).max(-1)
        token_id = int(token_M)
        if token_id == constraints.end_id:
            break
        n_breaks += constraints.line_breaks(token_id, heal)
        if n_breaks >= n_lines:
            typed += tokenizer.token_bytes(token_id)
            break
        confidence *= float(best_M)
        typed += tokenizer.token_bytes(token_id)
        heal = constraints.after(token_id, heal)
        if len(cache.prefix_ids) >= cache.max_prefix:
            break
        hidden_TC = trunk.encode_prefix([token_id], cache)
    lines = typed[len(canvas.healed) :].decode("utf-8", "ignore").split("\n")
    return "\n".join(lines[:n_lines]), confidence, n_forwards
