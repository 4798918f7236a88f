"""A context encoded ahead of the question."""

from __future__ import annotations

import torch

from midspan_model.context_encoding import Cost, encode_context
from midspan_model.denoising.loop import StopSignal
from midspan_model.infilling import Infiller
from midspan_model.questions import Question


@torch.inference_mode()
def prefill(infiller: Infiller, question: Question, stop: StopSignal, cost: Cost) -> bool:
    """Encode what this question would have to encode first.

    Asks `stop` before each chunk of `prefill_chunk` tokens; what was encoded until then stays.

    Returns:
        whether all is encoded.
    """
    canvas, chunk = infiller.canvas(question), infiller.config.prefill_chunk
    known_ids = canvas.prefix_ids[:-1]  # the last one is the first block's slot 0
    with infiller.trunk.taking_part(), infiller.contexts.lend(canvas.prefix_ids) as cache:
        return encode_context(infiller.trunk, cache, known_ids, canvas.suffix_ids, chunk, stop, cost)
