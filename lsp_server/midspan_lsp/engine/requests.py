"""What a backend is asked at a cursor, by the settings and by who asks. Pure."""

from __future__ import annotations

from urllib.parse import unquote

from midspan_lsp.choices import Eagerness
from midspan_lsp.config import LEAST_PROBABILITY, CompletionSettings, Settings
from midspan_lsp.context.shape import middle_shape
from midspan_lsp.context.window import context_settings, window
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.memory.secrets import is_secret_file
from midspan_lsp.types import CancellationToken, InfillRequest, Trigger

N_CANDIDATES = 3
"""Most middles to choose from where somebody asks by hand."""


def request_at(
    snapshot: DocumentSnapshot, offset: int, settings: Settings, trigger: Trigger | None = None
) -> InfillRequest:
    """The request for a cursor; without a trigger, however unlikely its answer may be."""
    completion = settings.completion
    prefix, suffix = window(snapshot.text, offset, context_settings(settings))
    shape = middle_shape(prefix, suffix, completion.max_lines)
    return InfillRequest(
        prefix,
        suffix,
        snapshot.language_id,
        shape.max_lines,
        shape.min_indent,
        least=0.0 if trigger is None else least_shown(completion, trigger),
        is_private=is_secret_file(snapshot.path or unquote(snapshot.uri).partition(":")[2]),
        n_candidates=N_CANDIDATES if trigger is Trigger.INVOKED else 1,
    )


def least_shown(settings: CompletionSettings, trigger: Trigger) -> float:
    """The least probability of what is shown; who asks by hand sees more."""
    least = LEAST_PROBABILITY[Eagerness(settings.eagerness)]
    return min(least, LEAST_PROBABILITY[Eagerness.HIGH]) if trigger is Trigger.INVOKED else least


def token_for(settings: CompletionSettings, trigger: Trigger) -> CancellationToken:
    """A token whose time begins now."""
    invoked = trigger is Trigger.INVOKED
    return CancellationToken((settings.invoked_timeout_ms if invoked else settings.timeout_ms) / 1e3)
