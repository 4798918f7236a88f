"""What sets one kind of checkpoint apart from another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from torch import Tensor, nn

Config = Mapping[str, Any]
"""The content of a `config.json`."""

TokenIds = Mapping[str, int]
"""Ids of a tokenizer's added tokens, by name."""


FOLDER = "_folder"
BOS_ID = "_bos_id"
"""Keys under which a recogniser finds the name of the checkpoint's folder, and the tokenizer's first token if it names
one, besides what `config.json` has."""


class Order(Enum):
    """Where the texts around a middle stand."""

    AROUND = "prefix, middle, suffix: for attention in both directions"
    SUFFIX_FIRST = "suffix, prefix, middle: a causal model sees only what stands before"
    FIM = "the same, marked by the tokens that the model learnt for it"


class Length(Enum):
    """How long a middle becomes (`denoising/lengths.py`)."""

    FIXED = "fixed"
    SEARCHED = "searched"
    DENSITY = "density"
    ELASTIC = "elastic"
    OPEN = "open"


@dataclass(frozen=True)
class Architecture:
    """A family's modules.

    Attributes:
        build: from `config.json` the modules, a backbone as in `backbone.py`; called where tensors have no memory.
        file_name: from a parameter's name in the modules to that in the weights' files.
        gather: where the files hold parts of parameters: from their tensors to whole ones, by the files' names.
    """

    build: Callable[[Config], nn.Module]
    file_name: Callable[[str], str] = str
    gather: Callable[[Mapping[str, Tensor]], Mapping[str, Tensor]] | None = None


@dataclass(frozen=True)
class Family:
    """One kind of checkpoint.

    Attributes:
        name: for people.
        licence: of the published weights; shown before they are used for the first time.
        architecture: its modules.
        shift: the logits at a place are for the token behind it, as in the causal model it came from.
        block: attention is causal from block to block of so many tokens, and free inside; None: free everywhere.
        order: where the texts stand.
        length: how long middles become; from the papers, since no published weights could be had to measure it. With
            weights at hand, `midspan evaluate SUITE --model FOLDER` measures it (`evaluation/checkpoint_ways.py`).
        mask_id: stands in a slot that is not committed yet.
        end_id: ends or pads a text; in a middle nothing stands behind it.
        expand_id: DreamOn's, which stands for two masks.
        edges: tokens before the first and behind the last text.
        fim_ids: tokens before suffix, prefix and middle, where `order` is FIM.
        sub_block: of a block that is denoised, tokens are committed in the leftmost so many with a mask only; None: in
            all of it.
        stable_nats: what KLASS takes for unchanged in this family, by its authors (`gh:shkim0116/KLASS` scripts).
    """

    name: str
    licence: str
    architecture: Architecture
    shift: bool
    mask_id: int
    end_id: int
    block: int | None = None
    order: Order = Order.AROUND
    length: Length = Length.SEARCHED
    expand_id: int | None = None
    edges: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    fim_ids: tuple[int, int, int] = (0, 0, 0)
    sub_block: int | None = None
    stable_nats: float = 0.01


Recognise = Callable[[Config, TokenIds], Family | None]
"""What a family's file offers: the family, if the checkpoint is of this kind."""


def id_of(config: Config, token_ids: TokenIds, key: str, names: tuple[str, ...], default: int | None) -> int | None:
    """A special id: as the configuration has it under `key`, else by the token's name, else the published one."""
    configured = config.get(key)
    if isinstance(configured, int):
        return configured
    return next((token_ids[name] for name in names if name in token_ids), default)
