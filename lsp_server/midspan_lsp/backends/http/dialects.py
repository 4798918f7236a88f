"""All kinds of servers, by name."""

from __future__ import annotations

from midspan_lsp.backend_settings import BackendSettings, DialectName, MarkerName
from midspan_lsp.backends.http.codestral import CODESTRAL
from midspan_lsp.backends.http.llama_cpp import LLAMA_CPP
from midspan_lsp.backends.http.mercury import MERCURY
from midspan_lsp.backends.http.midspan import MIDSPAN
from midspan_lsp.backends.http.ollama import OLLAMA
from midspan_lsp.backends.http.openai import OPENAI
from midspan_lsp.backends.http.question import Dialect, Question
from midspan_lsp.errors import ConfigError
from midspan_lsp.memory.secrets import holds_secret, without_secrets
from midspan_lsp.types import InfillRequest

DIALECTS: dict[DialectName, Dialect] = {
    DialectName.MERCURY: MERCURY,
    DialectName.CODESTRAL: CODESTRAL,
    DialectName.OPENAI: OPENAI,
    DialectName.OLLAMA: OLLAMA,
    DialectName.LLAMA_CPP: LLAMA_CPP,
    DialectName.MIDSPAN: MIDSPAN,
}
_WITH_MARKERS = frozenset({DialectName.OPENAI, DialectName.OLLAMA})

LINE_TOKENS, MORE_LINE_TOKENS = 64, 32
"""Of 1,033 lines of real code 99 % take 35 tokens at most; later lines of a middle are shorter on the average."""
_SEVERAL_LINES_STOP = "\n\n\n"


def dialect_of(settings: BackendSettings) -> Dialect:
    """The kind of server that the settings name.

    Raises:
        ConfigError: they lack something that such a server needs, or say what it cannot be told.
    """
    name = DialectName(settings.dialect)
    dialect = DIALECTS[name]
    if settings.markers != MarkerName.NONE.value and name not in _WITH_MARKERS:
        raise ConfigError(
            f"`backend.markers` does not go with the dialect {name.value}",
            hint=f"Markers are for {' and '.join(sorted(one.value for one in _WITH_MARKERS))}; set it to none.",
        )
    if dialect.needs_model and not (settings.model or dialect.model):
        raise ConfigError(
            f"the dialect {name.value} needs the name of a model", hint="Set `backend.model` to its name there."
        )
    return dialect


def question_of(
    request: InfillRequest, settings: BackendSettings, dialect: Dialect, *, with_logprobs: bool, budget_ms: int | None
) -> Question | None:
    """What a server is asked: of the request only what may leave this machine; None if none of it may.

    Lines that look as if they held a secret are sent empty. Nothing is asked where the cursor's own line does.
    """
    before, before_end, line = request.prefix.rpartition("\n")
    rest, rest_end, after = request.suffix.partition("\n")
    if request.is_private or holds_secret(line + rest):
        return None
    neighbour = without_secrets(request.neighbour) if settings.send_memory else ""
    return Question(
        prefix=without_secrets(before) + before_end + line,
        suffix=rest + rest_end + without_secrets(after),
        model=settings.model or dialect.model,
        max_tokens=min(settings.max_tokens, LINE_TOKENS + MORE_LINE_TOKENS * (request.max_lines - 1)),
        stop=(_SEVERAL_LINES_STOP if request.max_lines > 1 else "\n",),
        markers=MarkerName(settings.markers),
        with_logprobs=with_logprobs,
        budget_ms=budget_ms,
        neighbour=neighbour if not neighbour or neighbour.endswith("\n") else neighbour + "\n",
        language_id=request.language_id,
    )
