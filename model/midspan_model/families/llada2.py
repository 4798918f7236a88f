"""LLaDA2: Ling's mixture of experts, causal between blocks of 32, logits not shifted.

transformers has no such layers, so they stand here: queries, keys and values from one matrix, each head normalised,
half of each head turned by the rotary embedding, and experts chosen group by group. Sources: `gh:inclusionAI/dInfer`
and `gh:ZHZisZZ/dllm` (modeling_llada2_moe.py). Its `generate` is greedy, in blocks of 32, and commits from 0.95 on; its
authors' engine, dInfer, takes 0.9, as here.

Shapes: B canvases, T tokens, C width, H query heads, K key/value heads, D width of a head, N = B * T, E experts.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from midspan_model.families.sheet import Sheet, attend
from midspan_model.families.spec import Architecture, Config, Family, Length, Order, TokenIds, id_of

_MASK_ID, _END_ID, _BLOCK = 156895, 156892, 32


def recognise(config: Config, token_ids: TokenIds) -> Family | None:
    """The family, if it is LLaDA2."""
    if config.get("model_type") != "llada2_moe":
        return None
    mask_id = id_of(config, token_ids, "mask_token_id", ("<|mask|>",), _MASK_ID)
    end_id = id_of(config, token_ids, "pad_token_id", ("<|endoftext|>",), _END_ID)
    assert mask_id is not None
    assert end_id is not None
    return Family(
        "LLaDA2",
        "Apache-2.0",
        Architecture(LLaDA2),
        shift=False,
        mask_id=mask_id,
        end_id=end_id,
        block=int(config.get("block_size") or _BLOCK),
        order=Order.SUFFIX_FIRST,
        length=Length.OPEN,
    )


class LLaDA2(nn.Module):
    """A backbone with the published parameters' names."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        c = dict(config)
        c["head_dim"] = c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]
        self.theta, self.n_turned = float(c["rope_theta"]), int(c["head_dim"] * c.get("partial_rotary_factor", 0.5))
        self.model = _Body(c)
        self.lm_head = nn.Linear(c["hidden_size"], c["vocab_size"], bias=False)
        self._is_tied = bool(c.get("tie_word_embeddings"))

    def hidden(self, ids_BT: Tensor, positions_BT: Tensor, sheet: Sheet) -> Tensor:
        """Last hidden states (B, T, C)."""
        x_BTC = self.model.word_embeddings(ids_BT)
        steps = torch.arange(0, self.n_turned, 2, dtype=torch.float32, device=ids_BT.device)
        angles = positions_BT[..., None].float() * self.theta ** (-steps / self.n_turned)
        angles = torch.cat([angles, angles], -1)[:, None]  # the same for all heads
        rope = angles.cos().to(x_BTC.dtype), angles.sin().to(x_BTC.dtype)
        for layer in self.model.layers:
            x_BTC = layer(x_BTC, rope, sheet)
        return self.model.norm(x_BTC)

    def logits(self, hidden_XC: Tensor) -> Tensor:
        """Logits (..., V) in float32."""
        return self.lm_head(hidden_XC).float()

    def materialise(self) -> None:
        """Nothing is missing from the files."""

    def tied(self) -> dict[str, str]:
        """Parameters that are others' once more, by name."""
        return {"lm_head.weight": "model.word_embeddings.weight"} if self._is_tied else {}


class _Body(nn.Module):
    def __init__(self, c: dict[str, Any]) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(c["vocab_size"], c["hidden_size"])
        self.layers = nn.ModuleList(_Layer(c, index) for index in range(c["num_hidden_layers"]))
        self.norm = nn.RMSNorm(c["hidden_size"], c["rms_norm_eps"])


class _Layer(nn.Module):
    def __init__(self, c: dict[str, Any], index: int) -> None:
        super().__init__()
        width, eps = c["hidden_size"], c["rms_norm_eps"]
        self.attention = _Attention(c, index)
        is_dense = not c.get("num_experts") or index < c.get("first_k_dense_replace", 0)
        self.mlp = _Mlp(width, c["intermediate_size"]) if is_dense else _Experts(c)
        self.input_layernorm, self.post_attention_layernorm = nn.RMSNorm(width, eps), nn.RMSNorm(width, eps)

    def forward(self, x_BTC: Tensor, rope: tuple[Tensor, Tensor], sheet: Sheet) -> Tensor:
        x_BTC = x_BTC + self.attention(self.input_layernorm(x_BTC), rope, sheet)
        return x_BTC + self.mlp(self.post_attention_layernorm(x_BTC))


