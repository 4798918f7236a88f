"""Forwards of several questions as one: continuous batching of what threads ask for, token by token.

A forward over one token reads all weights; one over the next tokens of four questions reads them once. Each question
is answered on a thread of its own, by the same code as if it were alone; where that needs a pass over the weights it
waits until every other question that is being answered has come to one too, and then they are done together, by one
thread. A question that ends, or a new one, makes the next pass narrower or wider (as in Orca, Yu et al., OSDI 2022).
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Generator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from midspan_model.architecture import Transformer
from midspan_model.attention import Run


@dataclass(frozen=True)
class _Ask:
    """A pass that a thread waits for: a run through the layers, or logits of hidden states."""

    transformer: Transformer
    what: Run | Tensor
    answer: Future[Tensor]


class PassesTogether:
    """Does the passes of all members at once, on a thread of its own."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._n_members = 0
        self._asked: list[_Ask] = []
        threading.Thread(target=self._work, name="midspan-passes", daemon=True).start()

    @contextmanager
    def member(self) -> Generator[None]:
        """Whoever answers a question is one meanwhile: the others' passes wait for its."""
        with self._changed:
            self._n_members += 1
        try:
            yield
        finally:
            with self._changed:
                self._n_members -= 1
                self._changed.notify()

    def run(self, transformer: Transformer, run: Run) -> Tensor:
        """Hidden states (T, C), once they are there."""
        return self._ask(transformer, run)

    def logits(self, transformer: Transformer, hidden_TC: Tensor) -> Tensor:
        """Logits (T, V), once they are there."""
        return self._ask(transformer, hidden_TC)

    def _ask(self, transformer: Transformer, what: Run | Tensor) -> Tensor:
        ask = _Ask(transformer, what, Future())
        with self._changed:
            self._asked.append(ask)
            self._changed.notify()
        return ask.answer.result()

    def _take(self) -> list[_Ask]:
        """What is done next: logits before runs, so that those who are half a step ahead or behind fall in with the
        others.
        """
        logits = [ask for ask in self._asked if isinstance(ask.what, Tensor)]
        asked = logits or self._asked
        self._asked = [ask for ask in self._asked if isinstance(ask.what, Run)] if logits else []
        return asked

    @torch.inference_mode()
    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._asked and len(self._asked) >= self._n_members)
                asked = self._take()
            groups: dict[tuple[int, bool], list[_Ask]] = defaultdict(list)
            for ask in asked:
                groups[id(ask.transformer), isinstance(ask.what, Run)].append(ask)
            for group in groups.values():
                try:
                    answers = _pass(group)
                except BaseException as error:  # it belongs to those who wait
                    for ask in group:
                        ask.answer.set_exception(error)
                else:
                    for ask, answer in zip(group, answers, strict=True):
                        ask.answer.set_result(answer)


def put_together(n_threads: int, *transformers: Transformer) -> None:
    """Have what so many threads ask of them at the same time done together; one alone needs no such thing."""
    passes = PassesTogether() if n_threads > 1 else None
    for transformer in transformers:
        transformer.together = passes


def _pass(group: list[_Ask]) -> list[Tensor]:
    transformer = group[0].transformer
    runs = [ask.what for ask in group if isinstance(ask.what, Run)]
    if runs:
        return transformer.run_together(runs)
    hidden = [ask.what for ask in group if isinstance(ask.what, Tensor)]
    rows = [len(one) for one in hidden]
    return list(transformer.logits_here(torch.cat(hidden)).split(rows))
