"""Typing with look-ahead: each token is chosen by its left side and the text behind, several of them a forward.

Behind the token that is to be continued stand masks. Their slots guess the tokens further on; the next forward reads
the guesses in place, keeps those that it would have typed itself, and looks ahead from there. So the answer is that of
typing one token a forward, in fewer of them: blockwise decoding (Stern et al., arXiv 1811.03115) with masks as the
look-ahead (Monea et al., arXiv 2311.13581). A draft from elsewhere is read in the same way.

Shapes: T tokens of a forward, M = 1, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from torch import Tensor

from midspan_model.denoising.constraints import Constraints
from midspan_model.denoising.loop import StopSignal

MAX_LINE_TOKENS = 40

TypeForward = Callable[[Sequence[int], int], Tensor]
"""(tokens from the known one on, how many of the last are read now) -> logits_TV of these in float32; row t predicts
what follows token t, and is the caller's."""

Known = Callable[[Sequence[int]], Tensor | None]
"""The row of the last of such tokens, if it is known without a forward."""

Guess = Callable[[], Sequence[int]]
"""Tokens that may follow what is typed."""

OnTyped = Callable[[int, int], bool]
"""Called after each forward with the tokens it has added and the masks it looked ahead with; true: that is enough."""


@dataclass
class Typed:
    """What was typed.

    Attributes:
        token_ids: the first ones reproduce what is healed; a line break that ends it is not among them.
        confidences: their probabilities.
        confidence: product of these, and of the end's.
        end_confidence: of the end, in whatever way; 1 before it has come.
        n_forwards: of the model.
        ended: whether it came to its end: the end token or the last line break wanted.
    """

    token_ids: list[int] = field(default_factory=list[int])
    confidences: list[float] = field(default_factory=list[float])
    confidence: float = 1.0
    end_confidence: float = 1.0
    n_forwards: int = 0
    ended: bool = False


@dataclass(frozen=True)
class LookAhead:
    """How far and how boldly.

    Attributes:
        n_masks: slots that guess, behind the one that types.
        least: a guess less confident than this is not read, nor what stands behind it.
    """

    n_masks: int = 0
    least: float = 0.3


