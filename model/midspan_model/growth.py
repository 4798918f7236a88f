"""A middle while it grows block by block."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from midspan_model.canvas import Canvas
from midspan_model.context_encoding import Cost
from midspan_model.denoising.block import Block
from midspan_model.denoising.constraints import Constraints
from midspan_model.ending import count_breaks
from midspan_model.spelling import spell
from midspan_model.tokenizer import Tokenizer


@dataclass(frozen=True)
class Draft:
    """An earlier middle to mend; with nothing masked it is only scored.

    Attributes:
        token_ids: its tokens.
        confidences: of each.
        remask: places to mask again; the one behind the last token stands for the end.
        banned: tokens that were rejected, by place.
        unfinished: places at which the middle may not end.
    """

    token_ids: tuple[int, ...]
    confidences: tuple[float, ...]
    remask: frozenset[int]
    banned: Mapping[int, frozenset[int]] = field(default_factory=dict[int, frozenset[int]])
    unfinished: frozenset[int] = frozenset()

    @property
    def first_open(self) -> int:
        """The first place that is to be filled."""
        return min(self.remask, default=len(self.token_ids))

    def kept(self, place: int, end_id: int) -> int | None:
        """What stays at a place: a token or the end; None if it is open."""
        if place in self.remask or place > len(self.token_ids):
            return None
        return self.token_ids[place] if place < len(self.token_ids) else end_id

    def bans(self, place: int, constraints: Constraints, max_lines: int) -> frozenset[int]:
        """What may not be taken at a place."""
        ends = constraints.ends_at_once(max_lines).tolist() if place in self.unfinished else ()
        return self.banned.get(place, frozenset()).union(ends)


@dataclass
class Growth:
    """The tokens of the finished blocks, and what they cost.

    Attributes:
        canvas: the known tokens around the middle.
        width: slots of a block that can hold a middle.
        token_ids: tokens of the finished blocks; the first ones may reproduce characters before the cursor.
        confidences: of each token.
        end_confidence: of the end token, if there is one.
        cost: of the answer so far, shared by all middles that compete.
    """

    canvas: Canvas
    tokenizer: Tokenizer
    width: int
    token_ids: list[int] = field(default_factory=list[int])
    confidences: list[float] = field(default_factory=list[float])
    end_confidence: float = 1.0
    cost: Cost = field(default_factory=Cost)

    @property
    def known_ids(self) -> list[int]:
        """All known tokens before the next block's masks; the last one is its slot 0."""
        return [*self.canvas.prefix_ids, *self.token_ids]

    @property
    def confidence(self) -> float:
        """Product of the confidences."""
        return math.prod(self.confidences) * self.end_confidence

    def spell(self) -> tuple[str, tuple[tuple[int, int], ...]]:
        """The middle's text, and for each token the code points it stands for."""
        return spell(self.token_ids, len(self.canvas.healed), self.tokenizer)

    @property
    def is_healed(self) -> bool:
        """Whether the tokens reproduce what was dropped before the cursor."""
        pieces = b"".join(self.tokenizer.token_bytes(token_id) for token_id in self.token_ids)
        return pieces.startswith(self.canvas.healed)

    def next_block(
        self,
        constraints: Constraints,
        max_lines: int,
        floor: float,
        draft: Draft | None,
        make: Callable[..., Block] = Block,
    ) -> Block:
        """The block behind what is there, of whatever kind `make` makes: masks, or what is left of a draft.

        If a draft's token that heals is masked, all behind it are too: they may begin at another byte then.
        """
        tokens = [self.known_ids[-1]] + [constraints.mask_id] * self.width
        confidences = [1.0] * len(tokens)
        banned: dict[int, frozenset[int]] = {}
        heal = left = constraints.remaining(self.token_ids, self.canvas.healed)
        n_lines, first = max_lines - count_breaks(self.spell()[0]), len(self.token_ids)
        if draft is not None:
            banned = {slot: draft.bans(first + slot - 1, constraints, n_lines) for slot in range(1, self.width + 1)}
            behind = min(first + self.width, len(draft.token_ids) + 1)
            for slot, place in enumerate(range(first, behind), start=1):
                token_id = draft.kept(place, constraints.end_id)
                if token_id is None and left:
                    break
                if token_id is not None:
                    tokens[slot], confidences[slot] = token_id, (*draft.confidences, 1.0)[place]
                left = constraints.after((*draft.token_ids, constraints.end_id)[place], left)
        return make(
            tokens=tokens,
            confidences=confidences,
            constraints=constraints,
            heal=heal,
            max_lines=n_lines,
            is_first=not self.token_ids,
            floor=floor / max(self.confidence, 1e-30),
            banned={slot: token_ids for slot, token_ids in banned.items() if token_ids},
        )

    def start_from(self, draft: Draft) -> None:
        """Take the draft's blocks in front of its first open place."""
        n_kept = draft.first_open // self.width * self.width
        self.token_ids = list(draft.token_ids[:n_kept])
        self.confidences = list(draft.confidences[:n_kept])

    def take(self, block: Block) -> None:
        """Add a block's middle, as far as it has no masks."""
        n_slots = next(iter(block.masked), block.end) - 1
        self.token_ids += block.tokens[1 : 1 + n_slots]
        self.confidences += block.confidences[1 : 1 + n_slots]
        self.end_confidence = block.end_confidence

    def slots(self, n_fresh: int = 0) -> list[tuple[str | None, bool]]:
        """Each token's text and whether it is fresh, as the last ones may be."""
        text, spans = self.spell()
        return [(text[start:end], index >= len(spans) - n_fresh) for index, (start, end) in enumerate(spans)]

    def show(
        self,
        on_draft: Callable[[int, list[tuple[str | None, bool]]], None],
        _n_forwards: int,
        block: Block,
        fresh: frozenset[int],
    ) -> None:
        """Tell of a forward over the block; the forwards before it count too."""
        on_draft(self.cost.n_forwards, self.view(block, fresh))

    def view(self, block: Block, fresh: frozenset[int]) -> list[tuple[str | None, bool]]:
        """Each slot's text (None: masked) and whether it is fresh, the finished blocks' slots first."""
        slots = [*self.token_ids, *block.tokens[1 : block.end]]
        n_healed, view = len(self.canvas.healed), list[tuple[str | None, bool]]()
        for index, token_id in enumerate(slots, start=1 - len(self.token_ids)):
            if block.constraints.mask_id == token_id:
                view.append((None, False))
                continue
            piece = self.tokenizer.token_bytes(token_id)
            view.append((piece[n_healed:].decode("utf-8", "replace"), index in fresh))
            n_healed = max(0, n_healed - len(piece))
        return view
