"""The text on both sides of the cursor that the model is shown. Pure."""

from __future__ import annotations

from dataclasses import replace

from midspan_lsp.backend_settings import BackendKind
from midspan_lsp.config import ContextSettings, Settings

CHARACTERS_PER_TOKEN = 6
"""More than code has (about three), so that it is the model's own token budget that cuts."""


def window(text: str, offset: int, settings: ContextSettings) -> tuple[str, str]:
    """Prefix and suffix of a cursor; each side is cut on its own.

    The prefix of a long file begins where a line begins, at a place that moves only in strides as large as the window:
    its first token, and with it the model's cache, stands still while one types.
    """
    size = settings.prefix_tokens * CHARACTERS_PER_TOKEN
    start = max(0, offset // size - 1) * size
    if start:
        line_start = text.find("\n", start, offset) + 1
        start = line_start if 0 < line_start <= start + size // 2 else start
    return text[start:offset], text[offset : offset + settings.suffix_tokens * CHARACTERS_PER_TOKEN]


def context_settings(settings: Settings) -> ContextSettings:
    """How much is shown at most: a server's model may see more of the text after the cursor than the embedded one.

    The embedded model cuts what it is shown to its own budget.
    """
    context, backend = settings.context, settings.backend
    if backend.kind == BackendKind.LOCAL.value:
        return context
    return replace(context, suffix_tokens=max(context.suffix_tokens, backend.suffix_tokens))