class _Attention(nn.Module):
    def __init__(self, c: dict[str, Any], index: int) -> None:
        super().__init__()
        self.layer_idx, self.dim = index, c["head_dim"]
        self.n_heads, self.n_kv = c["num_attention_heads"], c["num_key_value_heads"] or c["num_attention_heads"]
        n_rows = (self.n_heads + 2 * self.n_kv) * self.dim
        self.query_key_value = nn.Linear(c["hidden_size"], n_rows, bias=bool(c.get("use_qkv_bias", False)))
        self.dense = nn.Linear(self.n_heads * self.dim, c["hidden_size"], bias=bool(c.get("use_bias", True)))
        normalised = c.get("use_qk_norm", True)
        self.query_layernorm = nn.RMSNorm(self.dim, c["rms_norm_eps"]) if normalised else nn.Identity()
        self.key_layernorm = nn.RMSNorm(self.dim, c["rms_norm_eps"]) if normalised else nn.Identity()

    def forward(self, x_BTC: Tensor, rope: tuple[Tensor, Tensor], sheet: Sheet) -> Tensor:
        joint = self.query_key_value(x_BTC).unflatten(-1, (-1, self.dim)).transpose(1, 2)
        query, key, value = joint.split([self.n_heads, self.n_kv, self.n_kv], 1)
        query, key = _turn(self.query_layernorm(query), rope), _turn(self.key_layernorm(key), rope)
        found, _ = attend(self, query, key, value, None, sheet=sheet, scaling=self.dim**-0.5)
        return self.dense(found.flatten(2))


class _Mlp(nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.gate_proj, self.up_proj = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False)
        self.down_proj = nn.Linear(inner, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class _Gate(nn.Module):
    def __init__(self, n_experts: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_experts, width))
        self.expert_bias = nn.Buffer(torch.zeros(n_experts))


class _Experts(nn.Module):
    """A few of many small MLPs for each token, and one for all (DeepSeek-V3's choice without an auxiliary loss)."""

    def __init__(self, c: dict[str, Any]) -> None:
        super().__init__()
        width, inner = c["hidden_size"], c["moe_intermediate_size"]
        self.n_chosen, self.n_groups, self.n_open = c["num_experts_per_tok"], c["n_group"], c["topk_group"]
        self.scale = float(c.get("routed_scaling_factor", 2.5))
        self.gate = _Gate(c["num_experts"], width)
        self.experts = nn.ModuleList(_Mlp(width, inner) for _ in range(c["num_experts"]))
        shared = c.get("num_shared_experts")
        self.shared_experts = _Mlp(width, inner * shared) if shared else None

    def forward(self, x_BTC: Tensor) -> Tensor:
        x_NC = x_BTC.flatten(0, 1)
        index_NX, weight_NX = self._choose(x_NC)
        out_NC = torch.zeros_like(x_NC)
        for number in index_NX.unique().tolist():
            token, rank = (index_NX == number).nonzero(as_tuple=True)
            part = self.experts[number](x_NC[token]) * weight_NX[token, rank, None].to(x_NC.dtype)
            out_NC.index_add_(0, token, part)
        out_BTC = out_NC.view_as(x_BTC)
        return out_BTC if self.shared_experts is None else out_BTC + self.shared_experts(x_BTC)

    def _choose(self, x_NC: Tensor) -> tuple[Tensor, Tensor]:
        """Experts of each token and their weights: the best of the best groups, a bias deciding but not weighing."""
        score_NE = F.linear(x_NC.float(), self.gate.weight.float()).sigmoid()
        biased_NGE = (score_NE + self.gate.expert_bias).unflatten(-1, (self.n_groups, -1))
        group_NG = biased_NGE.topk(2, -1).values.sum(-1)
        open_NG = torch.zeros_like(group_NG, dtype=torch.bool).scatter_(1, group_NG.topk(self.n_open, -1).indices, 1)
        allowed_NE = biased_NGE.masked_fill(~open_NG[..., None], float("-inf")).flatten(1)
        index_NX = allowed_NE.topk(self.n_chosen, -1).indices
        weight_NX = score_NE.gather(1, index_NX)
        if self.n_chosen > 1:
            weight_NX = weight_NX / (weight_NX.sum(-1, keepdim=True) + 1e-20)
        return index_NX, weight_NX * self.scale


def _turn(x_BHTD: Tensor, rope: tuple[Tensor, Tensor]) -> Tensor:
    """Rotary embedding of the first part of each head, in halves."""
    cos, sin = rope
    turned, rest = x_BHTD.split([cos.shape[-1], x_BHTD.shape[-1] - cos.shape[-1]], -1)
    first, second = turned.chunk(2, -1)
    return torch.cat([turned * cos + torch.cat([-second, first], -1) * sin, rest], -1)
