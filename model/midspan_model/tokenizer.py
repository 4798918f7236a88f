"""The trunk's byte-level BPE: text to tokens, tokens to bytes."""

from __future__ import annotations

import bisect
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from midspan_model.errors import WeightsError

if TYPE_CHECKING:
    import tokenizers


def build_bpe(vocab: list[str], merges: list[str]) -> tokenizers.Tokenizer:
    """The trunk's tokenizer from the lists in its GGUF file.

    No token counts as special: `<|endoftext|>` in a user's file is text like any other.

    Args:
        vocab: tokens by id, in GPT-2's printable form of bytes.
        merges: pairs joined by a space, best first.
    """
    from tokenizers import Tokenizer as Bpe  # noqa: PLC0415  (heavy: only where a tokenizer is made)
    from tokenizers import decoders, models, pre_tokenizers  # noqa: PLC0415

    pairs = [(left, right) for left, _, right in (merge.partition(" ") for merge in merges)]
    bpe = Bpe(models.BPE(vocab={token: index for index, token in enumerate(vocab)}, merges=pairs))
    digits = pre_tokenizers.Digits(individual_digits=True)
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    bpe.pre_tokenizer = pre_tokenizers.Sequence([digits, byte_level])  # pyright: ignore[reportAttributeAccessIssue]
    bpe.decoder = decoders.ByteLevel()  # pyright: ignore[reportAttributeAccessIssue]
    return bpe


class Tokenizer:
    """Text to tokens and tokens to bytes.

    Args:
        path: a `tokenizer.json`.
        n_special: ids below this stand for no text.

    Raises:
        WeightsError: the file cannot be read.
    """

    def __init__(self, path: Path, n_special: int) -> None:
        from tokenizers import Tokenizer as Bpe  # noqa: PLC0415

        try:
            self._bpe = Bpe.from_file(str(path))
        except Exception as error:  # the library raises a bare Exception
            raise WeightsError(f"{path.name} of the model cannot be read: {error}") from error
        size = self._bpe.get_vocab_size()
        self._fill([b"" if index < n_special else self._spell(index) for index in range(size)])

    def _fill(self, spelled: list[bytes]) -> None:
        """Take what each id stands for, by id."""
        self._bytes = spelled
        self._sorted = sorted((text, index) for index, text in enumerate(self._bytes) if text)
        self._ids: dict[bytes, list[int]] = {}
        for text, index in self._sorted:
            self._ids.setdefault(text, []).append(index)
        self.agreeing = lru_cache(maxsize=256)(self._agreeing)

    @property
    def vocab_size(self) -> int:
        """Number of ids."""
        return len(self._bytes)

    def encode(self, text: str) -> list[int]:
        """Tokens of a text; a lone surrogate counts as "?"."""
        return self._bpe.encode(text.encode("utf-8", "replace").decode("utf-8"), add_special_tokens=False).ids

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes that a token stands for; none for special ones."""
        return self._bytes[token_id]

    def _spell(self, token_id: int) -> bytes:
        printable = self._bpe.id_to_token(token_id) or ""
        return bytes(_BYTE_OF[character] for character in printable) if set(printable) <= _BYTE_OF.keys() else b""

    def _agreeing(self, wanted: bytes) -> tuple[int, ...]:
        """Ids of the tokens that begin with `wanted` or that `wanted` begins with."""
        first = bisect.bisect_left(self._sorted, (wanted, -1))
        longer: list[int] = []
        for text, index in self._sorted[first:]:
            if not text.startswith(wanted):
                break
            longer.append(index)
        shorter = [index for end in range(1, len(wanted)) for index in self._ids.get(wanted[:end], ())]
        return (*longer, *shorter)


def _printable_bytes() -> dict[str, int]:
    """GPT-2's printable stand-in for each byte (`bytes_to_unicode`)."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + rank): byte for rank, byte in enumerate(others)}


_BYTE_OF = _printable_bytes()
