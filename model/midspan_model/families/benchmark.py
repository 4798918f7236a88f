"""Bigger checkpoints' speed: `python -m midspan_model.benchmark families`, meant for a machine with a GPU.

A model of a published shape with random weights, which take as long as trained ones, does at several batch sizes what
typing does (one token a forward, all before it cached) and what denoising does (a block of masks a forward, the rest
cached; or the whole canvas). Where denoising commits more tokens a forward than the ridge, it is the faster of the two.

Shapes: B canvases, T tokens of a call.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from midspan_model.blank import blank_modules
from midspan_model.context_encoding import Cost
from midspan_model.families.canvas_forward import CanvasForward
from midspan_model.families.opening import Checkpoint, open_checkpoint
from midspan_model.families.sheet import Kept, Sheet
from midspan_model.families.transformers_modules import qwen2
from midspan_model.families.weights import Backbone, Int8Linear, Placement, best_placement

_QWEN2 = {"max_position_embeddings": 32768, "rms_norm_eps": 1e-6, "rope_theta": 1e6, "tie_word_embeddings": False}
SIZES = {
    "7b": {
        **_QWEN2,
        "hidden_size": 3584,
        "intermediate_size": 18944,
        "num_hidden_layers": 28,
        "num_attention_heads": 28,
        "num_key_value_heads": 4,
        "vocab_size": 152064,
    },
    "0.5b": {
        **_QWEN2,
        "hidden_size": 896,
        "intermediate_size": 4864,
        "num_hidden_layers": 24,
        "num_attention_heads": 14,
        "num_key_value_heads": 2,
        "vocab_size": 151936,
    },
    "tiny": {
        **_QWEN2,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": 512,
    },
}
"""Dream's and DiffuCoder's shape, Open-dCoder's, and one for trying the program."""


@dataclass(frozen=True)
class Row:
    """What one batch size costs.

    Attributes:
        batch: canvases at once.
        typed_ms: a forward that types one token in each.
        block_ms: a forward over a block of masks in each, by the number of its slots.
        canvas_ms: a forward over all tokens.
    """

    batch: int
    typed_ms: float
    block_ms: dict[int, float]
    canvas_ms: float

    def ridge(self, n_slots: int) -> float:
        """Tokens that a forward over such a block must commit to keep up with typing."""
        return self.block_ms[n_slots] / self.typed_ms

    def typed_per_s(self) -> float:
        """Tokens a second by typing, all canvases together."""
        return 1e3 * self.batch / self.typed_ms

    def denoised_per_s(self, n_slots: int, per_forward: float) -> float:
        """The same by denoising, if each forward commits so many tokens in each canvas."""
        return 1e3 * self.batch * per_forward / self.block_ms[n_slots]


def random_backbone(size: str, placement: Placement) -> Backbone:
    """A model of this shape whose weights are random: on its device at once, never in a file."""
    with blank_modules():
        modules = qwen2(SIZES[size])
    modules = modules.to(placement.dtype).to_empty(device=placement.device)
    for parameter in modules.parameters():
        parameter.requires_grad_(False).normal_(0, 0.02)
    if placement.int8:
        for name, module in list(modules.named_modules()):
            if isinstance(module, nn.Linear) and not name.endswith("lm_head"):
                modules.set_submodule(name, Int8Linear(module.weight, module.bias, placement))
    with torch.device(placement.device):
        modules.materialise()
    return modules.eval()


@torch.inference_mode()
def measure(
    backbone: Backbone, placement: Placement, batch: int, n_context: int, slots: Sequence[int], n_rounds: int
) -> Row:
    """Milliseconds of each kind of forward: medians of some rounds, the first left out."""
    most = max(slots)
    kept = Kept(n_context + most)
    ids_BT = torch.randint(0, 256, (batch, n_context + most), device=placement.device)
    places_BT = torch.arange(n_context + most, device=placement.device).expand(batch, -1)

    def run(first: int, n: int, sheet: Sheet) -> Tensor:
        hidden = backbone.hidden(ids_BT[:, first : first + n], places_BT[:, first : first + n], sheet)
        return backbone.logits(hidden[:, -min(n, most) :])

    def block(n: int) -> Callable[[], object]:
        return lambda: run(n_context, n, Sheet(None, kept, slice(n_context, n_context + n), n_context + n))

    backbone.hidden(ids_BT[:, :n_context], places_BT[:, :n_context], Sheet(None, kept, slice(0, n_context), n_context))
    timed = [_time(block(n), placement, n_rounds) for n in (1, *slots)]
    canvas_ms = _time(lambda: run(0, n_context + most, Sheet()), placement, n_rounds)
    return Row(batch, timed[0], dict(zip(slots, timed[1:], strict=True)), canvas_ms)


