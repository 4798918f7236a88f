"""The canvas: which tokens stand where around a middle.

    [suffix, right-aligned][prefix without its last token][block: slot 0, then masks]

Slot 0 is the prefix's last token after backing up one token; the bytes of the token that was dropped are healed, that
is, the first slots may take only tokens that agree with them (`denoiser.md`, "Slots, positions, shift").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from midspan_model.config import DenoiseConfig, ModelConfig
from midspan_model.tokenizer import Tokenizer

CHARACTERS_PER_TOKEN = 6
"""No context reads more characters per token of its budget than this; code has about three."""


@dataclass(frozen=True)
class Canvas:
    """The known tokens around a middle.

    Attributes:
        suffix_ids: the suffix, beginning with the suffix token.
        prefix_ids: the prefix, beginning with the prefix token; its last token is slot 0 of the first block.
        healed: bytes before the cursor that the first slots have to reproduce.
    """

    suffix_ids: tuple[int, ...]
    prefix_ids: tuple[int, ...]
    healed: bytes


def build_canvas(
    prefix: str, suffix: str, tokenizer: Tokenizer, model: ModelConfig, config: DenoiseConfig, neighbour: str = ""
) -> Canvas:
    """The canvas of two texts, cut to the budgets of `config`.

    The far end of a long prefix is cut in strides of half the budget, so that its first token, and with it the
    cache, stands still while one types. A neighbour, lines of another place that are like the prefix, stands in front
    and takes its tokens from the prefix's budget.
    """
    n_suffix = min(config.suffix_tokens, model.suffix_room) - 1
    suffix_ids, prefix_ids, healed = cut_texts(prefix, suffix, tokenizer, config, n_suffix, neighbour)
    return Canvas((model.suffix_id, *suffix_ids), (model.prefix_id, *prefix_ids), healed)


def cut_texts(
    prefix: str, suffix: str, tokenizer: Tokenizer, config: DenoiseConfig, n_suffix: int, neighbour: str = ""
) -> tuple[list[int], list[int], bytes]:
    """The tokens of suffix and prefix within their budgets, the neighbour's first, and the bytes to be healed."""
    prefix_ids, healed = _back_up(prefix, tokenizer)
    neighbour_ids = _whole_lines(neighbour, tokenizer, min(config.neighbour_tokens, config.prefix_tokens // 2))
    budget = config.prefix_tokens - 1 - len(neighbour_ids)
    if len(prefix_ids) > budget:
        stride = max(1, budget // 2)
        prefix_ids = prefix_ids[-(-(len(prefix_ids) - budget) // stride) * stride :]
    near = suffix[: max(n_suffix, 0) * CHARACTERS_PER_TOKEN]
    suffix_ids = tokenizer.encode(near)[: max(n_suffix, 0)]
    return suffix_ids, [*neighbour_ids, *prefix_ids], healed


def tokenise_middles(
    texts: Sequence[str], canvas: Canvas, tokenizer: Tokenizer, most: int, room: int
) -> dict[int, list[int]]:
    """Tokens of middles with what is healed in front, by the text's index; copies are left out.

    Args:
        texts: of the middles.
        canvas: around them.
        tokenizer: of the model.
        most: tokens of one; longer ones are left out.
        room: tokens of all together.
    """
    found: dict[int, list[int]] = {}
    healed = canvas.healed.decode("utf-8", "ignore")
    if healed.encode() != canvas.healed:
        return found
    for index, text in enumerate(texts):
        token_ids = tokenizer.encode(healed + text)
        if 0 < len(token_ids) <= min(room, most) and token_ids not in found.values():
            found[index] = token_ids
            room -= len(token_ids)
    return found


def _whole_lines(text: str, tokenizer: Tokenizer, most: int) -> list[int]:
    """Tokens of as many of a text's first lines as fit, and of a blank line behind them."""
    lines = text[: most * CHARACTERS_PER_TOKEN].splitlines(keepends=True)
    if lines and len(text) > most * CHARACTERS_PER_TOKEN:
        lines.pop()  # cut somewhere
    while lines:
        ids = tokenizer.encode("".join(lines).rstrip("\r\n") + "\n\n")
        if len(ids) <= most:
            return ids
        lines = lines[: min(len(lines) - 1, len(lines) * most // len(ids) + 1)]
    return []


def _back_up(prefix: str, tokenizer: Tokenizer) -> tuple[list[int], bytes]:
    """The prefix's tokens without the one that holds the character before the cursor, and that one's bytes.

    Of white space the last character belongs to what follows: before a word, the tokenizer
    leaves it to the word (" return") or makes it a token of its own (a tab, a line break).
    """
    last = prefix[-1:].encode("utf-8", "replace")
    if prefix[-1:].isspace() and tokenizer.agreeing(last):
        return tokenizer.encode(prefix[:-1]), last
    ids = tokenizer.encode(prefix)
    return ids, tokenizer.token_bytes(ids.pop()) if ids else b""
