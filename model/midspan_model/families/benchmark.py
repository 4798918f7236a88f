"""Bigger checkpoints' speed: `python -m midspan_model.benchmark families`, meant for a machine with a GPU.

A model of a published shape with random weights, which take as long as trained ones, does at several batch sizes what
typing does (one token a forward, all before it cached) and what denoising does (a block of masks a forward, the rest
cached; or the whole canvas). Where denoising commits more tokens a forward than the ridge, it is the faster of the two.

Each batch size is printed as soon as it is measured, with its own JSON line, so that a run that is cut short has told
what it found. What cannot be computed, for want of memory say, is named, and the rest goes on. With the 7B shape and
the default options it is about 16 PFLOP, half a minute at 600 TFLOP/s.

Shapes: B canvases, T tokens of a call.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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


def _qwen2(width: int, inner: int, layers: int, heads: int, n_kv: int, rows: int) -> dict[str, object]:
    """A `config.json` of this shape."""
    return {
        "hidden_size": width,
        "intermediate_size": inner,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": n_kv,
        "vocab_size": rows,
        "max_position_embeddings": 32768,
        "rms_norm_eps": 1e-6,
        "rope_theta": 1e6,
        "tie_word_embeddings": False,
    }


SIZES = {
    "7b": _qwen2(3584, 18944, 28, 28, 4, 152064),
    "0.5b": _qwen2(896, 4864, 24, 14, 2, 151936),
    "tiny": _qwen2(64, 128, 2, 4, 2, 512),
}
"""Dream's and DiffuCoder's shape, Open-dCoder's, and one for trying the program."""

_TYPED, _CANVAS = "typed", "canvas"


@dataclass(frozen=True)
class Row:
    """What one batch size costs.

    Attributes:
        batch: canvases at once.
        ms: of a forward, by what it computes: `typed`, one token in each canvas; `N slots`, a block of masks in each;
            `canvas`, all tokens. What failed is missing.
        failed: the same names -> why.
        peak_gb: most memory of the device that tensors took, weights included; None where the device does not tell.
    """

    batch: int
    ms: dict[str, float]
    failed: dict[str, str]
    peak_gb: float | None = None

    def ridge(self, n_slots: int) -> float | None:
        """Tokens that a forward over such a block must commit to keep up with typing."""
        typed_ms, block_ms = self.ms.get(_TYPED), self.ms.get(_slots(n_slots))
        return None if typed_ms is None or block_ms is None else block_ms / typed_ms

    def per_s(self, name: str, per_forward: float = 1) -> float:
        """Tokens a second, all canvases together, if each forward commits so many tokens in each canvas."""
        return 1e3 * self.batch * per_forward / self.ms[name]


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
    """Milliseconds of each kind of forward: medians of some rounds, the first left out; what fails is told."""
    row = Row(batch, {}, {})
    n_all = n_context + max(slots)
    kept = Kept(n_all)
    _forget_peak(placement)

    def run(first: int, n: int, sheet: Sheet) -> Tensor:
        ids_BT = torch.full((batch, n), 7, device=placement.device)
        places_BT = torch.arange(first, first + n, device=placement.device).expand(batch, -1)
        hidden = backbone.hidden(ids_BT, places_BT, sheet)
        return backbone.logits(hidden[:, -min(n, max(slots)) :])

    def block(n: int) -> Callable[[], object]:
        return lambda: run(n_context, n, Sheet(None, kept, slice(n_context, n_context + n), n_context + n))

    works = {_TYPED: block(1), **{_slots(n): block(n) for n in slots}, _CANVAS: lambda: run(0, n_all, Sheet())}
    for name, work in works.items():
        try:
            if name == _TYPED:
                run(0, n_context, Sheet(None, kept, slice(0, n_context), n_context))
            row.ms[name] = _time(work, placement, n_rounds)
        except RuntimeError as error:  # torch's for want of memory too
            row.failed[name] = (str(error) or repr(error)).splitlines()[0]
    return replace(row, peak_gb=_peak_gb(placement))


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
    what = options.model or f"{options.size} with random weights"
    print(f"{what}, {placement}: {placement.gpu or 'no GPU was at hand'}", flush=True)
    if options.model:
        errors = cache_error(open_checkpoint(options.model, placement), options.context, 32, options.refresh)
        for age, (nats, same) in errors.items():
            print(f"cache {age} forwards old: {nats:.4f} nats from exact, {100 * same:.1f} % the same best token")
        print(json.dumps({"model": str(options.model), "cache_error": errors}))
        return
    backbone, rows = random_backbone(options.size, placement), list[Row]()
    for batch in options.batch:
        rows.append(measure(backbone, placement, batch, options.context, options.slots, options.rounds))
        _show(rows[-1], options.slots)
    described = {"size": options.size, "context": options.context, "where": str(placement), "gpu": placement.gpu}
    print(json.dumps({**described, "torch": torch.__version__, "rows": [vars(row) for row in rows]}), flush=True)


def _show(row: Row, slots: Sequence[int]) -> None:
    """A batch size for people, then as JSON."""
    memory = "" if row.peak_gb is None else f"; {row.peak_gb:.1f} GB at most"
    print(f"batch {row.batch}{memory}")
    if _TYPED in row.ms:
        print(f"  typed: {row.ms[_TYPED]:.2f} ms, {row.per_s(_TYPED):.0f} tokens/s")
    for n in (n for n in slots if _slots(n) in row.ms):
        rates = ", ".join(f"{row.per_s(_slots(n), per):.0f} at {per}" for per in (1, 2, 4, 8) if per <= n)
        ridge = row.ridge(n)
        told = "" if ridge is None else f", ridge {ridge:.2f} tokens a forward"
        print(f"  {_slots(n)}: {row.ms[_slots(n)]:.2f} ms{told}; tokens/s by tokens a forward: {rates}")
    if _CANVAS in row.ms:
        print(f"  whole canvas: {row.ms[_CANVAS]:.2f} ms, {row.ms[_CANVAS] / row.batch:.2f} ms for each")
    for name, why in row.failed.items():
        print(f"  {name} failed: {why}")
    print(json.dumps(vars(row)), flush=True)


def _slots(n: int) -> str:
    return f"{n} slots"


def _forget_peak(placement: Placement) -> None:
    if placement.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(placement.device)


def _peak_gb(placement: Placement) -> float | None:
    if placement.device.type != "cuda":
        return None
    return round(torch.cuda.max_memory_allocated(placement.device) / 1e9, 2)


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
