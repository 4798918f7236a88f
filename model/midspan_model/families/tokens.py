"""A published checkpoint's tokenizer: byte-level BPE, its added tokens kept out of the user's text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from midspan_model.errors import WeightsError
from midspan_model.tokenizer import Tokenizer

_QWEN2_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""Qwen2's rule for where words begin, for checkpoints that come with `vocab.json` and `merges.txt` alone."""


class CheckpointTokenizer(Tokenizer):
    """The tokenizer of a checkpoint folder.

    A text that spells an added token, such as `<|mask|>` in a user's file, is text like any other.

    Args:
        folder: with a `tokenizer.json`, or with `vocab.json` and `merges.txt`.

    Raises:
        WeightsError: it has neither, or its tokens are no bytes.
    """

    def __init__(self, folder: Path) -> None:
        self.added_ids = added_ids(folder)
        silent = set(self.added_ids.values())
        self._bpe = _read_bpe(folder)
        size = max([self._bpe.get_vocab_size(), *(1 + index for index in silent)])
        self._fill([b"" if index in silent else self._spell(index) for index in range(size)])
        if sum(len(text) == 1 for text in self._bytes) < 200:  # the bytes that no UTF-8 has may be left out
            raise WeightsError("the model's tokenizer does not spell single bytes; only byte-level BPE is read")

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes that a token stands for; none for special ones, and for rows of the model that pad its matrix."""
        return self._bytes[token_id] if token_id < len(self._bytes) else b""


def added_ids(folder: Path) -> dict[str, int]:
    """Ids of all added tokens, by name, from whichever files have them."""
    found: dict[str, int] = {}
    whole = read_json(folder / "tokenizer.json")
    found.update({one["content"]: one["id"] for one in whole.get("added_tokens", [])})
    found.update(read_json(folder / "added_tokens.json"))
    decoder = read_json(folder / "tokenizer_config.json").get("added_tokens_decoder", {})
    found.update({one["content"]: int(index) for index, one in decoder.items()})
    return found


def read_json(path: Path) -> Mapping[str, Any]:
    """A JSON object of a file; an empty one if there is no such file.

    Raises:
        WeightsError: the file cannot be read.
    """
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WeightsError(f"{path.name} of the model cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise WeightsError(f"{path.name} of the model is no JSON object")
    return found


def _read_bpe(folder: Path) -> Any:
    from tokenizers import Regex, decoders, models, pre_tokenizers  # noqa: PLC0415  (heavy)
    from tokenizers import Tokenizer as Bpe  # noqa: PLC0415

    try:
        if whole := read_json(folder / "tokenizer.json"):
            return Bpe.from_str(json.dumps({**whole, "added_tokens": [], "post_processor": None}))
        paths = [folder / name for name in ("vocab.json", "merges.txt")]
        if not all(path.is_file() for path in paths):
            raise WeightsError(f"{folder} has no tokenizer: no tokenizer.json, and no vocab.json with merges.txt")
        bpe = Bpe(models.BPE.from_file(*map(str, paths)))
    except WeightsError:
        raise
    except Exception as error:  # the library raises a bare Exception
        raise WeightsError(f"the model's tokenizer cannot be read: {error}") from error
    words = pre_tokenizers.Split(Regex(_QWEN2_WORDS), "isolated")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    bpe.pre_tokenizer = pre_tokenizers.Sequence([words, byte_level])  # pyright: ignore[reportAttributeAccessIssue]
    bpe.decoder = decoders.ByteLevel()  # pyright: ignore[reportAttributeAccessIssue]
    return bpe
