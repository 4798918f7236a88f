"""Causal code models turned to diffusion: Open-dCoder, and dllm's conversions of Qwen2 and Qwen3.

Sources: `gh:pengzhangzhi/Open-dLLM` (veomni/models/transformers/qwen2/generation_utils.py: shifted, both directions),
`gh:ZHZisZZ/dllm` (dllm/pipelines/a2d: not shifted; `mdlm` in both directions, `bd3lm` causal between blocks of 32).

Open-dLLM's evaluation is told the middle's length, or takes a fixed one, and masks again (P2, temperature 0.8); dllm's
commits one token a forward, the surest. Neither has a way to a length: CAL's bias was fitted on other models.
"""

from __future__ import annotations

from midspan_model.families.spec import FOLDER, Architecture, Config, Family, Length, Order, TokenIds, id_of
from midspan_model.families.transformers_modules import file_name, llama, qwen2, qwen3

_MASKS = ("<|mask|>", "<M>", "[MASK]", "<mask>")
_A2D = {"a2d-qwen2": qwen2, "a2d-qwen3": qwen3, "a2d-llama": llama}
_BD3LM_BLOCK = 32


def recognise(config: Config, token_ids: TokenIds) -> Family | None:
    """The family, if it is one of these.

    A plain `qwen2` is Open-dCoder's if its tokenizer or configuration has a mask. Both kinds of dllm's conversions have
    the same `config.json`; the folder's name, or a `block_size`, tells the block-causal one.
    """
    mask_id = id_of(config, token_ids, "mask_token_id", _MASKS, None)
    if mask_id is None:
        return None
    end_id = id_of(config, token_ids, "pad_token_id", ("<|endoftext|>",), 151643)
    assert end_id is not None
    model_type = config.get("model_type")
    if model_type == "qwen2":
        architecture = Architecture(qwen2, file_name)
        return Family("Open-dCoder", "Apache-2.0", architecture, shift=True, mask_id=mask_id, end_id=end_id)
    if model_type not in _A2D:
        return None
    architecture = Architecture(_A2D[model_type], file_name)
    block = config.get("block_size") or (_BD3LM_BLOCK if "bd3lm" in config.get(FOLDER, "") else None)
    if block is None:
        return Family("dllm mdlm", "Apache-2.0", architecture, shift=False, mask_id=mask_id, end_id=end_id)
    return Family(
        "dllm bd3lm",
        "Apache-2.0",
        architecture,
        shift=False,
        mask_id=mask_id,
        end_id=end_id,
        block=int(block),
        order=Order.SUFFIX_FIRST,
        length=Length.OPEN,
    )
