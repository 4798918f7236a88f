"""Infilling: from two texts to a middle."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch

from midspan_model.architecture import Transformer
from midspan_model.calibration import Calibrator, Features, features_of_middle, features_of_place
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
from midspan_model.spelling import spell
from midspan_model.tokenizer import Tokenizer
from midspan_model.typewriter import MAX_LINE_TOKENS, LookAhead, Typewriter


@dataclass(frozen=True)
class Question:
    """What is asked: the texts on both sides, and how far the middle may go.

    Attributes:
        prefix: text before the cursor.
        suffix: text after it.
        max_lines: the middle ends at this many line breaks.
        min_indent: it ends before a line indented by fewer columns.
        least: a middle less likely to be right than this is not wanted, and may stop as soon as it is.
        language_id: as an editor names it, or "".
        draft: an earlier answer to the same question, to be mended.
    """

    prefix: str
    suffix: str
    max_lines: int = 1
    min_indent: int | None = None
    least: float = 0.0
    language_id: str = ""
    draft: Draft | None = None


@dataclass(frozen=True)
class Middle:
    """What was filled in.

    Attributes:
        text: the middle.
        confidence: product of the slots' confidences and the end's; no probability of being right.
        probability: of being exactly right, as the calibrator has it; without one the confidence.
        features: what the calibrator goes by.
        token_ids: its tokens; the first ones may reproduce characters before the cursor.
        spans: for each token the code points of `text` it stands for.
        confidences: for each token the confidence it was committed with.
        finish: why it ends here.
        n_forwards: of the denoiser.
        cost: of the context.
        elapsed_ms: wall time.
    """

    text: str
    confidence: float
    probability: float
    features: Features
    token_ids: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]
    confidences: tuple[float, ...]
    finish: Finish
    n_forwards: int
    cost: EncodingCost
    elapsed_ms: float


OnDraft = Callable[[int, list[tuple[str | None, bool]]], None]
"""Called after each forward: how many so far, and each slot's text (None: masked) and whether it is fresh."""


@dataclass(frozen=True)
class _Task:
    """One question while it is answered: what goes through all stages. No confidence below `floor` is wanted."""

    question: Question
    stop: StopSignal
    on_draft: OnDraft | None
    cache: ContextCache
    place: Features
    floor: float


