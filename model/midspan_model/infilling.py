"""Infilling: from two texts to a middle."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from midspan_model.answering import answer_of
from midspan_model.architecture import Transformer
from midspan_model.block_reader import BlockReader
from midspan_model.branching import likeliest_branches
from midspan_model.calibration import Calibrator, features_of_place
from midspan_model.candidates import WORTH_CHOOSING, WORTH_TYPING, Candidate, Candidates
from midspan_model.canvas import Canvas, build_canvas, tokenise_middles
from midspan_model.config import DenoiseConfig
from midspan_model.context_encoding import Cost, encode_context
from midspan_model.denoising.block import Finish
from midspan_model.denoising.choosing import policy_for
from midspan_model.denoising.constraints import Constraints
from midspan_model.denoising.loop import StopSignal, denoise
from midspan_model.growth import Growth
from midspan_model.guessing import guesser
from midspan_model.kv_cache import ContextPool
from midspan_model.questions import Middle, OnDraft, Question
from midspan_model.reading_on import read_on
from midspan_model.task import Task
from midspan_model.together import put_together
from midspan_model.tokenizer import Tokenizer
from midspan_model.typewriter import MAX_LINE_TOKENS, LookAhead, Typewriter


class Infiller:
    """Fills middles with one model. It belongs to one thread, or to `config.n_together`.

    Args:
        trunk: encodes prefix and suffix.
        denoiser: denoises blocks, and types.
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
        max_prefix = self.config.prefix_tokens + max(self.config.max_blocks * self.width, MAX_LINE_TOKENS)
        self.contexts = ContextPool(trunk.config, max_prefix, trunk.dtype, self.config.n_contexts)
        put_together(self.config.n_together, trunk, denoiser)

    @torch.inference_mode()
    def infill(
        self, question: Question, stop: StopSignal, on_draft: OnDraft | None = None, cost: Cost | None = None
    ) -> Middle | None:
        """Fill the middle: the likeliest of what is proposed, typed and denoised; `cost` counts it, even if cancelled.

        None if cancelled, or if time was up before what precedes the cursor was reproduced.
        """
        canvas = self.canvas(question)
        with self.trunk.taking_part(), self.contexts.lend(canvas.prefix_ids) as cache:
            return self._fill(Task(question, stop, on_draft, canvas, cache, 0.0, cost or Cost()))

    def _fill(self, task: Task) -> Middle | None:
        began_s, question, stop, on_draft = time.perf_counter(), task.question, task.stop, task.on_draft
        place = features_of_place(question.prefix, question.suffix, question.max_lines, question.language_id)
        candidates = Candidates(place, question.proposals, self.calibrator)
        task = replace(task, floor=candidates.least_confidence(question.least))
        if self.config.typing and question.draft is None:
            self._propose_and_type(task, candidates)
        if not candidates.found or (self.config.denoising and candidates.want_more(task.floor, self.config.sure)):
            candidates.add(self._denoise(task))
        self._branch_off(task, candidates)
        self._read_on(task, candidates)
        best = candidates.best()
        if best is None or stop.cancelled() or not task.cost.n_read or not best.growth.is_healed:
            return None
        if on_draft is not None and best is not candidates.found[-1]:
            on_draft(task.cost.n_forwards, best.growth.slots())
        return answer_of(task, candidates, best, 1e3 * (time.perf_counter() - began_s))

    def canvas(self, question: Question) -> Canvas:
        """The known tokens around the middle."""
        texts, model = (question.prefix, question.suffix), self.trunk.config
        return build_canvas(*texts, self.tokenizer, model, self.config, question.neighbour)

    def _propose_and_type(self, task: Task, candidates: Candidates) -> None:
        """Read all proposals at once, and go on typing from where the model would not have typed the best."""
        if not self._encode(task, self._nothing(task)):
            return
        texts = [proposal.text for proposal in task.question.proposals[: self.config.max_proposals]]
        proposed = tokenise_middles(texts, task.canvas, self.tokenizer, self._most_tokens(task), task.cache.room - 1)
        branches, reader = list(proposed.values()) or [[]], self._reader(task)
        rows = reader.read_ways(branches)
        for (index, token_ids), own_TV in zip(proposed.items(), rows, strict=False):
            candidates.add(self._score(task, token_ids, own_TV.clone(), index))
        best = candidates.best()
        if best is not None and task.on_draft is not None:
            task.on_draft(task.cost.n_forwards, best.growth.slots(len(best.growth.token_ids)))
        likeliest = 0.0 if best is None or self.config.exhaustive else candidates.probability(best)
        if likeliest < self.config.sure_proposal:
            typewriter, n_typed, branch = self._follow(task, reader, branches, rows)
            reader.keep(branches[branch][:n_typed])
            # what stays far less likely than the best proposal is not worth a forward
            floor = max(task.floor, candidates.least_confidence(WORTH_TYPING * likeliest))
            candidates.add(self._type(task, typewriter, n_typed, floor))

    def _follow(
        self, task: Task, reader: BlockReader, branches: list[list[int]], rows: list[Tensor]
    ) -> tuple[Typewriter, int, int]:
        """Of typewriters that each read one branch the one that gets furthest, how far, and on which branch."""
        most, typewriters = self._most_tokens(task), [self._typewriter(task, reader) for _ in branches]
        read = zip(typewriters, rows, branches, strict=True)
        counts = [typewriter.read(own_TV, branch[: most - 1]) for typewriter, own_TV, branch in read]
        furthest = counts.index(max(counts))
        return typewriters[furthest], counts[furthest], furthest

    def _score(self, task: Task, token_ids: list[int], logits_TV: Tensor, proposal: int | None) -> Candidate:
        """A middle from elsewhere, with the probabilities that typing gives it."""
        typed = self._typewriter(task, self._reader(task)).score(logits_TV, token_ids)
        growth = Growth(task.canvas, self.tokenizer, self.width, typed.token_ids, typed.confidences, cost=task.cost)
        growth.end_confidence = typed.end_confidence
        return Candidate(growth, Finish.LINE, proposal=proposal)

    def _type(self, task: Task, typewriter: Typewriter, n_read: int, floor: float) -> Candidate:
        """What the model types, going on from what it has read of a proposal, unless it is no surer than `floor`."""
        stop, typed = task.stop, typewriter.typed
        growth = Growth(task.canvas, self.tokenizer, self.width, typed.token_ids, typed.confidences, cost=task.cost)

        def on_typed(n_fresh: int, n_masks: int) -> bool:
            if task.on_draft is not None:
                task.on_draft(task.cost.n_forwards, [*growth.slots(n_fresh), *[(None, False)] * n_masks])
            return task.ends(growth.spell()[0])

        if not on_typed(n_read + 1, 0):
            guess = guesser(growth, task.question.ahead, self.config.guessed_tokens)
            typewriter.type(stop, floor, LookAhead(self.config.look_ahead), on_typed=on_typed, guess=guess)
        growth.end_confidence = typed.end_confidence
        if typed.ended or task.ends(growth.spell()[0]):
            finish = Finish.LINE
        elif stop.cancelled() or stop.expired():
            finish = Finish.CANCELLED if stop.cancelled() else Finish.DEADLINE
        else:
            finish = Finish.UNSURE if typed.confidence <= floor or not growth.is_healed else Finish.LENGTH
        return Candidate(growth, finish, is_typed=True)

    def _denoise(self, task: Task) -> Candidate:
        """Denoise block after block until the middle ends; then score it as what was typed, which a draft counts as."""
        finish = self._grow(task, growth := self._nothing(task))
        is_whole = finish in {Finish.END, Finish.LINE, Finish.LENGTH} and bool(growth.token_ids)
        if is_whole and self.config.typing:
            if not self._encode(task, self._nothing(task)):
                return Candidate(growth, Finish.CANCELLED if task.stop.cancelled() else Finish.DEADLINE)
            path = [task.canvas.prefix_ids[-1], *growth.token_ids]
            logits_TV = self._reader(task).read(path, len(path))
            scored = self._score(task, growth.token_ids, logits_TV, None).growth
            growth.confidences[: len(scored.confidences)] = scored.confidences
            growth.end_confidence = scored.end_confidence
            if task.on_draft is not None:
                task.on_draft(task.cost.n_forwards, growth.slots())
        return Candidate(growth, finish, is_typed=task.question.draft is not None)

    def _grow(self, task: Task, growth: Growth) -> Finish:
        question, stop, draft = task.question, task.stop, task.question.draft
        if draft is not None:
            growth.start_from(draft)
        max_blocks = self.config.max_line_blocks if question.max_lines == 1 else self.config.max_blocks
        while len(growth.token_ids) < max_blocks * self.width:
            if not self._encode(task, growth):
                return Finish.CANCELLED if stop.cancelled() else Finish.DEADLINE
            block = growth.next_block(self.constraints, question.max_lines, task.floor, draft)
            on_step = None if task.on_draft is None else partial(growth.show, task.on_draft)
            policy = policy_for(self.config, leftmost=True)
            finish = denoise(partial(self._forward, task), block, policy, stop, on_step)[0]
            growth.take(block)
            if finish is not Finish.LENGTH or task.ends(growth.spell()[0]):
                return Finish.LINE if finish is Finish.LENGTH else finish
        return Finish.LENGTH

    def _branch_off(self, task: Task, candidates: Candidates) -> None:
        """Where there is to be a choice: type on from where the best could have gone another way."""
        best, n_lines, most = candidates.best(), task.question.max_lines, task.question.n_candidates - 1
        if most < 1 or best is None or task.stopped() or not self._encode(task, self._nothing(task)):
            return
        path, heal, reader = best.growth.token_ids, task.canvas.healed, self._reader(task)
        logits_TV = reader.read([task.canvas.prefix_ids[-1], *path], 1 + len(path))
        floor = candidates.least_confidence(WORTH_CHOOSING)
        whole = path if not best.is_done else [*path, self.constraints.end_id]
        beginnings = likeliest_branches(logits_TV.clone(), whole, self.constraints, heal, n_lines, most)
        for beginning in beginnings:  # the longest first: each leaves the path's keys and values as far as the next
            typewriter = self._typewriter(task, reader)
            typewriter.follow(logits_TV.clone(), beginning)
            candidates.add(self._type(task, typewriter, len(beginning) - 1, floor))

    def _read_on(self, task: Task, candidates: Candidates) -> None:
        """Ask the trunk which of the likeliest middles the text behind follows best."""
        chosen = candidates.ranked()
        if not self.config.exhaustive:
            chosen = candidates.open(task.question.least, self.config.sure_proposal)[: self.config.read_on]
        if len(chosen) < 2 or task.stopped() or not task.question.suffix or not self._encode(task, self._nothing(task)):
            return
        texts = [task.cut(one.growth.spell()[0]) for one in chosen]
        about = (task.canvas, texts, task.question.suffix, self.tokenizer, task.cost)
        found = read_on(self.trunk, task.cache, *about)
        for candidate, behind in zip(chosen, found, strict=False):
            candidate.behind = behind

    def _nothing(self, task: Task) -> Growth:
        """A middle that has not begun."""
        return Growth(task.canvas, self.tokenizer, self.width, cost=task.cost)

    def _encode(self, task: Task, growth: Growth) -> bool:
        """Bring the cache up to the token before the next block; False if stopped."""
        prefix_ids, suffix_ids, chunk = growth.known_ids[:-1], task.canvas.suffix_ids, self.config.encode_chunk
        return encode_context(self.trunk, task.cache, prefix_ids, suffix_ids, chunk, task.stop, task.cost)

    def _reader(self, task: Task) -> BlockReader:
        return BlockReader(self.denoiser, task.cache, task.canvas, task.cost)

    def _typewriter(self, task: Task, reader: BlockReader) -> Typewriter:
        known_id, healed = task.canvas.prefix_ids[-1], task.canvas.healed
        lengths = {"n_lines": task.question.max_lines, "max_tokens": self._most_tokens(task)}
        return Typewriter(reader.read, self.constraints, known_id, healed, known=reader.known, **lengths)

    def _most_tokens(self, task: Task) -> int:
        return MAX_LINE_TOKENS if task.question.max_lines == 1 else self.config.max_blocks * self.width

    def _forward(self, task: Task, ids: list[int], slots: list[int]) -> Tensor:
        """One denoiser forward; logits_MV only for the slots wanted."""
        task.cost.n_forwards += 1
        return self.denoiser.slot_logits(ids, slots, task.cache)
