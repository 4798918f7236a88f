"""From documents to padded tensors: documents x holes x patterns. A batch depends on the seed and its number alone.

Shapes: B documents, N prefix tokens, U different suffixes, S suffix tokens, R holes of all documents, M noise patterns,
L slots.
"""

from __future__ import annotations

import bisect
import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import torch
from torch import Tensor
from torch.utils.data import Dataset

from midspan_model.canvas import CHARACTERS_PER_TOKEN
from midspan_model.config import ModelConfig
from midspan_model.errors import ModelError
from midspan_model.tokenizer import Tokenizer
from midspan_model.training.holes import Hole, TokenText, choose_span, choose_suffix, cut_hole, move_on, tokenise
from midspan_model.training.nodes import NodeSource
from midspan_model.training.noise import PATTERNS, Sample, add_noise, drop_after_end
from midspan_model.training.settings import BatchConfig
from midspan_model.training.shards import Document

_LARGEST = 20_000
"""No document is drawn more often than one of so many characters."""
_FROM_FILE_START = 0.2
_LEAST_TOKENS = 32


@dataclass(frozen=True)
class Batch:
    """What one forward sees. Padding holds zeros; lengths say where it begins.

    Attributes:
        prefix_BN: tokens of the documents, the prefix token first.
        document_R: the document of each hole.
        split_R: how many prefix tokens each hole sees; slot 0 stands behind them.
        suffix_US: tokens behind holes, the suffix token first.
        suffix_length_U: at least 1.
        suffix_R: the suffix of each hole.
        tokens_RML: what the denoiser sees.
        length_RM: slots of each sample.
        targets_RML: at slot i what stands at slot i + 1.
        weights_RML: of the loss on it.
        causal_RM: in which samples no slot sees what stands to its right.
    """

    prefix_BN: Tensor
    document_R: Tensor
    split_R: Tensor
    suffix_US: Tensor
    suffix_length_U: Tensor
    suffix_R: Tensor
    tokens_RML: Tensor
    length_RM: Tensor
    targets_RML: Tensor
    weights_RML: Tensor
    causal_RM: Tensor

    def to(self, device: str) -> Batch:
        """On another device."""
        return Batch(**{field.name: getattr(self, field.name).to(device) for field in fields(self)})


@dataclass(frozen=True)
class NoisyHole:
    """A hole of the batch, with its noise samples."""

    document: int
    hole: Hole
    suffix_ids: tuple[int, ...]
    samples: tuple[Sample, ...]


