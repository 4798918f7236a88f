"""Tiny random checkpoints in the form each family is published in: names, shapes, `config.json`, tokenizer files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from midspan_model.tokenizer import build_bpe
from safetensors.torch import save_file
from tokenizers.pre_tokenizers import ByteLevel
from torch import Tensor

MERGES = ["d e", "de f", "Ġ Ġ", "r e", "t u", "re tu"]
WORDS = [*sorted(ByteLevel.alphabet()), *(merge.replace(" ", "") for merge in MERGES)]
ROWS = len(WORDS) + 16
"""Rows of the models' matrices: more than there are tokens, as published."""

# what a default would hide is no default: neither theta nor epsilon, which is large enough to be noticed in logits
_SHAPE = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": ROWS,
    "max_position_embeddings": 512,
    "rms_norm_eps": 0.02,
    "rope_theta": 3000.0,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}


def id_after_words(place: int) -> int:
    """The id of the `place`-th added token."""
    return len(WORDS) + place


def write_tokenizer_json(folder: Path, added: list[str]) -> None:
    """`tokenizer.json`, as most are published."""
    path = folder / "tokenizer.json"
    build_bpe(WORDS, MERGES).save(str(path))
    whole = json.loads(path.read_text(encoding="utf-8"))
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    whole["added_tokens"] = [{"id": id_after_words(i), "content": name, **flags} for i, name in enumerate(added)]
    path.write_text(json.dumps(whole), encoding="utf-8")


def write_vocab_and_merges(folder: Path, added: list[str]) -> None:
    """`vocab.json`, `merges.txt` and `added_tokens.json`, as Dream's are."""
    words = {word: index for index, word in enumerate(WORDS)}
    (folder / "vocab.json").write_text(json.dumps(words), encoding="utf-8")
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *MERGES, ""]), encoding="utf-8")
    ids = {name: id_after_words(place) for place, name in enumerate(added)}
    (folder / "added_tokens.json").write_text(json.dumps(ids), encoding="utf-8")


def _write(folder: Path, config: Mapping[str, Any], state: Mapping[str, Tensor], n_files: int = 1) -> Path:
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    names = sorted(state)
    for number in range(n_files):
        part = {name: state[name].contiguous() for name in names[number::n_files]}
        name = "model.safetensors" if n_files == 1 else f"model-{number + 1:05}-of-{n_files:05}.safetensors"
        save_file(part, folder / name)
    return folder


