"""Stable-DiffCoder: Seed-Coder's Llama layers, causal between blocks of 4, logits not shifted.

Its tokenizer has Seed-Coder's tokens for filling in the middle, suffix first, and that is how a middle is asked for.
Source: `gh:ByteDance-Seed/Stable-DiffCoder` (README: block_length 4, shift False; arXiv 2601.15892). The README commits
one token a forward, the surest, greedily (threshold None); a threshold of 1 does the same. `config.json` says `llama`,
as Seed-Coder's does, and both tokenizers have the mask. But it names the authors' class, the base model's in
`architectures` and `auto_map` (`StableDiffcoderForCausalLM`), the instructed one's in `auto_map` alone
(`SeedDiffcoderForCausalLM`). Who has saved it anew without that says in the folder's name which it is.
"""

from __future__ import annotations

from midspan_model.families.spec import FOLDER, Architecture, Config, Family, Length, Order, TokenIds, id_of
from midspan_model.families.transformers_modules import file_name, llama

_MASK = "<[MASK_TOKEN]>"
_FIM = ("<[fim-suffix]>", "<[fim-prefix]>", "<[fim-middle]>")
_BLOCK = 4
_NAME = "diffcoder"


def recognise(config: Config, token_ids: TokenIds) -> Family | None:
    """The family, if it is Stable-DiffCoder."""
    if not _has_form(config, token_ids) or not _is_named(config):
        return None
    mask_id = id_of(config, token_ids, "mask_token_id", (_MASK,), None)
    end_id = id_of(config, token_ids, "eos_token_id", ("<[end▁of▁sentence]>", "<[end_of_sentence]>"), None)
    if mask_id is None or end_id is None:
        return None
    before_suffix, before_prefix, before_middle = (token_ids[name] for name in _FIM)
    return Family(
        "Stable-DiffCoder",
        "MIT",
        Architecture(llama, file_name),
        shift=False,
        mask_id=mask_id,
        end_id=end_id,
        block=int(config.get("block_size") or _BLOCK),
        order=Order.FIM,
        length=Length.OPEN,
        fim_ids=(before_suffix, before_prefix, before_middle),
    )


def is_seed_coder(config: Config, token_ids: TokenIds) -> bool:
    """Whether it is what Stable-DiffCoder was made of, which types from left to right."""
    return _has_form(config, token_ids) and not _is_named(config)


def _has_form(config: Config, token_ids: TokenIds) -> bool:
    return config.get("model_type") == "llama" and {_MASK, *_FIM} <= token_ids.keys()


def _is_named(config: Config) -> bool:
    names = [config.get("architectures"), config.get("auto_map"), config.get(FOLDER)]
    return any(_NAME in str(name).lower() for name in names)
