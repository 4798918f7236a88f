"""Infilling: from two texts to a middle."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch

from midspan_model.architecture import Transformer
from midspan_model.canvas import build_canvas
from midspan_model.config import DenoiseConfig
from midspan_model.context_encoding import EncodingCost, encode_context
from midspan_model.denoising import policies
from midspan_model.denoising.block import Block, Finish
from midspan_model.denoising.constraints import Constraints
from midspan_model.denoising.loop import StopSignal, denoise
from midspan_model.ending import find_end
from midspan_model.growth import Draft, Growth
from midspan_model.kv_cache import ContextCache, ContextPool
from midspan_model.tokenizer import Tokenizer
from midspan_model.typewriter import type_lines


@dataclass(frozen=True)
class Question:
    """What is asked: the texts on both sides, and how far the middle may go.

    Attributes:
        prefix: text before the cursor.
        suffix: text after it.
        max_lines: the middle ends at this many line breaks.
        min_indent: it ends before a line indented by fewer columns.
        floor: a middle less confident than this is not wanted, and may stop as soon as it is.
        draft: an earlier answer to the same question, to be mended.
    """

    prefix: str
    suffix: str
    max_lines: int = 1
    min_indent: int | None = None
    floor: float = 0.0
    draft: Draft | None = None


@dataclass(frozen=True)
class Middle:
    """What was filled in.

    Attributes:
        text: the middle.
        confidence: product of the slots' confidences; no probability of being right.
        token_ids: its tokens; the first ones may reproduce characters before the cursor.
        spans: for each token the code points of `text` it stands for.
        confidences: for each token the confidence it was committed with.
        finish: why it ends here.
        n_forwards: forwards of the denoiser, and of the trunk where it typed.
        cost: of the context.
        elapsed_ms: wall time.
    """

    text: str
    confidence: float
    token_ids: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]
    confidences: tuple[float, ...]
    finish: Finish
    n_forwards: int
    cost: EncodingCost
    elapsed_ms: float


OnDraft = Callable[[int, list[tuple[str | None, bool]]], None]
"""Called after each forward: how many so far, and each slot's text (None: masked) and whether it is fresh."""


