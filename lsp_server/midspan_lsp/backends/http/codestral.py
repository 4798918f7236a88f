"""Mistral's Codestral: `/v1/fim/completions`, which answers with a message."""

from __future__ import annotations

from midspan_lsp.backends.http.question import Answer, Dialect, Question, fim_body
from midspan_lsp.backends.http.reading import at, count_at, names_at, text_at


def build(question: Question) -> dict[str, object]:
    """The body of a request."""
    return fim_body(question) | {"temperature": 0}


def parse(body: object) -> Answer:
    """The first choice.

    Raises:
        BadResponse: there is none.
    """
    return Answer(
        text_at(body, "choices", 0, "message", "content"),
        is_cut=at(body, "choices", 0, "finish_reason") == "length",
        n_prompt_tokens=count_at(body, "usage", "prompt_tokens"),
    )


CODESTRAL = Dialect(
    path="/v1/fim/completions",
    build=build,
    parse=parse,
    gives_probability=False,
    url="https://codestral.mistral.ai",
    model="codestral-latest",
    key_variable="CODESTRAL_API_KEY",
    needs_key=True,
    model_names=lambda body: names_at(body, "id", "data"),
)
