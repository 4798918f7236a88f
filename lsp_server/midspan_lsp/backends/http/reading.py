"""Reads what servers answer: JSON of which nothing is certain. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import cast

from midspan_lsp.backends.http.question import Piece
from midspan_lsp.errors import BadResponse


def at(value: object, *path: str | int) -> object:
    """What stands at a path of keys and indices; None if nothing does."""
    for step in path:
        if isinstance(step, str):
            value = cast("Mapping[object, object]", value).get(step) if isinstance(value, Mapping) else None
        else:
            items = cast("list[object]", value) if isinstance(value, list) else []
            value = items[step] if step < len(items) else None
    return value


def text_at(value: object, *path: str | int) -> str:
    """The text at a path.

    Raises:
        BadResponse: there is none.
    """
    found = at(value, *path)
    if not isinstance(found, str):
        raise BadResponse(
            f"the server's answer has no {'.'.join(map(str, path))}",
            hint="Check that `backend.dialect` and `backend.url` are those of the server.",
        )
    return found


def count_at(value: object, *path: str | int) -> int:
    """The number at a path; 0 where there is none."""
    found = at(value, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else 0


def items_at(value: object, *path: str | int) -> list[object]:
    """The list at a path; empty where there is none."""
    found = at(value, *path)
    return cast("list[object]", found) if isinstance(found, list) else []


def names_at(value: object, key: str, *path: str | int) -> list[str]:
    """The texts at `key` of each object of a list.

    Raises:
        BadResponse: there is no such list.
    """
    if not isinstance(at(value, *path), list):
        raise BadResponse("the server's list of models cannot be read")
    return [name for item in items_at(value, *path) if isinstance(name := at(item, key), str)]


def pieces_of(items: list[object]) -> tuple[Piece, ...]:
    """Tokens as llama.cpp, Ollama and OpenAI's chats give them: objects with `token`, `bytes` and `logprob`.

    None at all if one of them cannot be read: a probability of the rest would be too high.
    """
    pieces: list[Piece] = []
    for item in items:
        token, raw, logprob = at(item, "token"), items_at(item, "bytes"), at(item, "logprob")
        if not isinstance(token, str) or not is_logprob(logprob):
            return ()
        is_raw = bool(raw) and all(isinstance(one, int) and 0 <= one < 256 for one in raw)
        spelling = bytes(cast("list[int]", raw)) if is_raw else token.encode("utf-8", "replace")
        pieces.append(Piece(spelling, float(cast("float", logprob))))
    return tuple(pieces)


def is_logprob(value: object) -> bool:
    """Whether something is the logarithm of a probability; rounding may bring it a little above 0."""
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value) and value <= 1e-3
