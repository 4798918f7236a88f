"""What was read behind a context, kept while the context stays as it is.

Most keys leave the tokens before the cursor alone: they only add to what the first slots have to reproduce. What the
model said about the places behind is then as true as before, and needs no forward.

Shapes: V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

MOST_ROWS = 96
"""Kept; a row of 49,152 float32 takes 192 KiB."""

Path = tuple[int, ...]
"""Tokens from the known one on."""


@dataclass
class Readings:
    """Of one context.

    Attributes:
        written: tokens whose keys and values, the denoiser's, stand behind the prefix, the known one first.
        behind: log probability of the text behind, by what was read and where in it that text begins.
    """

    written: list[int] = field(default_factory=list[int])
    behind: dict[tuple[int, Path], float] = field(default_factory=dict[tuple[int, Path], float])
    _context: tuple[Path, Path] = ((), ())
    _rows: dict[Path, Tensor] = field(default_factory=dict[Path, Tensor])

    @property
    def n_rows(self) -> int:
        """Places whose followers are known."""
        return len(self._rows)

    def begin(self, prefix_ids: Path, suffix_ids: Path) -> None:
        """A question with this context; what is known of another one is forgotten."""
        if (prefix_ids, suffix_ids) != self._context:
            self.forget()
            self._context = (prefix_ids, suffix_ids)

    def forget(self) -> None:
        """Forget all."""
        self.written, self._context = [], ((), ())
        self._rows.clear()
        self.behind.clear()

    def knows(self, path: Path) -> bool:
        """Whether what follows a path is known."""
        return path in self._rows

    def add(self, path: Path, logits_V: Tensor) -> None:
        """What the denoiser says follows a path."""
        self._rows[path] = logits_V.clone()  # a view would keep its forward's other rows

    def rows(self, paths: Sequence[Path]) -> Tensor:
        """Copies of what is known of some paths; those asked for last are forgotten last."""
        for path in paths:
            self._rows[path] = self._rows.pop(path)
        return torch.stack([self._rows[path] for path in paths])

    def shrink(self) -> None:
        """Forget what is too much."""
        for oldest in list(self._rows)[: max(0, len(self._rows) - MOST_ROWS)]:
            del self._rows[oldest]
