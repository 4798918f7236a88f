"""From the tokens of a middle to its text. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from midspan_model.tokenizer import Tokenizer


def spell(token_ids: Sequence[int], n_healed: int, tokenizer: Tokenizer) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The text of a middle behind its first `n_healed` bytes, and for each token the code points it stands for.

    Bytes that are not UTF-8, such as half a character at the end, are left out.
    """
    pieces = [tokenizer.token_bytes(token_id) for token_id in token_ids]
    middle = b"".join(pieces)[n_healed:]
    ends: list[int] = []
    n_bytes = -n_healed
    for piece in pieces:
        n_bytes += len(piece)
        ends.append(len(middle[: max(n_bytes, 0)].decode("utf-8", "ignore")))
    return middle.decode("utf-8", "ignore"), tuple(zip([0, *ends], ends, strict=False))
