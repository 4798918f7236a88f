"""Dream, Dream-Coder, DiffuCoder and DreamOn: Qwen2.5's layers, attention in both directions, shifted logits.

Sources: `gh:HKUNLP/Dream`, `gh:DreamLM/Dream-Coder`, `gh:apple/ml-diffucoder` (configuration_dream.py,
generation_utils.py), `gh:DreamLM/DreamOn` (eval/generator.py; arXiv 2602.01326).

All of their READMEs commit one token a forward, that of least entropy, at a temperature of 0.1 to 0.3. That is the
policy `entropy` with the bound 0 here, but for the temperature; the default is Fast-dLLM's threshold of 0.9, which its
authors measured on Dream (`gh:NVlabs/Fast-dLLM` dream/eval.md). Lengths: only DreamOn finds its own, from 4 to 64 masks
on; for Dream-Coder and DiffuCoder CAL was fitted, which also does without a first token, as here.
"""

from __future__ import annotations

from midspan_model.families.spec import BOS_ID, Architecture, Config, Family, Length, TokenIds, id_of
from midspan_model.families.transformers_modules import file_name, qwen2

_MASK, _EXPAND = "<|mask|>", "<|expand|>"
_MASK_ID, _PAD_ID = 151666, 151643
_DLM_PAD = "<|dlm_pad|>"
_STABLE_NATS = 0.001


def recognise(config: Config, token_ids: TokenIds) -> Family | None:
    """The family, if it is one of these; DreamOn is told by its expand token, DiffuCoder by its padding."""
    if config.get("model_type") != "Dream":
        return None
    mask_id = id_of(config, token_ids, "mask_token_id", (_MASK,), _MASK_ID)
    end_id = id_of(config, token_ids, "pad_token_id", ("<|endoftext|>",), _PAD_ID)
    assert mask_id is not None
    assert end_id is not None
    architecture = Architecture(qwen2, file_name)
    if _EXPAND in token_ids:
        # asked for [bos] prefix, masks, suffix [eos], each by itself in tokens; eos deletes (DreamOn#1)
        bos_id = id_of(config, token_ids, BOS_ID, (), None) or id_of(config, token_ids, "bos_token_id", (), end_id)
        edges = ((bos_id or end_id,), (end_id,))
        expand_id = token_ids[_EXPAND]
        return Family(
            "DreamOn",
            "Apache-2.0",
            architecture,
            shift=True,
            mask_id=mask_id,
            end_id=end_id,
            length=Length.ELASTIC,
            expand_id=expand_id,
            edges=edges,
            stable_nats=_STABLE_NATS,
        )
    name, licence = "Dream", "Apache-2.0"
    if _DLM_PAD in token_ids:
        name, licence, end_id = "DiffuCoder", "Apple's model licence (apple-amlr)", token_ids[_DLM_PAD]
    return Family(name, licence, architecture, shift=True, mask_id=mask_id, end_id=end_id, stable_nats=_STABLE_NATS)
