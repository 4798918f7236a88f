"""The control: the same trunk typing from left to right, seeing the prefix only, with the same healing."""

from __future__ import annotations

import torch

from midspan_model.canvas import build_canvas
from midspan_model.infilling import Infiller
from midspan_model.spelling import spell
from midspan_model.typewriter import MAX_LINE_TOKENS
from midspan_model.typewriter import type_lines as type_canvas

_MAX_TOKENS = 80


class NeverStop:
    """Nobody waits, so nobody stops it."""

    def cancelled(self) -> bool:
        """Never."""
        return False

    def expired(self) -> bool:
        """Never."""
        return False


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
    canvas = build_canvas(prefix, "", infiller.tokenizer, infiller.trunk.config, infiller.config)
    typed = type_canvas(
        infiller.trunk,
        infiller.constraints,
        canvas,
        infiller.contexts.take(canvas.prefix_ids),
        NeverStop(),
        n_lines=n_lines,
        max_tokens=MAX_LINE_TOKENS if n_lines == 1 else _MAX_TOKENS,
    )
    return spell(typed.token_ids, len(canvas.healed), infiller.tokenizer)[0], typed.confidence, typed.n_forwards
