"""Fast-dLLM v2: Qwen2.5's layers, causal between blocks of 32, shifted logits.

Source: `gh:NVlabs/Fast-dLLM` and the published modeling.py (`Fast_dLLM_QwenForCausalLM`); arXiv 2509.26328. Its model
card and evaluation fill the block in parts of 8, from left to right, greedily, and commit from confidence 0.9 on, as
here: without the parts an end token far behind would be committed before what stands in front of it.
"""

from __future__ import annotations

from midspan_model.families.spec import Architecture, Config, Family, Length, Order, TokenIds, id_of
from midspan_model.families.transformers_modules import file_name, qwen2

_MASKS = ("|<MASK>|", "<|MASK|>", "<|mask|>")
_MASK_ID, _END_ID, _BLOCK = 151665, 151645, 32
_SUB_BLOCK = 8


def recognise(config: Config, token_ids: TokenIds) -> Family | None:
    """The family, if it is Fast-dLLM v2."""
    if config.get("model_type") != "Fast_dLLM_Qwen":
        return None
    mask_id = id_of(config, token_ids, "mask_token_id", _MASKS, _MASK_ID)
    end_id = id_of(config, token_ids, "eos_token_id", ("<|im_end|>",), _END_ID)
    assert mask_id is not None
    assert end_id is not None
    return Family(
        "Fast-dLLM v2",
        "Apache-2.0",
        Architecture(qwen2, file_name),
        shift=True,
        mask_id=mask_id,
        end_id=end_id,
        block=int(config.get("bd_size") or _BLOCK),
        order=Order.SUFFIX_FIRST,
        length=Length.OPEN,
        sub_block=_SUB_BLOCK,
    )
