"""The training forward: what inference computes (`architecture.py`), for many holes at once.

The trunk encodes the contexts without gradient, each prefix and suffix once; only block tokens pass through the
denoiser. A hole is one row of attention: the queries of all its samples, folded with the query groups as in
`architecture.py`, over its prefix, its suffix and the samples' own slots.

Shapes: B documents, N prefix tokens, U suffixes, S suffix tokens, R holes, M samples per hole, L slots, F packed tokens
of a block forward, H key/value heads, G query heads per key/value head, D width of a head, C width of the model, T
tokens of a row, Q queries of a row (G * M * L), K keys of a row (N + S + M * L), P slots with a loss, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from midspan_model.architecture import Layer, Transformer
from midspan_model.attention import rope_table, rotate
from midspan_model.config import ModelConfig
from midspan_model.training.batching import Batch
from midspan_model.training.packing import Packing, pack_rows
from midspan_model.training.parameters import Parameters

Rope = tuple[Tensor, Tensor]


class Forward:
    """Logits of a batch.

    Args:
        trunk: frozen, on the device and of the type to compute in.
        parameters: what is trained (`parameters.py`).
        compiled: let torch compile what surrounds attention.
    """

    def __init__(self, trunk: Transformer, parameters: Parameters, *, compiled: bool = False) -> None:
        self.trunk, self.parameters, self.config = trunk, parameters, trunk.config
        compile_ = partial(torch.compile, dynamic=True) if compiled else lambda function: function
        self._project, self._mix = compile_(_project), compile_(_mix)

    def __call__(self, batch: Batch, shut: float = 0.0) -> tuple[Tensor, Tensor]:
        """Logits (P, V) of the slots that have a loss, and their places in the flattened (R, M, L).

        Args:
            batch: on the trunk's device.
            shut: what keys to the right in the block, and masked ones to the left, lose.
        """
        with torch.no_grad():
            contexts = list(self._contexts(batch))
        n_holes, n_samples, n_slots = batch.tokens_RML.shape
        packing = pack_rows(batch.length_RM.flatten(), n_slots)
        tokens_F = packing.pack(batch.tokens_RML.flatten(0, 1))
        positions_RL = self.config.suffix_room + batch.split_R[:, None] + torch.arange(n_slots, device=tokens_F.device)
        positions_RML = positions_RL[:, None].expand(n_holes, n_samples, n_slots)
        rope = self._rope(packing.pack(positions_RML.flatten(0, 1)))
        bias = block_bias(batch, self.config, shut, self.trunk.dtype)
        is_mask_FC = (tokens_F == self.config.mask_id)[:, None]
        x_FC = torch.where(is_mask_FC, self._weight("mask_embedding"), self.trunk.embedding(tokens_F))
        for index, context in enumerate(contexts):
            x_FC = self._layer(index, x_FC, rope, context, bias, packing, n_samples)
        chosen_P = packing.pack(batch.weights_RML.flatten(0, 1)).nonzero()[:, 0]
        hidden_PC = self._norm("norm", x_FC.index_select(0, chosen_P))
        return F.linear(hidden_PC, self.trunk.embedding.weight), packing.flat_F[chosen_P]

    def _contexts(self, batch: Batch) -> Iterator[tuple[Tensor, Tensor]]:
        """Keys and values (R, H, N + S, D) of each layer."""
        n_prefix = int(batch.split_R.max()) + 1  # one at least, so that no tensor is empty
        prefix_BN, document_R, suffix_R = batch.prefix_BN[:, :n_prefix], batch.document_R, batch.suffix_R
        length_B = torch.full_like(prefix_BN[:, 0], n_prefix)
        prefix = encode_causal(self.trunk, prefix_BN, length_B, self.config.suffix_room)
        suffix = encode_causal(self.trunk, batch.suffix_US, batch.suffix_length_U, 0)
        for (prefix_k, prefix_v), (suffix_k, suffix_v) in zip(prefix, suffix, strict=True):
            keys_RHTD = torch.cat([prefix_k[document_R], suffix_k[suffix_R]], 2)
            yield keys_RHTD, torch.cat([prefix_v[document_R], suffix_v[suffix_R]], 2)

    def _layer(
        self,
        index: int,
        x_FC: Tensor,
        rope: Rope,
        context: tuple[Tensor, Tensor],
        bias: Tensor,
        packing: Packing,
        n_samples: int,
    ) -> Tensor:
        n_kv, group, dim = n_heads = _heads(self.config)
        n_holes, n_slots = context[0].shape[0], packing.real_RT.shape[1]
        name = f"layers.{index}"
        weights = [self._linear(f"{name}.{linear}") for linear in ("qkv", "out", "gate_up", "down")]
        gains = [self._weight(f"{name}.{norm}.weight") for norm in ("attention_norm", "ffn_norm")]
        joint_FX = self._project(x_FC, gains[0], weights[0], rope, n_heads, self.config.norm_eps)
        rows = packing.pad(joint_FX).view(n_holes, n_samples * n_slots, n_kv * (group + 2), dim)
        q, k, v = rows.split([n_kv * group, n_kv, n_kv], 2)
        q_RHQD = q.unflatten(2, (n_kv, group)).permute(0, 2, 3, 1, 4).flatten(2, 3)
        k_RHKD = torch.cat([context[0], k.transpose(1, 2)], 2)
        v_RHKD = torch.cat([context[1], v.transpose(1, 2)], 2)
        attended = F.scaled_dot_product_attention(q_RHQD, k_RHKD, v_RHKD, attn_mask=bias)
        heads = attended.unflatten(2, (group, -1)).permute(0, 3, 1, 2, 4)
        attended_FX = packing.pack(heads.reshape(n_holes * n_samples, n_slots, -1))
        return self._mix(x_FC, attended_FX, gains[1], weights[1:], self.config.norm_eps)

    def _rope(self, positions_F: Tensor) -> Rope:
        """Tables (F, 1, D) at these positions."""
        return _rope_at(positions_F, self.config, self.trunk.dtype)

    def _norm(self, name: str, x: Tensor) -> Tensor:
        return F.rms_norm(x, x.shape[-1:], self._weight(f"{name}.weight"), self.config.norm_eps)

    def _weight(self, name: str) -> Tensor:
        """A trained tensor, in the type to compute in."""
        return self.parameters[name].to(self.trunk.dtype)

    def _linear(self, name: str) -> tuple[Tensor, ...]:
        """A linear's weight, and its low-rank change if there is one."""
        if f"{name}.weight" in self.parameters:
            return (self._weight(f"{name}.weight"),)
        frozen = self.trunk.get_parameter(f"{name}.weight")
        return frozen, self._weight(f"{name}.lora_a"), self._weight(f"{name}.lora_b")