def qwen_state(shape: Mapping[str, Any], *, bias: bool, head_norms: bool) -> dict[str, Tensor]:
    """Random weights under the names of transformers' Qwen2, Qwen3 and Llama."""
    width, inner, rows = shape["hidden_size"], shape["intermediate_size"], shape["vocab_size"]
    dim = shape.get("head_dim", width // shape["num_attention_heads"])
    n_q, n_kv = shape["num_attention_heads"] * dim, shape["num_key_value_heads"] * dim
    state = {
        "model.embed_tokens.weight": torch.randn(rows, width),
        "model.norm.weight": 1 + 0.1 * torch.randn(width),
        "lm_head.weight": torch.randn(rows, width) / 3,
    }
    for layer in range(shape["num_hidden_layers"]):
        at = f"model.layers.{layer}"
        sizes = {"q": (n_q, width), "k": (n_kv, width), "v": (n_kv, width), "o": (width, n_q)}
        for name, size in sizes.items():
            state[f"{at}.self_attn.{name}_proj.weight"] = torch.randn(size) / 4
            if bias and name != "o":
                state[f"{at}.self_attn.{name}_proj.bias"] = torch.randn(size[0]) / 4
        if head_norms:
            state |= {f"{at}.self_attn.{one}_norm.weight": 1 + 0.1 * torch.randn(dim) for one in "qk"}
        for name, size in {"gate": (inner, width), "up": (inner, width), "down": (width, inner)}.items():
            state[f"{at}.mlp.{name}_proj.weight"] = torch.randn(size) / 4
        for name in ("input_layernorm", "post_attention_layernorm"):
            state[f"{at}.{name}.weight"] = 1 + 0.1 * torch.randn(width)
    return state


def dream(folder: Path) -> Path:
    """Dream and Dream-Coder: one config for both."""
    names = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|mask|>"]
    write_vocab_and_merges(folder, names)
    ids = {"mask_token_id": id_after_words(3), "pad_token_id": id_after_words(0), "bos_token_id": id_after_words(0)}
    config = {"architectures": ["DreamModel"], "model_type": "Dream", **_SHAPE, **ids}
    return _write(folder, config, qwen_state(_SHAPE, bias=True, head_norms=False), n_files=2)


def dreamon(folder: Path) -> Path:
    """DreamOn: Dream's config, an expand token behind the mask, and a first token that its tokenizer names."""
    names = ["<|endoftext|>", "<|im_start|>", "<|beginoftext|>", "<|mask|>", "<|expand|>"]
    write_vocab_and_merges(folder, names)
    named = {"bos_token": "<|beginoftext|>", "eos_token": "<|endoftext|>", "mask_token": "<|mask|>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(named), encoding="utf-8")
    ids = {"mask_token_id": id_after_words(3), "pad_token_id": id_after_words(0), "bos_token_id": id_after_words(0)}
    config = {"architectures": ["DreamModel"], "model_type": "Dream", **_SHAPE, **ids}
    return _write(folder, config, qwen_state(_SHAPE, bias=True, head_norms=False))


def diffucoder(folder: Path) -> Path:
    """DiffuCoder: Dream's config, with a padding token of its own."""
    names = ["<|endoftext|>", "<|dlm_pad|>", "<|mask|>"]
    write_vocab_and_merges(folder, names)
    ids = {"mask_token_id": id_after_words(2), "pad_token_id": id_after_words(0)}
    config = {"architectures": ["DreamModel"], "model_type": "Dream", **_SHAPE, **ids}
    return _write(folder, config, qwen_state(_SHAPE, bias=True, head_norms=False))


def open_dcoder(folder: Path) -> Path:
    """Open-dCoder: a plain Qwen2 with tied embeddings, its mask in the tokenizer."""
    write_tokenizer_json(folder, ["<|endoftext|>", "<M>"])
    names = {"mask_token": {"content": "<M>"}, "pad_token": "<|endoftext|>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(names), encoding="utf-8")
    config = {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", **_SHAPE, "tie_word_embeddings": True}
    state = qwen_state(_SHAPE, bias=True, head_norms=False)
    del state["lm_head.weight"]
    return _write(folder, config, state)


def dllm_mdlm(folder: Path) -> Path:
    """dllm's Qwen3 conversion, attention in both directions."""
    write_tokenizer_json(folder, ["<|endoftext|>", "<|mask|>"])
    shape = {**_SHAPE, "head_dim": 16}
    config = {"architectures": ["A2DQwen3LMHeadModel"], "model_type": "a2d-qwen3", **shape}
    return _write(folder, config, qwen_state(shape, bias=False, head_norms=True))


def dllm_bd3lm(folder: Path) -> Path:
    """dllm's Qwen2 conversion, causal between blocks."""
    write_tokenizer_json(folder, ["<|endoftext|>", "<|mask|>"])
    config = {"architectures": ["A2DQwen2LMHeadModel"], "model_type": "a2d-qwen2", **_SHAPE, "block_size": 8}
    return _write(folder, config, qwen_state(_SHAPE, bias=True, head_norms=False))


def llada(folder: Path) -> Path:
    """LLaDA's own names."""
    write_tokenizer_json(folder, ["<|startoftext|>", "<|endoftext|>", "<|mdm_mask|>"])
    width, inner = 32, 48
    config = {
        "architectures": ["LLaDAModelLM"],
        "model_type": "llada",
        "d_model": width,
        "n_heads": 4,
        "n_kv_heads": 2,
        "n_layers": 2,
        "mlp_hidden_size": inner,
        "mlp_ratio": 4,
        "vocab_size": ROWS - 3,
        "embedding_size": ROWS,
        "max_sequence_length": 256,
        "rope": True,
        "rope_theta": 3000.0,
        "rope_full_precision": True,
        "rms_norm_eps": 0.02,
        "block_type": "llama",
        "activation_type": "silu",
        "layer_norm_type": "rms",
        "include_bias": False,
        "include_qkv_bias": False,
        "bias_for_layer_norm": False,
        "weight_tying": False,
        "attention_dropout": 0.0,
        "residual_dropout": 0.0,
        "embedding_dropout": 0.0,
        "mask_token_id": id_after_words(2),
        "eos_token_id": id_after_words(1),
        "pad_token_id": id_after_words(1),
    }
    at = "model.transformer"
    state = {
        f"{at}.wte.weight": torch.randn(ROWS, width),
        f"{at}.ln_f.weight": 1 + 0.1 * torch.randn(width),
        f"{at}.ff_out.weight": torch.randn(ROWS, width) / 3,
    }
    for layer in range(2):
        block = f"{at}.blocks.{layer}"
        state[f"{block}.q_proj.weight"] = torch.randn(width, width) / 4
        state |= {f"{block}.{one}.weight": torch.randn(width // 2, width) / 4 for one in ("k_proj", "v_proj")}
        state |= {f"{block}.{one}.weight": 1 + 0.1 * torch.randn(width) for one in ("attn_norm", "ff_norm")}
        state |= {f"{block}.{one}.weight": torch.randn(inner, width) / 4 for one in ("ff_proj", "up_proj")}
        state[f"{block}.attn_out.weight"] = torch.randn(width, width) / 4
        state[f"{block}.ff_out.weight"] = torch.randn(width, inner) / 4
    return _write(folder, config, state)


def llada2(folder: Path) -> Path:
    """LLaDA2's experts: one dense layer, one with experts."""
    write_tokenizer_json(folder, ["<|endoftext|>", "<|mask|>"])
    width, inner, expert, heads, n_kv, dim, n_experts = 32, 48, 16, 4, 2, 8, 8
    config = {
        "architectures": ["LLaDA2MoeModelLM"],
        "model_type": "llada2_moe",
        "vocab_size": ROWS,
        "hidden_size": width,
        "intermediate_size": inner,
        "num_hidden_layers": 2,
        "num_attention_heads": heads,
        "num_key_value_heads": n_kv,
        "head_dim": dim,
        "hidden_act": "silu",
        "use_qkv_bias": False,
        "use_qk_norm": True,
        "use_bias": False,
        "rms_norm_eps": 0.02,
        "norm_head": False,
        "tie_word_embeddings": False,
        "max_position_embeddings": 256,
        "rope_theta": 3000,
        "rope_scaling": None,
        "partial_rotary_factor": 0.5,
        "pad_token_id": id_after_words(0),
        "num_experts": n_experts,
        "num_shared_experts": 2,
        "num_experts_per_tok": 3,
        "n_group": 4,
        "topk_group": 2,
        "moe_intermediate_size": expert,
        "first_k_dense_replace": 1,
        "routed_scaling_factor": 1.7,
        "score_function": "sigmoid",
        "norm_topk_prob": True,
        "block_size": 8,
        "mask_token_id": id_after_words(1),
    }
    state = {
        "model.word_embeddings.weight": torch.randn(ROWS, width),
        "model.norm.weight": 1 + 0.1 * torch.randn(width),
        "lm_head.weight": torch.randn(ROWS, width) / 3,
    }

    def mlp(at: str, size: int) -> None:
        state[f"{at}.gate_proj.weight"], state[f"{at}.up_proj.weight"] = torch.randn(2, size, width) / 4
        state[f"{at}.down_proj.weight"] = torch.randn(width, size) / 4

    for layer in range(2):
        at = f"model.layers.{layer}"
        state[f"{at}.attention.query_key_value.weight"] = torch.randn((heads + 2 * n_kv) * dim, width) / 4
        state[f"{at}.attention.dense.weight"] = torch.randn(width, heads * dim) / 4
        state |= {f"{at}.attention.{one}_layernorm.weight": 1 + 0.1 * torch.randn(dim) for one in ("query", "key")}
        for one in ("input_layernorm", "post_attention_layernorm"):
            state[f"{at}.{one}.weight"] = 1 + 0.1 * torch.randn(width)
    mlp("model.layers.0.mlp", inner)
    state["model.layers.1.mlp.gate.weight"] = torch.randn(n_experts, width)
    state["model.layers.1.mlp.gate.expert_bias"] = torch.randn(n_experts) / 4
    for number in range(n_experts):
        mlp(f"model.layers.1.mlp.experts.{number}", expert)
    mlp("model.layers.1.mlp.shared_experts", 2 * expert)
    return _write(folder, config, state)


def fast_dllm(folder: Path) -> Path:
    """Fast-dLLM v2."""
    write_tokenizer_json(folder, ["<|endoftext|>", "<|im_end|>", "|<MASK>|"])
    ids = {"bd_size": 8, "eos_token_id": id_after_words(1)}
    config = {"architectures": ["Fast_dLLM_QwenForCausalLM"], "model_type": "Fast_dLLM_Qwen", **_SHAPE, **ids}
    return _write(folder, config, qwen_state(_SHAPE, bias=True, head_norms=False))


def sdar(folder: Path) -> Path:
    """SDAR, dense."""
    write_tokenizer_json(folder, ["<|endoftext|>", "<|im_end|>", "<|MASK|>"])
    shape = {**_SHAPE, "head_dim": 16, "attention_bias": False}
    ids = {"block_size": 4, "eos_token_id": id_after_words(1), "mask_token_id": id_after_words(2)}
    config = {"architectures": ["SDARForCausalLM"], "model_type": "sdar", **shape, **ids}
    return _write(folder, config, qwen_state(shape, bias=False, head_norms=True))


def sdar_moe(folder: Path) -> Path:
    """SDAR with experts, each a tensor of its own in the files; no family of its own."""
    write_tokenizer_json(folder, ["<|endoftext|>", "<|im_end|>", "<|MASK|>"])
    shape = {**_SHAPE, "head_dim": 16, "attention_bias": False}
    experts = {
        "num_experts": 6,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 24,
        "norm_topk_prob": True,
        "decoder_sparse_step": 1,
        "mlp_only_layers": [],
    }
    ids = {"block_size": 4, "eos_token_id": id_after_words(1), "mask_token_id": id_after_words(2)}
    config = {"architectures": ["SDARMoeForCausalLM"], "model_type": "sdar_moe", **shape, **experts, **ids}
    state = qwen_state(shape, bias=False, head_norms=True)
    state = {name: tensor for name, tensor in state.items() if ".mlp." not in name}
    for layer in range(2):
        at = f"model.layers.{layer}.mlp"
        state[f"{at}.gate.weight"] = torch.randn(6, 32) / 4
        for number in range(6):
            for name, size in {"gate": (24, 32), "up": (24, 32), "down": (32, 24)}.items():
                state[f"{at}.experts.{number}.{name}_proj.weight"] = torch.randn(size) / 4
    return _write(folder, config, state)


def stable_diffcoder(folder: Path) -> Path:
    """Stable-DiffCoder, instructed: Seed-Coder's `config.json` and tokens, and the name of a class."""
    fim = ["<[fim-prefix]>", "<[fim-suffix]>", "<[fim-middle]>"]
    write_tokenizer_json(folder, ["<[begin▁of▁sentence]>", "<[end▁of▁sentence]>", "<[MASK_TOKEN]>", *fim])
    names = {"AutoModelForCausalLM": "modeling_seed_diffcoder.SeedDiffcoderForCausalLM"}
    config = {"architectures": ["LlamaForCausalLM"], "auto_map": names, "model_type": "llama", **_SHAPE}
    config["eos_token_id"] = id_after_words(1)
    return _write(folder, config, qwen_state(_SHAPE, bias=False, head_norms=False))


WRITERS: dict[str, Callable[[Path], Path]] = {
    "DreamOn": dreamon,
    "Dream": dream,
    "DiffuCoder": diffucoder,
    "Open-dCoder": open_dcoder,
    "dllm mdlm": dllm_mdlm,
    "dllm bd3lm": dllm_bd3lm,
    "LLaDA": llada,
    "LLaDA2": llada2,
    "Fast-dLLM v2": fast_dllm,
    "SDAR": sdar,
    "Stable-DiffCoder": stable_diffcoder,
}
"""By the name under which the family is recognised."""


def write_family(name: str, folder: Path, seed: int = 0) -> Path:
    """Write a checkpoint of this family."""
    torch.manual_seed(seed)
    folder.mkdir(parents=True, exist_ok=True)
    return WRITERS[name](folder)
