"""From a checkpoint folder to a model: which family it is of, its weights, its tokenizer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from midspan_model.errors import WeightsError
from midspan_model.families import conversions, dream, fast_dllm, llada, llada2, sdar, stable_diffcoder
from midspan_model.families.spec import BOS_ID, FOLDER, Config, Family, Recognise
from midspan_model.families.tokens import CheckpointTokenizer, added_ids, read_json
from midspan_model.families.weights import Backbone, Placement, Shards, build

_RECOGNISERS: tuple[Recognise, ...] = (
    dream.recognise,
    conversions.recognise,
    llada.recognise,
    llada2.recognise,
    fast_dllm.recognise,
    sdar.recognise,
    stable_diffcoder.recognise,
)


@dataclass(frozen=True)
class Checkpoint:
    """An opened checkpoint.

    Attributes:
        family: what kind it is.
        config: content of its `config.json`.
        backbone: its modules.
        tokenizer: its own.
        placement: where it computes.
        n_rows: rows of its matrix of tokens; more than the tokenizer has tokens.
    """

    family: Family
    config: Config
    backbone: Backbone
    tokenizer: CheckpointTokenizer
    placement: Placement
    n_rows: int


def is_published(folder: Path) -> bool:
    """Whether a folder holds a checkpoint in a published form, and not in Midspan's own."""
    return "model_type" in read_json(folder / "config.json")


def family_of(folder: Path) -> Family:
    """The family of a checkpoint folder, by its `config.json` and its tokenizer's special tokens.

    Raises:
        WeightsError: no family here knows it.
    """
    config, token_ids = {**read_json(folder / "config.json"), FOLDER: folder.name}, added_ids(folder)
    named = read_json(folder / "tokenizer_config.json")
    for key, entry in (("mask_token_id", "mask_token"), (BOS_ID, "bos_token")):
        name = named.get(entry)
        index = token_ids.get(str(name.get("content") if isinstance(name, dict) else name))
        if index is not None:  # else the family knows its name or number
            config.setdefault(key, index)
    for recognise in _RECOGNISERS:
        if family := recognise(config, token_ids):
            return family
    if stable_diffcoder.is_seed_coder(config, token_ids):
        raise WeightsError(
            f"{folder} holds Seed-Coder, which types from left to right and fills no masks",
            hint="Stable-DiffCoder is named in its config.json, under architectures or auto_map. If these are its "
            "weights all the same, give the folder a name with diffcoder in it.",
        )
    kind = config.get("model_type", "no model_type")
    raise WeightsError(
        f"{folder} holds no diffusion model that Midspan knows: {kind}",
        hint="It opens Dream, DreamOn, DiffuCoder, Open-dCoder, dllm's conversions, LLaDA, LLaDA2, Fast-dLLM v2, SDAR "
        "and Stable-DiffCoder.",
    )


def open_checkpoint(folder: Path, placement: Placement) -> Checkpoint:
    """Read a checkpoint's weights and tokenizer; nothing of it is ever run.

    Raises:
        WeightsError: a file is missing, damaged, or of another shape; or no family knows it.
    """
    family = family_of(folder)
    config, tokenizer = read_json(folder / "config.json"), CheckpointTokenizer(folder)
    n_rows = int(config.get("embedding_size") or config.get("vocab_size") or tokenizer.vocab_size)
    for name, index in (("mask", family.mask_id), ("end", family.end_id), ("expand", family.expand_id)):
        if index is not None and not 0 <= index < n_rows:
            raise WeightsError(f"the model's {name} token {index} is outside of its {n_rows} tokens")
    backbone = build(family.architecture, config, Shards(folder), placement)
    return Checkpoint(family, config, backbone, tokenizer, placement, n_rows)
