"""Makes a run's adapter the released one: half the bytes, a version, and what it was made of.

python -m midspan_model.training.release run --corpus corpus --version 1 --out adapters/midspan-135m-r64.safetensors
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor

from midspan_model.checkpoints import read_state
from midspan_model.errors import ModelError
from midspan_model.training.saving import ADAPTER, save_adapter

_LARGEST_BYTES = 40_000_000


def release(run: Path, corpus: Path, version: str, out: Path, start: Path | None = None, share: float = 1.0) -> float:
    """Write the adapter file; matrices in float16, gains and the mask embedding as they are.

    Args:
        run: folder of the run.
        corpus: folder of what it learnt from.
        version: of the weights.
        out: the file.
        start: adapter that the run began with; what is released then lies between both (WiSE-FT, arXiv 2109.01903).
        share: of the run's end in that; the rest is its start.

    Returns:
        the largest change of a product of two low-rank matrices, relative to its largest entry.

    Raises:
        ModelError: the run or the corpus is not there, or the file would be too large to commit.
    """
    record = corpus / "record.json"
    if not record.is_file():
        raise ModelError(f"{corpus} has no record of what it was made of")
    values = read_state(run / ADAPTER)
    if start is not None:
        begun = read_state(start)
        values = {name: torch.lerp(begun[name].float(), value.float(), share) for name, value in values.items()}
        version = f"{version}, {share:g} of the way from {begun_with(start)}"
    halved = {name: value.half() if value.dim() == 2 else value for name, value in values.items()}
    with safe_open(run / ADAPTER, "pt") as file:  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        metadata: dict[str, str] = file.metadata()  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    about = json.loads(record.read_text(encoding="utf-8"))
    sources = [f"{one['name']}@{one['state']} ({one['licence']})" for one in about["sources"] if one["kept"]]
    save_adapter(out, halved, {**metadata, "version": version, "corpus": json.dumps(sources)})
    if out.stat().st_size > _LARGEST_BYTES:
        raise ModelError(f"{out.name} has {out.stat().st_size} bytes, too many to commit")
    return max((_change(values, halved, name) for name in values if name.endswith(".lora_a")), default=0.0)


def begun_with(start: Path) -> str:
    """The version of the adapter that a run began with."""
    with safe_open(start, "pt") as file:  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        metadata: dict[str, str] = file.metadata() or {}  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return metadata.get("version", "an unnamed one")


def _change(exact: dict[str, Tensor], halved: dict[str, Tensor], name: str) -> float:
    other = name.removesuffix("a") + "b"
    wanted = exact[name].float() @ exact[other].float()
    return float(
        (halved[name].float() @ halved[other].float() - wanted).abs().max() / wanted.abs().max().clamp(min=1e-9)
    )


def main() -> int:
    """Release; 0 if it could be done."""
    parser = argparse.ArgumentParser(prog="python -m midspan_model.training.release", description=release.__doc__)
    parser.add_argument("run", type=Path, help="folder of the run")
    parser.add_argument("--corpus", type=Path, required=True, help="folder that has the corpus's record.json")
    parser.add_argument("--start", type=Path, help="adapter that the run began with, to release what lies between")
    parser.add_argument("--share", type=float, default=1.0, help="of the run's end in that, 0 to 1")
    parser.add_argument("--version", required=True, help="of the weights")
    parser.add_argument("--out", type=Path, required=True, help="the adapter file")
    options = parser.parse_args()
    torch.set_num_threads(1)
    try:
        change = release(options.run, options.corpus, options.version, options.out, options.start, options.share)
    except ModelError as error:
        print(f"{error}\n{error.hint}", file=sys.stderr)
        return 1
    print(
        f"{options.out}: {options.out.stat().st_size} bytes, products changed by at most {change:.1e} of their largest"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
