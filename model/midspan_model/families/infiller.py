"""Infilling with a bigger checkpoint: from two texts to a middle, by the one denoising loop.

There is no calibrator for these models. A middle's probability is the confidence of its least sure slot, the end
included, each as it was committed: the middle cannot be likelier to be right than its least likely token. So eagerness
means here how sure the model must be of every slot. Where several are wanted, the best is denoised again from where it
was least sure, with its token banned there.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock

import torch

from midspan_model.canvas import Canvas, cut_texts, tokenise_middles
from midspan_model.config import DenoiseConfig, ModelConfig
from midspan_model.context_encoding import Cost
from midspan_model.denoising.block import Block, Finish
from midspan_model.denoising.canvas_block import CanvasBlock, ElasticBlock, LeastSureBlock, SubBlock
from midspan_model.denoising.choosing import PolicyName, policy_for
from midspan_model.denoising.constraints import Constraints
from midspan_model.denoising.loop import Forward, StopSignal, denoise
from midspan_model.ending import find_end
from midspan_model.families.block_forward import BlockForward, ContextShelf
from midspan_model.families.canvas_forward import CanvasForward
from midspan_model.families.measuring import Asking, n_masks
from midspan_model.families.middles import Grown, answer_of, other_ways
from midspan_model.families.opening import Checkpoint
from midspan_model.families.spec import Length, Order
from midspan_model.growth import Draft, Growth
from midspan_model.questions import Middle, OnDraft, Question


@dataclass(frozen=True)
class FamilyOptions:
    """What a bigger checkpoint is asked with beyond `DenoiseConfig`.

    Attributes:
        length: how middles get their length; None: the family's own way.
        refresh: every so many forwards a canvas whose tokens all see each other runs as a whole; 1: always.
        line_slots: masks to begin with where one line is wanted; its median middle has 8 tokens, 98 % have at most 32.
        several_slots: the same for several lines.
        most_slots: slots of a middle at most.
    """

    length: Length | None = None
    refresh: int = 1
    line_slots: int = 8
    several_slots: int = 32
    most_slots: int = 64


class FamilyInfiller:
    """Fills middles with one checkpoint, one at a time: whoever comes from another thread waits.

    Args:
        checkpoint: the model.
        config: budgets, threshold and policy.
        options: length and cache.
    """

    def __init__(self, checkpoint: Checkpoint, config: DenoiseConfig, options: FamilyOptions | None = None) -> None:
        self.checkpoint, self.config, self.options = checkpoint, config, options or FamilyOptions()
        self.tokenizer, family = checkpoint.tokenizer, checkpoint.family
        if config.policy == PolicyName.KLASS and config.policy_bound is None:
            self.config = replace(config, policy_bound=family.stable_nats)
        self.length = self.options.length or family.length
        if family.block is not None:
            self.length = Length.OPEN  # a causal model does not see where its middle has to end
        signals = frozenset[int]()
        if self.length is Length.ELASTIC and family.expand_id is not None:
            signals = frozenset({family.expand_id})
        special = ModelConfig(vocab_size=checkpoint.n_rows, end_id=family.end_id, mask_id=family.mask_id)
        self.constraints = Constraints(self.tokenizer, special, signals)
        n_places = config.prefix_tokens + config.suffix_tokens + 2 * self.options.most_slots + 4 * (family.block or 0)
        self.contexts = ContextShelf(n_places + 8, config.cached_contexts)
        self._one_at_a_time = Lock()

    @torch.inference_mode()
    def infill(
        self, question: Question, stop: StopSignal, on_draft: OnDraft | None = None, cost: Cost | None = None
    ) -> Middle | None:
        """Fill the middle, or take what is proposed if that is likelier; `cost` counts it, even if cancelled.

        Returns:
            the middle; None if cancelled, or if time was up before what precedes the cursor was reproduced.
        """
        with self._one_at_a_time:
            return self._fill(question, stop, on_draft, cost or Cost())

    def _fill(self, question: Question, stop: StopSignal, on_draft: OnDraft | None, cost: Cost) -> Middle | None:
        began_s = time.perf_counter()
        canvas = self.canvas(question)
        index = self._proposal(question, canvas)
        sure = 0.0 if index is None else question.proposals[index].score
        best = Grown(Growth(canvas, self.tokenizer, 0, cost=cost), Finish.LENGTH)
        if sure < self.config.sure_proposal:
            best = Grown(best.growth, self._grow(question, best.growth, stop, on_draft))
        found = [best]
        if index is not None and sure > best.probability:
            best = Grown(self._proposed(question, canvas, index, cost), Finish.LINE, index, sure)
            found.insert(0, best)
            if on_draft is not None:
                on_draft(cost.n_forwards, best.growth.slots(len(best.growth.token_ids)))
        for draft in other_ways(question, best.growth):
            if stop.cancelled() or stop.expired():
                break
            growth = Growth(canvas, self.tokenizer, 0, cost=cost)
            found.append(Grown(growth, self._grow(replace(question, draft=draft), growth, stop, None)))
        if stop.cancelled() or not best.growth.is_healed:
            return None
        return answer_of(question, best, found[1:], 1e3 * (time.perf_counter() - began_s))

    @torch.inference_mode()
    def prefill(self, question: Question, stop: StopSignal, cost: Cost) -> bool:
        """Encode ahead what this question would have to encode first; whether all is encoded.

        Where all tokens see each other there is nothing to encode without the middle.
        """
        if self.checkpoint.family.block is None:
            return True
        known, chunk = list(self.canvas(question).prefix_ids), self.config.prefill_chunk
        with self._one_at_a_time:
            context = self.contexts.take(known)
            return BlockForward(self.checkpoint, context, known[:-1], cost).encode(known, chunk, stop)

    def canvas(self, question: Question) -> Canvas:
        """What stands before the block, its slot 0 last, and behind it."""
        texts, family = (question.prefix, question.suffix), self.checkpoint.family
        n_suffix = self.config.suffix_tokens
        suffix_ids, prefix_ids, healed = cut_texts(*texts, self.tokenizer, self.config, n_suffix, question.neighbour)
        first, last = family.edges
        behind = list[int]()
        if family.order is Order.AROUND:
            before, behind = [*first, *prefix_ids], [*suffix_ids, *last]
        elif family.order is Order.FIM:
            mark_suffix, mark_prefix, mark_middle = family.fim_ids
            before = [mark_suffix, *suffix_ids, mark_prefix, *prefix_ids, mark_middle]
        else:
            between = self.tokenizer.encode("\n\n") if suffix_ids else []
            before = [*suffix_ids, *between, *prefix_ids]
        return Canvas(tuple(behind), tuple(before or [family.end_id]), healed)

    def _grow(self, question: Question, growth: Growth, stop: StopSignal, on_draft: OnDraft | None) -> Finish:
        if self.checkpoint.family.block is not None:
            return self._grow_by_blocks(question, growth, stop, on_draft)
        canvas, draft = growth.canvas, question.draft
        forward = CanvasForward(
            self.checkpoint, canvas.prefix_ids[:-1], canvas.suffix_ids, growth.cost, self.options.refresh
        )
        if stop.cancelled() or stop.expired():
            return Finish.CANCELLED if stop.cancelled() else Finish.DEADLINE
        start = self.options.line_slots if question.max_lines == 1 else self.options.several_slots
        most = self.options.most_slots
        ask = Asking(forward, canvas.prefix_ids[-1], stop)
        growth.width = len(draft.token_ids) if draft else n_masks(self.length, ask, start, most)
        make: partial[CanvasBlock] = partial(CanvasBlock)
        expand_id = self.checkpoint.family.expand_id
        if self.length is Length.ELASTIC and expand_id is not None:
            make = partial(ElasticBlock, expand_id=expand_id, most=most, budget=most)
        block = growth.next_block(self.constraints, question.max_lines, 0.0, draft, make)
        return self._denoise(question, growth, block, forward, stop, on_draft)

    def _grow_by_blocks(self, question: Question, growth: Growth, stop: StopSignal, on_draft: OnDraft | None) -> Finish:
        """Block after block, as the model has them, until the middle ends."""
        draft, sub_block = question.draft, self.checkpoint.family.sub_block
        context = self.contexts.take(growth.known_ids)
        if draft is not None:
            n_kept = self._n_whole(growth, draft)
            growth.token_ids, growth.confidences = list(draft.token_ids[:n_kept]), list(draft.confidences[:n_kept])
        while len(growth.token_ids) < self.options.most_slots:
            known = growth.known_ids
            forward = BlockForward(self.checkpoint, context, known[:-1], growth.cost)
            if not forward.encode(known, self.config.encode_chunk, stop):
                return Finish.CANCELLED if stop.cancelled() else Finish.DEADLINE
            growth.width = forward.n_slots
            make = partial(SubBlock, size=sub_block, place=len(known) - 1) if sub_block else LeastSureBlock
            block = growth.next_block(self.constraints, question.max_lines, 0.0, draft, make)
            if draft is not None and len(growth.token_ids) + growth.width >= len(draft.token_ids):
                draft = None
            finish = self._denoise(question, growth, block, forward, stop, on_draft)
            text = growth.spell()[0]
            if finish is not Finish.LENGTH or find_end(text, question.max_lines, question.min_indent) is not None:
                return Finish.LINE if finish is Finish.LENGTH else finish
        return Finish.LENGTH

    def _denoise(
        self,
        question: Question,
        growth: Growth,
        block: Block,
        forward: Forward,
        stop: StopSignal,
        on_draft: OnDraft | None,
    ) -> Finish:
        """Denoise a block and add it to what is there."""
        block.floor = question.least
        policy = policy_for(self.config, leftmost=False)
        show = None if on_draft is None else partial(_show, growth, on_draft)
        finish = denoise(forward, block, policy, stop, show)[0]
        growth.take(block)
        if finish is Finish.UNSURE:  # what made it so may stand behind a mask, and is not taken
            growth.end_confidence = min(growth.end_confidence, block.confidence)
        return finish

    def _n_whole(self, growth: Growth, draft: Draft) -> int:
        """Tokens of a draft in the model's blocks before the first that is masked again."""
        block = self.checkpoint.family.block
        assert block is not None
        first = min(draft.remask, default=len(draft.token_ids))
        n_before = len(growth.canvas.prefix_ids)
        return max(0, (n_before + first) // block * block - n_before)

    def _proposal(self, question: Question, canvas: Canvas) -> int | None:
        """The likeliest proposal that can stand here."""
        if question.draft is not None:
            return None
        usable = tokenise_middles([one.text for one in question.proposals], canvas, self.tokenizer, 256, 4096)
        return max(usable, key=lambda index: question.proposals[index].score, default=None)

    def _proposed(self, question: Question, canvas: Canvas, index: int, cost: Cost) -> Growth:
        proposal = question.proposals[index]
        token_ids = tokenise_middles([proposal.text], canvas, self.tokenizer, 256, 4096)[0]
        confidences = [proposal.score] * len(token_ids)
        return Growth(canvas, self.tokenizer, len(token_ids), token_ids, confidences, cost=cost)


def _show(growth: Growth, on_draft: OnDraft, _n_forwards: int, block: Block, fresh: frozenset[int]) -> None:
    on_draft(growth.cost.n_forwards, growth.view(block, fresh))
