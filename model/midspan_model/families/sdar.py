"""SDAR: Qwen3's layers, dense or with experts, causal between small blocks, logits not shifted.

Source: `gh:JetAstra/SDAR` (generate.py) and the published modeling_sdar.py. Its README commits from confidence 0.9 on
with both of its engines, as here; generate.py from 0.85 on.
"""

from __future__ import annotations

from midspan_model.families.spec import Architecture, Config, Family, Length, Order, TokenIds, id_of
from midspan_model.families.transformers_modules import file_name, qwen3, qwen3_moe

_MODULES = {"sdar": qwen3, "sdar_moe": qwen3_moe}
_MASK_ID, _END_ID, _BLOCK = 151669, 151645, 4


def recognise(config: Config, token_ids: TokenIds) -> Family | None:
    """The family, if it is SDAR."""
    build = _MODULES.get(str(config.get("model_type")))
    if build is None:
        return None
    mask_id = id_of(config, token_ids, "mask_token_id", ("<|MASK|>", "<|mask|>"), _MASK_ID)
    end_id = id_of(config, token_ids, "eos_token_id", ("<|im_end|>",), _END_ID)
    assert mask_id is not None
    assert end_id is not None
    return Family(
        "SDAR",
        "MIT",
        Architecture(build, file_name),
        shift=False,
        mask_id=mask_id,
        end_id=end_id,
        block=int(config.get("block_size") or _BLOCK),
        order=Order.SUFFIX_FIRST,
        length=Length.OPEN,
    )
