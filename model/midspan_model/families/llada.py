"""LLaDA: Llama's layers under names of its own, attention in both directions, logits not shifted.

Source: `gh:ML-GSAI/LLaDA` (generate.py) and the published configuration_llada.py and modeling_llada.py (OLMo's form).
Its generate.py commits a fixed number of the surest tokens a forward, greedily; the default here is Fast-dLLM's
threshold of 0.9, at which its HumanEval went from 41.5 to 43.9 (arXiv 2505.22618). CAL was fitted for its lengths.
"""

from __future__ import annotations

from torch import nn

from midspan_model.errors import WeightsError
from midspan_model.families.spec import Architecture, Config, Family, TokenIds, id_of
from midspan_model.families.transformers_modules import llama

_MASK_ID, _END_ID = 126336, 126081
_NAMES = {
    "self_attn.q_proj": "q_proj",
    "self_attn.k_proj": "k_proj",
    "self_attn.v_proj": "v_proj",
    "self_attn.o_proj": "attn_out",
    "mlp.gate_proj": "ff_proj",
    "mlp.up_proj": "up_proj",
    "mlp.down_proj": "ff_out",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ff_norm",
}
_OUTER = {"embed_tokens": "wte", "norm": "ln_f", "lm_head": "ff_out"}
_EXPECTED = {
    "block_type": "llama",
    "activation_type": "silu",
    "layer_norm_type": "rms",
    "include_bias": False,
    "rope": True,
    "alibi": False,
    "scale_logits": False,
    "attention_layer_norm": False,
    "input_emb_norm": False,
}


def recognise(config: Config, token_ids: TokenIds) -> Family | None:
    """The family, if it is LLaDA."""
    if config.get("model_type") != "llada":
        return None
    mask_id = id_of(config, token_ids, "mask_token_id", ("<|mdm_mask|>",), _MASK_ID)
    end_id = id_of(config, token_ids, "eos_token_id", ("<|endoftext|>",), _END_ID)
    assert mask_id is not None
    assert end_id is not None
    return Family("LLaDA", "MIT", Architecture(_build, _file_name), shift=False, mask_id=mask_id, end_id=end_id)


def _build(config: Config) -> nn.Module:
    """Llama's layers in LLaDA's shape.

    Raises:
        WeightsError: the checkpoint uses what Llama's layers have not.
    """
    for key, wanted in _EXPECTED.items():
        if config.get(key, wanted) != wanted:
            raise WeightsError(f"config.json of the model has {key} = {config[key]!r}, which is not supported")
    shape = {
        "hidden_size": config["d_model"],
        "num_hidden_layers": config["n_layers"],
        "num_attention_heads": config["n_heads"],
        "num_key_value_heads": config.get("n_kv_heads") or config["n_heads"],
        "intermediate_size": config["mlp_hidden_size"],
        "vocab_size": config.get("embedding_size") or config["vocab_size"],
        "max_position_embeddings": config["max_sequence_length"],
        "rms_norm_eps": config["rms_norm_eps"],
        "rope_theta": config["rope_theta"],
        "tie_word_embeddings": bool(config.get("weight_tying")),
        "attention_bias": bool(config.get("include_qkv_bias")),
    }
    return llama(shape)


def _file_name(name: str) -> str:
    """`model.transformer.blocks.3.ff_proj.weight` for the gate of layer 3, and so on."""
    parts = name.removeprefix("language_model.").removeprefix("model.").split(".")
    if parts[0] != "layers":
        return ".".join(["model.transformer", _OUTER[parts[0]], *parts[1:]])
    middle, leaf = ".".join(parts[2:-1]), parts[-1]
    return f"model.transformer.blocks.{parts[1]}.{_NAMES[middle]}.{leaf}"
