"""What a slot may take: text only, what heals the cut before the cursor, nothing that was rejected there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import torch
from torch import Tensor

from midspan_model.config import ModelConfig
from midspan_model.tokenizer import Tokenizer

_NEVER = float("-inf")


class Constraints:
    """The rules of one tokenizer and model. Shapes: M slots, V vocabulary.

    Args:
        tokenizer: of the model.
        config: its special ids and its number of tokens.
        signals: ids that stand for no text and may be taken all the same, in front of what is to be healed too.
    """

    def __init__(self, tokenizer: Tokenizer, config: ModelConfig, signals: frozenset[int] = frozenset()) -> None:
        self.end_id = config.end_id
        self.mask_id = config.mask_id
        self._tokenizer = tokenizer
        self._signals = tuple(signals)
        silent = [index for index in range(config.vocab_size) if not tokenizer.token_bytes(index)]
        self._silent = torch.tensor([index for index in silent if index not in signals | {config.end_id}])
        self._ends = torch.tensor([config.end_id])
        blank = [index for index in range(config.vocab_size) if self._begins_with_break(index)]
        self._ends_of_line = torch.tensor([config.end_id, *blank])
        self._agreeing = lru_cache(maxsize=64)(self._find_agreeing)  # half of all tokens begin with a space

    def apply(self, logits_MV: Tensor, slots: Sequence[int], banned: Mapping[int, frozenset[int]], heal: bytes) -> None:
        """Ban in place; row m belongs to the m-th of `slots`; `heal` binds the first row."""
        logits_MV[:, self._silent] = _NEVER
        for row, slot in enumerate(slots):
            if slot in banned:
                logits_MV[row, torch.tensor(sorted(banned[slot]))] = _NEVER
        if heal:
            agreeing = self._agreeing(heal)
            kept = logits_MV[0, agreeing]
            logits_MV[0] = _NEVER
            logits_MV[0, agreeing] = kept

    def ends_at_once(self, max_lines: int) -> Tensor:
        """Ids that leave a middle empty if they stand first: the end, and where one line is wanted a line break."""
        return self._ends_of_line if max_lines == 1 else self._ends

    def after(self, token_id: int, heal: bytes) -> bytes:
        """What of `heal` is still to be reproduced behind a token."""
        return heal[len(self._tokenizer.token_bytes(token_id)) :] if heal else heal

    def remaining(self, token_ids: Sequence[int], heal: bytes) -> bytes:
        """What of `heal` is still to be reproduced behind some tokens."""
        for token_id in token_ids:
            heal = self.after(token_id, heal)
        return heal

    def line_breaks(self, token_id: int, heal: bytes) -> int:
        """Line breaks that a token adds behind the healed bytes."""
        new = self._tokenizer.token_bytes(token_id)[len(heal) :]
        return new.replace(b"\r\n", b"\n").replace(b"\r", b"\n").count(b"\n")

    def is_longer(self, token_id: int, heal: bytes) -> bool:
        """Whether a token says more than what it heals."""
        return len(self._tokenizer.token_bytes(token_id)) > len(heal)

    def _find_agreeing(self, heal: bytes) -> Tensor:
        return torch.tensor([*self._tokenizer.agreeing(heal), *self._signals], dtype=torch.long)

    def _begins_with_break(self, token_id: int) -> bool:
        return self._tokenizer.token_bytes(token_id).lstrip(b" \t").startswith((b"\n", b"\r"))
