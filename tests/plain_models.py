"""Each family's logits by plain loops in float64, from the published `config.json` and the files' own names.

Nothing of Midspan and nothing of transformers: place by place, head by head, expert by expert.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

Config = Mapping[str, Any]
Weights = Callable[[str], Tensor]
"""A tensor by its name in the files, in float64."""

_TRANSFORMERS = {
    "embed": "model.embed_tokens", "last": "model.norm", "head": "lm_head", "layer": "model.layers.{}.",
    "q": "self_attn.q_proj", "k": "self_attn.k_proj", "v": "self_attn.v_proj", "o": "self_attn.o_proj",
    "gate": "mlp.gate_proj", "up": "mlp.up_proj", "down": "mlp.down_proj",
    "in": "input_layernorm", "post": "post_attention_layernorm",
}  # fmt: skip
_LLADA = {
    "embed": "model.transformer.wte", "last": "model.transformer.ln_f", "head": "model.transformer.ff_out",
    "layer": "model.transformer.blocks.{}.", "q": "q_proj", "k": "k_proj", "v": "v_proj", "o": "attn_out",
    "gate": "ff_proj", "up": "up_proj", "down": "ff_out", "in": "attn_norm", "post": "ff_norm",
}  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """What the loops need to know of a model."""

    layers: int
    heads: int
    n_kv: int
    dim: int
    eps: float
    theta: float
    turned: int


def plain_logits(config: Config, state: Mapping[str, Tensor], ids: list[int], seen: Tensor) -> Tensor:
    """Raw logits (T, V) of the whole canvas; `seen` (T, T) tells which place a place sees."""
    weights: Weights = lambda name: state[name].double()  # noqa: E731
    if config["model_type"] == "llada2_moe":
        return _llada2(config, weights, ids, seen)
    if config["model_type"] == "llada":
        heads, width = config["n_heads"], config["d_model"]
        dim, theta, eps = width // heads, config["rope_theta"], config["rms_norm_eps"]
        shape = Shape(config["n_layers"], heads, config["n_kv_heads"], dim, eps, theta, dim)
        return _decoder(config, shape, _LLADA, weights, state, ids, seen)
    heads = config["num_attention_heads"]
    dim = config.get("head_dim") or config["hidden_size"] // heads
    theta, eps = config["rope_theta"], config["rms_norm_eps"]
    shape = Shape(config["num_hidden_layers"], heads, config["num_key_value_heads"], dim, eps, theta, dim)
    return _decoder(config, shape, _TRANSFORMERS, weights, state, ids, seen)


def _norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    return weight * x / (x.pow(2).mean(-1, keepdim=True) + eps).sqrt()


def _rotate(x: Tensor, place: int, shape: Shape) -> Tensor:
    out, half = x.clone(), shape.turned // 2
    for pair in range(half):
        angle = place * shape.theta ** (-2 * pair / shape.turned)
        a, b = x[pair], x[pair + half]
        out[pair] = a * math.cos(angle) - b * math.sin(angle)
        out[pair + half] = b * math.cos(angle) + a * math.sin(angle)
    return out


def _attend(q: Tensor, k: Tensor, v: Tensor, seen: Tensor, shape: Shape) -> Tensor:
    """(T, heads * dim) of queries (T, heads, dim), keys and values (T, n_kv, dim)."""
    n = len(q)
    q = torch.stack([torch.stack([_rotate(q[t, h], t, shape) for h in range(shape.heads)]) for t in range(n)])
    k = torch.stack([torch.stack([_rotate(k[t, h], t, shape) for h in range(shape.n_kv)]) for t in range(n)])
    mixed = torch.zeros(n, shape.heads, shape.dim, dtype=torch.double)
    for h in range(shape.heads):
        kv = h // (shape.heads // shape.n_kv)
        scores = (q[:, h] @ k[:, kv].T / math.sqrt(shape.dim)).masked_fill(~seen, float("-inf"))
        mixed[:, h] = scores.softmax(-1) @ v[:, kv]
    return mixed.flatten(1)


def _mlp(x: Tensor, gate: Tensor, up: Tensor, down: Tensor) -> Tensor:
    inner = gate @ x
    return down @ (inner * inner.sigmoid() * (up @ x))


def _decoder(
    config: Config,
    shape: Shape,
    names: Mapping[str, str],
    weights: Weights,
    state: Mapping[str, Tensor],
    ids: list[int],
    seen: Tensor,
) -> Tensor:
    """Qwen2, Qwen3 (heads normalised), its experts, Llama and LLaDA: what the files hold tells which."""
    x = weights(f"{names['embed']}.weight")[ids]
    for layer in range(shape.layers):
        at = names["layer"].format(layer)

        def part(which: str, at: str = at) -> Tensor:
            return weights(f"{at}{names[which]}.weight")

        def project(y: Tensor, which: str, at: str = at) -> Tensor:
            bias = f"{at}{names[which]}.bias"
            return y @ weights(f"{at}{names[which]}.weight").T + (weights(bias) if bias in state else 0)

        y = _norm(x, part("in"), shape.eps)
        q, k, v = (project(y, which).view(len(ids), -1, shape.dim) for which in "qkv")
        if f"{at}self_attn.q_norm.weight" in state:
            q = _norm(q, weights(f"{at}self_attn.q_norm.weight"), shape.eps)
            k = _norm(k, weights(f"{at}self_attn.k_norm.weight"), shape.eps)
        x = x + project(_attend(q, k, v, seen, shape), "o")
        y = _norm(x, part("post"), shape.eps)
        if f"{at}mlp.gate.weight" in state:
            x = x + torch.stack([_qwen_experts(config, weights, f"{at}mlp", one) for one in y])
        else:
            x = x + torch.stack([_mlp(one, part("gate"), part("up"), part("down")) for one in y])
    tied = config.get("tie_word_embeddings") or config.get("weight_tying")
    head = weights(f"{names['embed' if tied else 'head']}.weight")
    return (_norm(x, weights(f"{names['last']}.weight"), shape.eps) @ head.T).float()


def _qwen_experts(config: Config, weights: Weights, at: str, x: Tensor) -> Tensor:
    """Softmax over all experts, the best few; their shares sum to 1 if `norm_topk_prob`."""
    chance = (weights(f"{at}.gate.weight") @ x).softmax(-1).tolist()
    chosen = sorted(range(len(chance)), key=lambda e: -chance[e])[: config["num_experts_per_tok"]]
    total = sum(chance[e] for e in chosen) if config["norm_topk_prob"] else 1.0
    parts = [[weights(f"{at}.experts.{e}.{one}_proj.weight") for one in ("gate", "up", "down")] for e in chosen]
    return sum((chance[e] / total * _mlp(x, *each) for e, each in zip(chosen, parts, strict=True)), torch.zeros(()))


def _llada2(c: Config, weights: Weights, ids: list[int], seen: Tensor) -> Tensor:
    heads, n_kv, dim, eps = c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"], c["rms_norm_eps"]
    shape = Shape(c["num_hidden_layers"], heads, n_kv, dim, eps, c["rope_theta"], int(dim * c["partial_rotary_factor"]))

    def mlp(x: Tensor, at: str) -> Tensor:
        gate, up, down = (weights(f"{at}.{one}_proj.weight") for one in ("gate", "up", "down"))
        return _mlp(x, gate, up, down)

    def experts(x: Tensor, at: str) -> Tensor:
        score = (weights(f"{at}.gate.weight") @ x).sigmoid()
        biased = (score + weights(f"{at}.gate.expert_bias")).tolist()
        size = len(biased) // c["n_group"]
        groups = [biased[g * size : (g + 1) * size] for g in range(c["n_group"])]
        best_groups = sorted(range(c["n_group"]), key=lambda g: -sum(sorted(groups[g])[-2:]))[: c["topk_group"]]
        allowed = [e for e in range(len(biased)) if e // size in best_groups]
        chosen = sorted(allowed, key=lambda e: -biased[e])[: c["num_experts_per_tok"]]
        total = sum(float(score[e]) for e in chosen)
        out = mlp(x, f"{at}.shared_experts")
        for e in chosen:
            out = out + c["routed_scaling_factor"] * float(score[e]) / total * mlp(x, f"{at}.experts.{e}")
        return out

    x = weights("model.word_embeddings.weight")[ids]
    for layer in range(shape.layers):
        at = f"model.layers.{layer}"
        joint = _norm(x, weights(f"{at}.input_layernorm.weight"), eps)
        joint = (joint @ weights(f"{at}.attention.query_key_value.weight").T).view(len(ids), heads + 2 * n_kv, dim)
        q = _norm(joint[:, :heads], weights(f"{at}.attention.query_layernorm.weight"), eps)
        k = _norm(joint[:, heads : heads + n_kv], weights(f"{at}.attention.key_layernorm.weight"), eps)
        mixed = _attend(q, k, joint[:, heads + n_kv :], seen, shape)
        x = x + mixed @ weights(f"{at}.attention.dense.weight").T
        y = _norm(x, weights(f"{at}.post_attention_layernorm.weight"), eps)
        is_dense = layer < c["first_k_dense_replace"]
        x = x + torch.stack([mlp(one, f"{at}.mlp") if is_dense else experts(one, f"{at}.mlp") for one in y])
    head = weights("model.word_embeddings.weight" if c["tie_word_embeddings"] else "lm_head.weight")
    return (_norm(x, weights("model.norm.weight"), eps) @ head.T).float()