class Infiller:
    """Fills middles with one model. Not thread-safe: it belongs to one thread.

    Args:
        trunk: encodes prefix and suffix.
        denoiser: denoises blocks.
        tokenizer: of both.
        config: budgets and threshold.
    """

    def __init__(
        self,
        trunk: Transformer,
        denoiser: Transformer,
        tokenizer: Tokenizer,
        config: DenoiseConfig | None = None,
    ) -> None:
        self.trunk = trunk
        self.denoiser = denoiser
        self.tokenizer = tokenizer
        self.config = config or DenoiseConfig()
        self.width = trunk.config.block_slots - 1
        self.constraints = Constraints(tokenizer, trunk.config)
        max_prefix = self.config.prefix_tokens + self.config.max_blocks * self.width
        self.contexts = ContextPool(trunk.config, max_prefix, trunk.dtype, self.config.cached_contexts)

    @torch.inference_mode()
    def infill(self, question: Question, stop: StopSignal, on_draft: OnDraft | None = None) -> Middle | None:
        """Fill the middle.

        Returns:
            the middle; None if cancelled, or if time was up before what precedes the cursor was reproduced.
        """
        began_s = time.perf_counter()
        canvas = build_canvas(question.prefix, question.suffix, self.tokenizer, self.trunk.config, self.config)
        growth = Growth(canvas, self.tokenizer, self.width)
        finish = self._grow(growth, question, stop, on_draft)
        if finish in {Finish.END, Finish.LINE, Finish.LENGTH, Finish.UNSURE} and self._may_type(question):
            finish = self._type(growth, question, finish, stop, on_draft)
        if finish is Finish.CANCELLED or growth.n_forwards == 0 or not growth.is_healed:
            return None
        text, spans = growth.spell()
        found = find_end(text, question.max_lines, question.min_indent)
        end = len(text) if found is None else found
        return Middle(
            text=text[:end],
            confidence=growth.confidence,
            token_ids=tuple(growth.token_ids),
            spans=tuple((min(a, end), min(b, end)) for a, b in spans),
            confidences=tuple(growth.confidences),
            finish=finish,
            n_forwards=growth.n_forwards,
            cost=growth.cost,
            elapsed_ms=1e3 * (time.perf_counter() - began_s),
        )

    def _grow(self, growth: Growth, question: Question, stop: StopSignal, on_draft: OnDraft | None) -> Finish:
        """Denoise block after block until the middle ends."""
        cache = self.contexts.take(growth.canvas.prefix_ids)
        draft = question.draft
        if draft is not None:
            growth.start_from(draft)
        policy = partial(policies.threshold, threshold=self.config.threshold)
        max_blocks = self.config.max_line_blocks if question.max_lines == 1 else self.config.max_blocks
        while len(growth.token_ids) < max_blocks * self.width:
            if not self._encode(growth, cache, stop):
                return Finish.CANCELLED if stop.cancelled() else Finish.DEADLINE
            block = growth.next_block(self.constraints, question.max_lines, question.floor, draft)
            draft = None
            on_step = None if on_draft is None else partial(_show, growth, on_draft)
            finish, n_forwards = denoise(partial(self._forward, cache), block, policy, stop, on_step)
            growth.n_forwards += n_forwards
            growth.take(block)
            if finish is not Finish.LENGTH:
                return finish
            if find_end(growth.spell()[0], question.max_lines, question.min_indent) is not None:
                return Finish.LINE
        return Finish.LENGTH

    def _may_type(self, question: Question) -> bool:
        """Whether the trunk, which does not see the suffix, can know where the middle ends."""
        at_line_end = question.suffix[:1] in {"", "\n", "\r"}
        return self.config.typing and at_line_end and question.max_lines == 1 and question.draft is None

    def _type(
        self, growth: Growth, question: Question, finish: Finish, stop: StopSignal, on_draft: OnDraft | None
    ) -> Finish:
        """Let the trunk type the line too, as long as it is surer than the draft; if it is to the end, take that.

        So the trunk's own typing is the floor, whatever the adapter has learnt.
        """
        canvas, floor = growth.canvas, max(growth.confidence, question.floor)
        cache = self.contexts.take(canvas.prefix_ids)
        typed = type_lines(self.trunk, self.constraints, canvas, cache, stop, floor=floor)
        growth.n_forwards += typed.n_forwards
        if stop.cancelled():
            return Finish.CANCELLED
        n_bytes = sum(len(self.tokenizer.token_bytes(token_id)) for token_id in typed.token_ids)
        if not typed.ended or typed.confidence <= floor or n_bytes <= len(canvas.healed):
            return finish
        growth.token_ids, growth.confidences, growth.end_confidence = typed.token_ids, typed.confidences, 1.0
        if on_draft is not None:
            text, spans = growth.spell()
            on_draft(growth.n_forwards, [(text[start:end], True) for start, end in spans])
        return Finish.LINE

    def _encode(self, growth: Growth, cache: ContextCache, stop: StopSignal) -> bool:
        """Bring the cache up to the token before the next block; False if stopped."""
        prefix_ids, suffix_ids = growth.known_ids[:-1], growth.canvas.suffix_ids
        return encode_context(self.trunk, cache, prefix_ids, suffix_ids, self.config.encode_chunk, stop, growth.cost)

    def _forward(self, cache: ContextCache, ids: list[int], slots: list[int]) -> torch.Tensor:
        """One denoiser forward; logits_MV only for the slots wanted, each predicted by its left neighbour."""
        hidden_TC = self.denoiser.forward_block(ids, cache)
        return self.denoiser.logits(hidden_TC[[slot - 1 for slot in slots]])


def _show(growth: Growth, on_draft: OnDraft, n_forwards: int, block: Block, fresh: frozenset[int]) -> None:
    on_draft(growth.n_forwards + n_forwards, growth.view(block, fresh))
