"""Converts the trunk's GGUF file to safetensors, once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from midspan_model.config import ModelConfig
from midspan_model.tokenizer import build_bpe

if TYPE_CHECKING:
    from midspan_model.trunk_download import OnProgress

_LAYER_PARTS = {
    "attention_norm": ["attn_norm"],
    "qkv": ["attn_q", "attn_k", "attn_v"],
    "out": ["attn_output"],
    "ffn_norm": ["ffn_norm"],
    "gate_up": ["ffn_gate", "ffn_up"],
    "down": ["ffn_down"],
}
"""Our modules, and the GGUF tensors that are fused into each by rows."""


def convert_gguf(gguf: Path, folder: Path, on_progress: OnProgress) -> None:
    """Write `trunk.safetensors` (float16), `tokenizer.json` and `config.json` into `folder`."""
    import numpy as np  # noqa: PLC0415  (needed once, on the day of the download)
    from gguf import GGUFReader  # noqa: PLC0415
    from gguf.quants import dequantize  # noqa: PLC0415
    from safetensors.numpy import save_file  # noqa: PLC0415

    reader = GGUFReader(gguf)
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    config = _read_config(reader)
    n_done = 0

    def read(name: str) -> Any:
        nonlocal n_done
        n_done += 1
        on_progress("converting weights", n_done, len(tensors))
        weight = dequantize(tensors[name].data, tensors[name].tensor_type)
        n_heads = {"attn_q": config.n_heads, "attn_k": config.n_kv_heads}.get(name.split(".")[-2])
        return (weight if n_heads is None else unpermute(weight, n_heads)).astype(np.float16)

    state = {"embedding.weight": read("token_embd.weight"), "norm.weight": read("output_norm.weight")}
    state["mask_embedding"] = np.zeros(config.width, np.float16)
    for layer in range(config.n_layers):
        for module, parts in _LAYER_PARTS.items():
            weights = [read(f"blk.{layer}.{part}.weight") for part in parts]
            state[f"layers.{layer}.{module}.weight"] = np.ascontiguousarray(np.concatenate(weights))
    save_file(state, folder / "trunk.safetensors")
    (folder / "trunk.safetensors").chmod(0o644)  # safetensors keeps it to its owner; a cache may be shared
    merges = reader.fields["tokenizer.ggml.merges"].contents()
    build_bpe(reader.fields["tokenizer.ggml.tokens"].contents(), merges).save(str(folder / "tokenizer.json"))
    config.save(folder / "config.json")


def unpermute(weight: Any, n_heads: int) -> Any:
    """Undo llama.cpp's row order of queries and keys (pairs side by side) for the halves layout of `rotate`."""
    n_rows, width = weight.shape
    half = n_rows // n_heads // 2
    return weight.reshape(n_heads, half, 2, width).swapaxes(1, 2).reshape(n_rows, width)


def _read_config(reader: Any) -> ModelConfig:
    """The shape as the file tells it; what concerns blocks and special ids is ours."""

    def value(name: str) -> Any:
        return reader.fields[f"llama.{name}"].contents()

    n_heads, width = value("attention.head_count"), value("embedding_length")
    return ModelConfig(
        n_layers=value("block_count"),
        width=width,
        n_heads=n_heads,
        n_kv_heads=value("attention.head_count_kv"),
        head_dim=width // n_heads,
        ffn_width=value("feed_forward_length"),
        vocab_size=value("vocab_size"),
        rope_theta=float(value("rope.freq_base")),
        norm_eps=round(float(value("attention.layer_norm_rms_epsilon")), 12),
    )