@torch.inference_mode()
def cache_error(checkpoint: Checkpoint, n_context: int, n_slots: int, refresh: int) -> dict[int, tuple[float, float]]:
    """How far the approximate cache is from exact forwards, by its age in forwards.

    A block is denoised from the surest slot on by exact forwards, and each is asked of a canvas with the cache too.

    Returns:
        by age the mean divergence of the masked slots' distributions, in nats, and the share with the same best token.
    """
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, min(checkpoint.n_rows, 200), (n_context,), generator=generator).tolist()
    texts = ids[: n_context // 2], ids[n_context // 2 :]
    exact, near = (CanvasForward(checkpoint, *texts, Cost(), every) for every in (1, refresh))
    mask_id = checkpoint.family.mask_id
    tokens = [ids[0], *[mask_id] * n_slots]
    found: dict[int, list[tuple[float, float]]] = {}
    for step in range(n_slots):
        slots = [slot for slot, token in enumerate(tokens) if token == mask_id]
        right_MV, near_MV = exact(tokens, slots).log_softmax(-1), near(tokens, slots).log_softmax(-1)
        divergence = float((right_MV.exp() * (right_MV - near_MV)).sum(-1).mean())
        same = float((right_MV.argmax(-1) == near_MV.argmax(-1)).float().mean())
        found.setdefault(step % refresh, []).append((divergence, same))
        right_MV[:, mask_id] = float("-inf")
        confidence_M, token_M = right_MV.max(-1)
        best = int(confidence_M.argmax())
        tokens[slots[best]] = int(token_M[best])
    return {age: tuple(statistics.mean(part) for part in zip(*pairs, strict=True)) for age, pairs in found.items()}  # pyright: ignore[reportReturnType]


def main(arguments: Sequence[str]) -> None:
    """Measure, print a table and one JSON line."""
    options = _parser().parse_args(arguments)
    placement = best_placement(options.device, options.weights)
    gpu = torch.cuda.get_device_name() if placement.device.type == "cuda" else ""
    print(f"{options.model or f'{options.size} with random weights'}, {placement}: {gpu or 'no GPU was at hand'}")
    if options.model:
        errors = cache_error(open_checkpoint(options.model, placement), options.context, 32, options.refresh)
        for age, (nats, same) in errors.items():
            print(f"cache {age} forwards old: {nats:.4f} nats from exact, {100 * same:.1f} % the same best token")
        print(json.dumps({"model": str(options.model), "cache_error": errors}))
        return
    backbone = random_backbone(options.size, placement)
    rows = [
        measure(backbone, placement, batch, options.context, options.slots, options.rounds) for batch in options.batch
    ]
    for row in rows:
        print(f"batch {row.batch}: typed {row.typed_ms:.2f} ms, {row.typed_per_s():.0f} tokens/s", end="")
        print(f"; whole canvas {row.canvas_ms:.2f} ms")
        for n in options.slots:
            rates = ", ".join(f"{row.denoised_per_s(n, per):.0f} at {per}" for per in (1, 2, 4) if per <= n)
            print(
                f"  {n} slots: {row.block_ms[n]:.2f} ms, ridge {row.ridge(n):.2f} tokens a forward; tokens/s: {rates}"
            )
    described = {"size": options.size, "context": options.context, "where": str(placement), "gpu": gpu}
    print(json.dumps({**described, "rows": [vars(row) for row in rows]}))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m midspan_model.benchmark families", description=__doc__)
    parser.add_argument("--size", choices=list(SIZES), default="7b")
    parser.add_argument("--device", default="", help="cpu, cuda or mps; by default the best there is")
    parser.add_argument("--weights", default="", help="float32, bfloat16, float16 or int8")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--slots", type=int, nargs="+", default=[8, 16, 32, 64])
    parser.add_argument("--context", type=int, default=1024, help="tokens around the middle")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--model", type=Path, metavar="FOLDER", help="a checkpoint: how far its approximate cache errs")
    parser.add_argument("--refresh", type=int, default=8, help="forwards on one cache, where that is measured")
    return parser


def _time(call: Callable[[], object], placement: Placement, n_rounds: int) -> float:
    """Milliseconds of a call on the clock: the median."""
    taken: list[float] = []
    for _ in range(n_rounds + 1):
        _finish(placement)
        began_s = time.perf_counter()
        call()
        _finish(placement)
        taken.append(1e3 * (time.perf_counter() - began_s))
    return statistics.median(taken[1:])


def _finish(placement: Placement) -> None:
    """Wait for a device that computes on its own."""
    if placement.device.type == "cuda":
        torch.cuda.synchronize(placement.device)
    elif placement.device.type == "mps":
        torch.mps.synchronize()
