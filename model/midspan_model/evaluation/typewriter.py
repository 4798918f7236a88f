"""The control: the same trunk typing from left to right, seeing the prefix only, with the same healing."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from midspan_model.canvas import build_canvas
from midspan_model.context_encoding import Cost, encode_context
from midspan_model.infilling import Infiller
from midspan_model.spelling import spell
from midspan_model.typewriter import MAX_LINE_TOKENS, Typewriter

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
    """Greedy to the end of the line, one token a forward.

    Args:
        infiller: whose trunk types.
        prefix: text before the cursor.
        n_lines: lines to type; a caller may tell the true number, as the control cannot see what follows.

    Returns:
        the middle, its probability, and the number of forwards.
    """
    config = infiller.config
    canvas = build_canvas(prefix, "", infiller.tokenizer, infiller.trunk.config, config)
    cache = infiller.contexts.take(canvas.prefix_ids)
    known_ids = canvas.prefix_ids[:-1]
    encode_context(infiller.trunk, cache, known_ids, (), config.encode_chunk, NeverStop(), Cost())

    def forward(path: Sequence[int], n_new: int) -> torch.Tensor:
        ids, n_kept = list(path[-n_new:]), len(path) - n_new
        return infiller.trunk.logits(infiller.trunk.forward_block(ids, cache, n_kept=n_kept, causal=True))

    max_tokens = MAX_LINE_TOKENS if n_lines == 1 else _MAX_TOKENS
    typewriter = Typewriter(
        forward, infiller.constraints, canvas.prefix_ids[-1], canvas.healed, n_lines=n_lines, max_tokens=max_tokens
    )
    typed = typewriter.type(NeverStop())
    return spell(typed.token_ids, len(canvas.healed), infiller.tokenizer)[0], typed.confidence, typed.n_forwards