class Infiller:
    """Fills middles with one model. Not thread-safe: it belongs to one thread.

    Args:
        trunk: encodes prefix and suffix.
        denoiser: denoises blocks.
        tokenizer: of both.
        config: budgets and threshold.
        calibrator: of the denoiser's confidences.
    """

    def __init__(
        self,
        trunk: Transformer,
        denoiser: Transformer,
        tokenizer: Tokenizer,
        config: DenoiseConfig | None = None,
        calibrator: Calibrator | None = None,
    ) -> None:
        self.trunk = trunk
        self.denoiser = denoiser
        self.tokenizer = tokenizer
        self.config = config or DenoiseConfig()
        self.calibrator = calibrator
        self.width = trunk.config.block_slots - 1
        self.constraints = Constraints(tokenizer, trunk.config)
        max_prefix = self.config.prefix_tokens + self.config.max_blocks * self.width
        self.contexts = ContextPool(trunk.config, max_prefix, trunk.dtype, self.config.cached_contexts)

    @torch.inference_mode()
    def infill(self, question: Question, stop: StopSignal, on_draft: OnDraft | None = None) -> Middle | None:
        """Fill the middle: typed, and where that is not sure denoised too; the surer of both is taken.

        Returns:
            the middle; None if cancelled, or if time was up before what precedes the cursor was reproduced.
        """
        began_s = time.perf_counter()
        canvas = build_canvas(question.prefix, question.suffix, self.tokenizer, self.trunk.config, self.config)
        place = features_of_place(question.prefix, question.suffix, question.max_lines, question.language_id)
        least = question.least
        floor = self.calibrator.least_confidence(least, place) if self.calibrator else least
        task = _Task(question, stop, on_draft, self.contexts.take(canvas.prefix_ids), place, floor)
        growth, finish = Growth(canvas, self.tokenizer, self.width), None
        if self.config.typing and question.draft is None:
            finish = self._type(growth, task)
        if finish is None or (self.config.denoising and self._wants_more(growth, task, finish)):
            other = Growth(canvas, self.tokenizer, self.width, n_forwards=growth.n_forwards, cost=growth.cost)
            denoised = self._grow(other, task)
            if denoised in {Finish.END, Finish.LINE, Finish.LENGTH} and self.config.typing:
                self._score(other, task)
            if finish is None or denoised is Finish.CANCELLED or other.confidence > growth.confidence:
                growth, finish = other, denoised
            growth.n_forwards = other.n_forwards
        if finish is Finish.CANCELLED or growth.n_forwards == 0 or not growth.is_healed:
            return None
        text, spans = growth.spell()
        found = find_end(text, question.max_lines, question.min_indent)
        end = len(text) if found is None else found
        features = {**place, **features_of_middle(growth.confidence, growth.confidences)}
        return Middle(
            text=text[:end],
            confidence=growth.confidence,
            probability=self.calibrator.probability(features) if self.calibrator else growth.confidence,
            features=features,
            token_ids=tuple(growth.token_ids),
            spans=tuple((min(a, end), min(b, end)) for a, b in spans),
            confidences=tuple(growth.confidences),
            finish=finish,
            n_forwards=growth.n_forwards,
            cost=growth.cost,
            elapsed_ms=1e3 * (time.perf_counter() - began_s),
        )

    def _type(self, growth: Growth, task: _Task) -> Finish:
        """Type the middle with look-ahead."""
        canvas, question, stop, on_draft = growth.canvas, task.question, task.stop, task.on_draft
        if not self._encode(growth, task):
            return Finish.CANCELLED if stop.cancelled() else Finish.DEADLINE
        typewriter = self._typewriter(growth, task)
        typed = typewriter.typed

        def on_typed(n_fresh: int, n_masks: int) -> bool:
            text, spans = spell(typed.token_ids, len(canvas.healed), self.tokenizer)
            if on_draft is not None:
                slots = [(text[a:b], index >= len(spans) - n_fresh) for index, (a, b) in enumerate(spans)]
                on_draft(typed.n_forwards, [*slots, *[(None, False)] * n_masks])
            return find_end(text, question.max_lines, question.min_indent) is not None

        typewriter.type(stop, task.floor, LookAhead(self.config.look_ahead), on_typed=on_typed)
        growth.token_ids, growth.confidences = typed.token_ids, typed.confidences
        growth.end_confidence, growth.n_forwards = typed.end_confidence, typed.n_forwards
        if stop.cancelled():
            return Finish.CANCELLED
        if typed.ended or find_end(growth.spell()[0], question.max_lines, question.min_indent) is not None:
            return Finish.LINE
        if stop.expired():
            return Finish.DEADLINE
        return Finish.UNSURE if typed.confidence <= task.floor or not growth.is_healed else Finish.LENGTH

    def _score(self, growth: Growth, task: _Task) -> None:
        """Give what was denoised the probabilities that typing gives it, so that both are on one scale."""
        if self._encode(growth, task, n_tokens=0):
            typed = self._typewriter(growth, task).score(growth.token_ids)
            growth.n_forwards += 1
            growth.confidences[: len(typed.confidences)] = typed.confidences
            growth.end_confidence = typed.end_confidence

    def _typewriter(self, growth: Growth, task: _Task) -> Typewriter:
        canvas, question, cache = growth.canvas, task.question, task.cache

        def forward(ids: list[int], n_known: int) -> torch.Tensor:
            return self.denoiser.logits(self.denoiser.forward_block(ids, cache, n_kept=n_known, causal=True))

        n_most = MAX_LINE_TOKENS if question.max_lines == 1 else self.config.max_blocks * self.width
        return Typewriter(
            forward,
            self.constraints,
            canvas.prefix_ids[-1],
            canvas.healed,
            n_lines=question.max_lines,
            max_tokens=n_most,
        )

    def _wants_more(self, growth: Growth, task: _Task, finish: Finish) -> bool:
        """Whether another middle may be surer than what was typed, and still be wanted."""
        return finish in {Finish.LINE, Finish.LENGTH} and task.floor < growth.confidence < self.config.sure

    def _grow(self, growth: Growth, task: _Task) -> Finish:
        """Denoise block after block until the middle ends."""
        question, stop, draft = task.question, task.stop, task.question.draft
        if draft is not None:
            growth.start_from(draft)
        policy = partial(policies.threshold, threshold=self.config.threshold)
        max_blocks = self.config.max_line_blocks if question.max_lines == 1 else self.config.max_blocks
        while len(growth.token_ids) < max_blocks * self.width:
            if not self._encode(growth, task):
                return Finish.CANCELLED if stop.cancelled() else Finish.DEADLINE
            block = growth.next_block(self.constraints, question.max_lines, task.floor, draft)
            draft = None
            on_step = None if task.on_draft is None else partial(_show, growth, task.on_draft)
            finish, n_forwards = denoise(partial(self._forward, task.cache), block, policy, stop, on_step)
            growth.n_forwards += n_forwards
            growth.take(block)
            if finish is not Finish.LENGTH:
                return finish
            if find_end(growth.spell()[0], question.max_lines, question.min_indent) is not None:
                return Finish.LINE
        return Finish.LENGTH

    def _encode(self, growth: Growth, task: _Task, n_tokens: int | None = None) -> bool:
        """Bring the cache up to the token before the next block, or behind so many tokens; False if stopped."""
        known_ids = [*growth.canvas.prefix_ids, *growth.token_ids[:n_tokens]]
        suffix_ids, chunk = growth.canvas.suffix_ids, self.config.encode_chunk
        return encode_context(self.trunk, task.cache, known_ids[:-1], suffix_ids, chunk, task.stop, growth.cost)

    def _forward(self, cache: ContextCache, ids: list[int], slots: list[int]) -> torch.Tensor:
        """One denoiser forward; logits_MV only for the slots wanted, each predicted by its left neighbour."""
        hidden_TC = self.denoiser.forward_block(ids, cache)
        return self.denoiser.logits(hidden_TC[[slot - 1 for slot in slots]])


def _show(growth: Growth, on_draft: OnDraft, n_forwards: int, block: Block, fresh: frozenset[int]) -> None:
    on_draft(growth.n_forwards + n_forwards, growth.view(block, fresh))
