"""SDAR: Qwen3's layers, dense or with experts, causal between small blocks, logits not shifted.

Source: `gh:JetAstra/SDAR` (generate.py) and the published modeling_sdar.py. Its README commits from confidence 0.9 on
with both of its engines, as here; generate.py from 0.85 on.
"""

from __future__ import annotations

from midspan_model.families.spec import Architecture, Config, Family, Length, Order, TokenIds, id_of
from midspan_model.families.transformers_modules import JoinedExperts, file_name, qwen3, qwen3_moe

_ARCHITECTURES = {
    "sdar": Architecture(qwen3, file_name),
    "sdar_moe": Architecture(qwen3_moe, file_name, JoinedExperts),
}
_MASK_ID, _END_ID, _BLOCK = 151669, 151645, 4


def recognise(config: Config, token_ids: TokenIds) -> Family | None:
    """The family, if it is SDAR."""
    architecture = _ARCHITECTURES.get(str(config.get("model_type")))
    if architecture is None:
        return None
    mask_id = id_of(config, token_ids, "mask_token_id", ("<|MASK|>", "<|mask|>"), _MASK_ID)
    end_id = id_of(config, token_ids, "eos_token_id", ("<|im_end|>",), _END_ID)
    assert mask_id is not None
    assert end_id is not None
    return Family(
        "SDAR",
        "MIT",
        architecture,
        shift=False,
        mask_id=mask_id,
        end_id=end_id,
        block=int(config.get("block_size") or _BLOCK),
        order=Order.SUFFIX_FIRST,
        length=Length.OPEN,
    )