def encode_causal(
    trunk: Transformer, ids_RT: Tensor, length_R: Tensor, position: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """Keys and values (R, H, T, D) of each layer; every row begins at `position`. What stands in padding is noise."""
    config = trunk.config
    n_kv, group, dim = n_heads = _heads(config)
    packing = pack_rows(length_R, ids_RT.shape[1])
    places_RT = torch.arange(position, position + ids_RT.shape[1], device=ids_RT.device).expand_as(ids_RT)
    rope = _rope_at(packing.pack(places_RT), config, trunk.dtype)
    x_FC = trunk.embedding(packing.pack(ids_RT))
    for index, layer in enumerate(trunk.layers):
        assert isinstance(layer, Layer)
        gains = layer.attention_norm.weight, layer.ffn_norm.weight
        joint = packing.pad(_project(x_FC, gains[0], (layer.qkv.weight,), rope, n_heads, config.norm_eps))
        rows = joint.view(*ids_RT.shape, n_kv * (group + 2), dim).transpose(1, 2)
        q, k, v = rows.split([n_kv * group, n_kv, n_kv], 1)
        yield k, v
        if index + 1 == len(trunk.layers):
            return  # nobody reads the last layer's output
        k_all, v_all = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        attended = F.scaled_dot_product_attention(q, k_all, v_all, is_causal=True)
        attended_FX = packing.pack(attended.transpose(1, 2).flatten(2))
        linears = [(linear.weight,) for linear in (layer.out, layer.gate_up, layer.down)]
        x_FC = _mix(x_FC, attended_FX, gains[1], linears, config.norm_eps)


def block_bias(batch: Batch, config: ModelConfig, shut: float, dtype: torch.dtype) -> Tensor:
    """What is added to the scores (R, 1, Q, K): -inf where a sample may not look."""
    n_holes, n_samples, n_slots = batch.tokens_RML.shape
    device = batch.tokens_RML.device
    n_prefix, n_suffix = int(batch.split_R.max()) + 1, batch.suffix_US.shape[1]
    sees_prefix = torch.arange(n_prefix, device=device) < batch.split_R[:, None]
    sees_suffix = torch.arange(n_suffix, device=device) < batch.suffix_length_U[batch.suffix_R][:, None]
    seen = torch.cat([sees_prefix, sees_suffix], 1)[:, None, None].expand(n_holes, n_samples, n_slots, -1)
    context = torch.zeros(seen.shape, dtype=dtype, device=device).masked_fill(~seen, float("-inf"))

    slot_L = torch.arange(n_slots, device=device)
    is_mask = (batch.tokens_RML == config.mask_id)[:, :, None]
    hidden = (slot_L > slot_L[:, None]) | ((slot_L < slot_L[:, None]) & is_mask)
    real = (slot_L < batch.length_RM[..., None])[:, :, None]
    ahead = (slot_L > slot_L[:, None]) & batch.causal_RM[..., None, None]
    own = (-shut * hidden).to(dtype).masked_fill(~real | ahead, float("-inf"))  # (R, M, L, L)
    block = torch.full((n_holes, n_samples, n_slots, n_samples, n_slots), float("-inf"), dtype=dtype, device=device)
    for sample in range(n_samples):
        block[:, sample, :, sample] = own[:, sample]
    bias = torch.cat([context, block.flatten(3)], 3).flatten(1, 2)
    return bias.repeat(1, config.n_heads // config.n_kv_heads, 1)[:, None]


def _heads(config: ModelConfig) -> tuple[int, int, int]:
    return config.n_kv_heads, config.n_heads // config.n_kv_heads, config.head_dim


def _rope_at(positions_F: Tensor, config: ModelConfig, dtype: torch.dtype) -> Rope:
    # on the CPU in float32, as inference has it
    n = int(positions_F.max()) + 1
    cos, sin = rope_table(0, n, config.head_dim, config.rope_theta, dtype)
    return tuple(table.to(positions_F.device)[positions_F][:, None] for table in (cos, sin))  # pyright: ignore[reportReturnType]


def _project(
    x_FC: Tensor, gain: Tensor, qkv: tuple[Tensor, ...], rope: Rope, heads: tuple[int, int, int], eps: float
) -> Tensor:
    """Queries, keys and values, one behind the other; queries and keys rotated."""
    n_kv, group, dim = heads
    joint = _apply(F.rms_norm(x_FC, x_FC.shape[-1:], gain, eps), qkv).unflatten(-1, (-1, dim))
    turned, values = joint.split([n_kv * (group + 1), n_kv], 1)
    return torch.cat([rotate(turned, rope), values], 1).flatten(1)


def _mix(x_FC: Tensor, attended_FX: Tensor, gain: Tensor, linears: Sequence[tuple[Tensor, ...]], eps: float) -> Tensor:
    """What follows attention, each part on its residual."""
    out, gate_up, down = linears
    x_FC = x_FC + _apply(attended_FX, out)
    gate, up = _apply(F.rms_norm(x_FC, x_FC.shape[-1:], gain, eps), gate_up).chunk(2, -1)
    return x_FC + _apply(F.silu(gate) * up, down)


def _apply(x: Tensor, linear: tuple[Tensor, ...]) -> Tensor:
    """A linear, with its low-rank change if it has one."""
    weight, *lora = linear
    return F.linear(x, weight) + (x @ lora[0]) @ lora[1] if lora else F.linear(x, weight)
