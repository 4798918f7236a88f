"""Encoded contexts kept on disk: the trunk is frozen, so every adapter and every way meets the same ones.

Encoding takes most of an evaluation's time. Each part is kept by what it was made of: the trunk and its tokens.

Shapes: N layers, H key/value heads, T tokens, D width of a head.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from midspan_model.context_encoding import Cost, encode_context
from midspan_model.evaluation.typewriter import NeverStop
from midspan_model.infilling import Infiller
from midspan_model.kv_cache import ContextCache
from midspan_model.questions import Question

_CHUNK = 512


class ContextStore:
    """Keys and values of prefixes and suffixes, one file each.

    Args:
        folder: made if it is not there; about 50 kB a token.
        trunk_sha256: of the trunk's weights.
    """

    def __init__(self, folder: Path, trunk_sha256: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._trunk_sha256 = folder, trunk_sha256

    @torch.inference_mode()
    def put_into(self, infiller: Infiller, question: Question) -> None:
        """Bring the infiller's pool of contexts to where it would be after this question."""
        canvas = infiller.canvas(question)
        cache = infiller.contexts.take(canvas.prefix_ids)
        prefix_ids, suffix_ids = list(canvas.prefix_ids[:-1]), list(canvas.suffix_ids)
        files = self._file("prefix", prefix_ids), self._file("suffix", suffix_ids)
        if all(file.exists() for file in files):
            cache.prefix_ids, cache.suffix_ids = prefix_ids, suffix_ids
            for (start, end), file in zip(_places(cache), files, strict=True):
                stored = load_file(file)
                cache.keys_NHSD[:, :, start:end] = stored["keys_NHTD"]
                cache.values_NHSD[:, :, start:end] = stored["values_NHTD"]
            return
        encode_context(infiller.trunk, cache, prefix_ids, suffix_ids, _CHUNK, NeverStop(), Cost())
        for (start, end), file in zip(_places(cache), files, strict=True):
            keys, values = cache.keys_NHSD[:, :, start:end], cache.values_NHSD[:, :, start:end]
            part = file.with_suffix(".part")
            save_file({"keys_NHTD": keys.contiguous(), "values_NHTD": values.contiguous()}, part)
            part.replace(file)

    def _file(self, kind: str, ids: Sequence[int]) -> Path:
        made_of = f"{self._trunk_sha256} {kind} {list(ids)}"
        return self._folder / f"{hashlib.sha256(made_of.encode()).hexdigest()}.safetensors"


def _places(cache: ContextCache) -> tuple[tuple[int, int], tuple[int, int]]:
    """Where prefix and suffix stand in the buffer."""
    return (cache.suffix_room, cache.prefix_end), (cache.suffix_start, cache.suffix_room)