class Batches(Dataset[Batch]):
    """Batches by number.

    Args:
        documents: to cut windows from; longer ones more often.
        tokenizer: the trunk's.
        model: its special tokens.
        config: sizes.
        seed: of everything that is drawn.
        nodes: where syntax nodes stand.

    Raises:
        ModelError: no document is long enough.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        tokenizer: Tokenizer,
        model: ModelConfig,
        config: BatchConfig,
        seed: int,
        nodes: NodeSource,
    ) -> None:
        if config.suffix_tokens > model.suffix_room or max(config.widths) > model.block_slots:
            raise ModelError("the recipe's suffix or block is longer than the model's")
        self._documents = [document for document in documents if len(document.text) >= 2 * _LEAST_TOKENS]
        if not self._documents:
            raise ModelError("the corpus has no document that is long enough")
        self._ends = list(itertools.accumulate(min(len(document.text), _LARGEST) for document in self._documents))
        self._tokenizer, self._model, self._config = tokenizer, model, config
        self._seed, self._nodes = seed, nodes

    def __getitem__(self, index: int) -> Batch:
        """The batch of that number, the same one each time."""
        chance = random.Random(f"{self._seed}/{index}")  # noqa: S311  (no secret)
        windows: list[TokenText] = []
        holes: list[NoisyHole] = []
        while len(windows) < self._config.documents:
            window, nodes = self._window(chance)
            found = list(self._holes(window, nodes, chance))
            if found:
                holes += [self._add_noise(len(windows), window, hole, chance) for hole in found]
                windows.append(window)
        prefixes = [(self._model.prefix_id, *window.ids) for window in windows]
        return collate(prefixes, holes)

    def _window(self, chance: random.Random) -> tuple[TokenText, list[tuple[int, int]]]:
        """A piece of a document that is long enough, and the nodes that begin in it."""
        n_most = self._config.prefix_tokens - 1
        room = (n_most + 2 * self._config.suffix_tokens) * CHARACTERS_PER_TOKEN
        while True:
            document = self._documents[bisect.bisect_right(self._ends, chance.randrange(self._ends[-1]))]
            text, start = document.text, 0
            if chance.random() >= _FROM_FILE_START:
                start = text.rfind("\n", 0, chance.randrange(len(text))) + 1
            window = tokenise(text[start : start + room], self._tokenizer, n_most)
            if len(window.ids) >= min(_LEAST_TOKENS, n_most):
                spans = self._nodes(text, document.language) if self._config.mix.nodes else ()
                return window, [(a - start, b - start) for a, b in spans if a >= start]

    def _holes(self, window: TokenText, nodes: Sequence[tuple[int, int]], chance: random.Random) -> Iterator[Hole]:
        """Holes of a window; fewer where no place is found for one."""
        mix, n_most = self._config.mix, (self._config.suffix_tokens - 1) * CHARACTERS_PER_TOKEN
        span, suffix = None, ""
        for number in range(self._config.holes):
            if number % self._config.cursors == 0:
                span = choose_span(window, nodes, mix, chance)
                suffix = choose_suffix(window.text[span[1] :], mix, n_most, chance) if span else ""
            elif span is not None:
                span = move_on(span, chance)
            if span is not None:
                yield cut_hole(window, span, suffix, self._tokenizer)

    def _add_noise(self, document: int, window: TokenText, hole: Hole, chance: random.Random) -> NoisyHole:
        config, model = self._config, self._model
        suffix_ids = (model.suffix_id, *self._tokenizer.encode(hole.suffix)[: config.suffix_tokens - 1])
        known_id = window.ids[hole.first - 1] if hole.first else model.prefix_id
        width = chance.choice(config.widths)
        samples: list[Sample] = []
        for name in config.patterns:
            pattern = PATTERNS[name]
            masked = pattern.masks(width, len(hole.target_ids) + 1, chance)
            ids = {"end_id": model.end_id, "mask_id": model.mask_id}
            sample = add_noise(known_id, hole.target_ids, width, masked, **ids, causal=pattern.causal)
            samples.append(drop_after_end(sample, model.end_id) if config.drop_after_end else sample)
        return NoisyHole(document, hole, suffix_ids, tuple(samples))


def collate(prefixes: Sequence[tuple[int, ...]], holes: Sequence[NoisyHole]) -> Batch:
    """Pad everything to the longest of its kind."""
    suffixes = list(dict.fromkeys(hole.suffix_ids for hole in holes))
    number = {ids: index for index, ids in enumerate(suffixes)}
    samples = [sample for hole in holes for sample in hole.samples]
    shape = (len(holes), -1, max(len(sample.tokens) for sample in samples))
    n_slots = shape[-1]
    return Batch(
        prefix_BN=_pad(prefixes, max(map(len, prefixes))),
        document_R=torch.tensor([hole.document for hole in holes]),
        split_R=torch.tensor([hole.hole.first for hole in holes]),
        suffix_US=_pad(suffixes, max(map(len, suffixes))),
        suffix_length_U=torch.tensor([len(ids) for ids in suffixes]),
        suffix_R=torch.tensor([number[hole.suffix_ids] for hole in holes]),
        tokens_RML=_pad([sample.tokens for sample in samples], n_slots).view(shape),
        length_RM=torch.tensor([len(sample.tokens) for sample in samples]).view(len(holes), -1),
        targets_RML=_pad([sample.targets for sample in samples], n_slots).view(shape),
        weights_RML=_pad([sample.weights for sample in samples], n_slots).view(shape),
        causal_RM=torch.tensor([sample.causal for sample in samples]).view(len(holes), -1),
    )


def _pad(rows: Sequence[Sequence[int]] | Sequence[Sequence[float]], width: int) -> Tensor:
    return torch.tensor([[*row, *[0] * (width - len(row))] for row in rows])