class Typewriter:
    """Types one middle.

    Args:
        forward: of the model that types.
        constraints: what a token may be.
        known_id: the token in front of the middle.
        heal: bytes that the first tokens have to reproduce.
        n_lines: line breaks until the end.
        max_tokens: most tokens.
        known: asked before each forward; the same answer, without it.
    """

    def __init__(
        self,
        forward: TypeForward,
        constraints: Constraints,
        known_id: int,
        heal: bytes,
        *,
        n_lines: int = 1,
        max_tokens: int = MAX_LINE_TOKENS,
        known: Known | None = None,
    ) -> None:
        self.typed = Typed()
        self._forward, self._constraints, self._max_tokens = forward, constraints, max_tokens
        self._known, self._pending, self._read = known, known_id, list[int]()
        self._heal, self._n_left, self._is_bare, self._is_over = heal, n_lines, True, False

    def type(
        self,
        stop: StopSignal,
        floor: float = 0.0,
        ahead: LookAhead | None = None,
        draft: Sequence[int] = (),
        on_typed: OnTyped | None = None,
        guess: Guess | None = None,
    ) -> Typed:
        """Type greedily until the end, or until it is no more confident than `floor`, or `stop` says so.

        Args:
            stop: asked before each forward.
            floor: a middle less confident than this is not wanted.
            ahead: changes the number of forwards only.
            draft: tokens that may follow; the same.
            on_typed: told of every forward.
            guess: asked before each forward that has no draft; the same.
        """
        typed, ahead = self.typed, ahead or LookAhead()
        while self._goes_on(floor) and not (stop.cancelled() or stop.expired()):
            if not draft and (row_MV := self._known_row()) is not None:
                self.read(row_MV, ())
                if on_typed is not None and on_typed(1, 0):
                    break
                continue
            room = self._max_tokens - len(typed.token_ids)
            draft = list(draft or (guess() if guess is not None else ()))[: room - 1]
            masks = [self._constraints.mask_id] * min(ahead.n_masks, room - 1 - len(draft))
            n_new = 1 + len(draft) + len(masks)
            logits_TV = self._forward([*self._read, self._pending, *draft, *masks], n_new)
            typed.n_forwards += 1
            n_read = self.read(logits_TV, draft)
            if on_typed is not None and on_typed(n_read + 1, len(masks)):
                break
            draft = self._guesses(logits_TV[1 + len(draft) :], ahead.least) if n_read == len(draft) else ()
        return typed

    def read(self, logits_TV: Tensor, draft: Sequence[int]) -> int:
        """Type from a forward over the pending token and a draft, as long as the draft is what would be typed.

        Args:
            logits_TV: of all these tokens; what is not allowed is shut off in place.
            draft: tokens behind the pending one.

        Returns:
            how much of the draft was typed.
        """
        self._read.append(self._pending)
        for row, drafted in enumerate([*draft, None]):
            token_id = self._take(logits_TV[row : row + 1])
            if token_id is None or token_id != drafted:
                self._pending = token_id if token_id is not None else self._pending
                return row
            self._read.append(token_id)
        raise AssertionError("the last row has no draft")

    def score(self, logits_TV: Tensor, token_ids: Sequence[int]) -> Typed:
        """The tokens with the probabilities that typing gives them, by a forward over the pending one and them."""
        for row, token_id in enumerate([*token_ids, self._constraints.end_id]):
            if not self._is_over:
                self._take(logits_TV[row : row + 1], token_id)
        return self.typed

    def follow(self, logits_TV: Tensor, token_ids: Sequence[int]) -> Typed:
        """Take tokens as if they were typed, and be ready to type on behind them.

        Args:
            logits_TV: of the pending token and all of these but the last; what is not allowed is shut off in place.
            token_ids: at least one; the keys and values of all but the last are there.
        """
        for row, token_id in enumerate(token_ids):
            if not self._is_over:
                self._take(logits_TV[row : row + 1], token_id)
        self._read += [self._pending, *token_ids[:-1]]
        self._pending = token_ids[-1]
        return self.typed

    def _known_row(self) -> Tensor | None:
        return None if self._known is None else self._known([*self._read, self._pending])

    def _goes_on(self, floor: float) -> bool:
        return not self._is_over and self.typed.confidence > floor and len(self.typed.token_ids) < self._max_tokens

    def _take(self, logits_MV: Tensor, wanted: int | None = None) -> int | None:
        """Add the likeliest token, or the one wanted; None if that is the end, or there is none."""
        typed, constraints = self.typed, self._constraints
        constraints.apply(logits_MV, [0], {}, self._heal)
        if logits_MV.isneginf().all():  # nothing that is allowed heals the cut
            self._is_over = True
            return None
        probability_V = logits_MV[0].softmax(-1)
        ends = constraints.ends_at_once(self._n_left)
        end_confidence = float(probability_V[ends].sum())
        if self._is_bare and not self._heal:  # an empty middle is none; what it was worth stays in the sum
            probability_V[ends] = 0
        token_id = int(probability_V.argmax()) if wanted is None else wanted
        if token_id != constraints.end_id:
            self._n_left -= constraints.line_breaks(token_id, self._heal)
        if token_id == constraints.end_id or self._n_left <= 0:
            typed.end_confidence, typed.ended, self._is_over = end_confidence, True, True
            typed.confidence *= end_confidence
            return None
        self._is_bare = self._is_bare and not constraints.is_longer(token_id, self._heal)
        self._heal = constraints.after(token_id, self._heal)
        typed.token_ids.append(token_id)
        typed.confidences.append(float(probability_V[token_id]))
        typed.confidence *= typed.confidences[-1]
        return token_id

    def _guesses(self, logits_TV: Tensor, least: float) -> list[int]:
        """The masked slots' guesses, up to the first that is not confident or is the end."""
        if not len(logits_TV):
            return []
        self._constraints.apply(logits_TV, range(len(logits_TV)), {}, b"")
        confidence_T, token_T = logits_TV.softmax(-1).max(-1)
        guesses: list[int] = []
        for confidence, token_id in zip(confidence_T.tolist(), token_T.tolist(), strict=True):
            if confidence < least or token_id == self._constraints.end_id:
                break
            guesses.append(token_id)
        return guesses
