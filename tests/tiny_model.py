"""Real classes at tiny size."""

from __future__ import annotations

from pathlib import Path

import torch
from midspan_model.architecture import Transformer
from midspan_model.checkpoints import load_infiller, save_state
from midspan_model.config import DenoiseConfig, ModelConfig
from midspan_model.infilling import Infiller
from midspan_model.tokenizer import build_bpe
from tokenizers.pre_tokenizers import ByteLevel

MODEL = ModelConfig(
    n_layers=2, width=48, n_heads=6, n_kv_heads=2, head_dim=8, ffn_width=64, vocab_size=17 + 256 + 3, block_slots=6
)
MERGES = ["d e", "de f", "Ġ Ġ"]
RANK = 4


def write_tiny_checkpoint(folder: Path, seed: int = 0) -> Path:
    """Write a whole checkpoint with random weights."""
    torch.manual_seed(seed)
    MODEL.save(folder / "config.json")
    special = [f"<special {index}>" for index in range(MODEL.n_special)]
    alphabet = sorted(ByteLevel.alphabet())
    build_bpe([*special, *alphabet, *(merge.replace(" ", "") for merge in MERGES)], MERGES).save(
        str(folder / "tokenizer.json")
    )
    trunk = Transformer(MODEL).state_dict()
    for name, weight in trunk.items():
        if name.startswith("layers.") and weight.dim() == 2:
            weight.mul_(4)  # so that the layers outweigh the tied embedding, which alone would repeat its input
    save_state(trunk, folder / "trunk.safetensors")
    adapter = {"mask_embedding": torch.randn(MODEL.width)}
    for name, weight in trunk.items():
        if name.startswith("layers.") and weight.dim() == 2:
            path = name.removesuffix(".weight")
            adapter[f"{path}.lora_a"] = torch.randn(weight.shape[1], RANK) / 4
            adapter[f"{path}.lora_b"] = torch.randn(RANK, weight.shape[0]) / 4
        elif "norm" in name:
            adapter[name] = weight + 0.1 * torch.randn_like(weight)
    save_state(adapter, folder / "adapter.safetensors")
    return folder


def tiny_infiller(folder: Path, **config: float) -> Infiller:
    """An infiller of that checkpoint, on one thread: at this size more only get into each other's way."""
    torch.set_num_threads(1)
    return load_infiller(folder, DenoiseConfig(**config), dtype=torch.float32)  # pyright: ignore[reportArgumentType]


class Stop:
    """A stop signal that says so after some questions."""

    def __init__(self, cancel_after: int | None = None, expire_after: int | None = None) -> None:
        self.cancel_after, self.expire_after, self.n_asked = cancel_after, expire_after, 0

    def cancelled(self) -> bool:
        self.n_asked += 1
        return self.cancel_after is not None and self.n_asked > self.cancel_after

    def expired(self) -> bool:
        return self.expire_after is not None and self.n_asked > self.expire_after
