"""Inception's Mercury: `/v1/fim/completions`.

It refuses fields that it does not know, `temperature` among them. Its defaults are not for code: it would stop at the
first blank line and punish names that repeat, so both are always sent.
"""

from __future__ import annotations

from midspan_lsp.backends.http.question import Answer, Dialect, Question, fim_body
from midspan_lsp.backends.http.reading import at, count_at, names_at, text_at


def build(question: Question) -> dict[str, object]:
    """The body of a request."""
    return fim_body(question) | {"presence_penalty": 0}


def parse(body: object) -> Answer:
    """The first choice.

    Raises:
        BadResponse: there is none.
    """
    return Answer(
        text_at(body, "choices", 0, "text"),
        is_cut=at(body, "choices", 0, "finish_reason") == "length",
        n_prompt_tokens=count_at(body, "usage", "prompt_tokens"),
        n_cached_tokens=count_at(body, "usage", "cached_input_tokens"),
    )


MERCURY = Dialect(
    path="/v1/fim/completions",
    build=build,
    parse=parse,
    gives_probability=False,
    url="https://api.inceptionlabs.ai",
    model="mercury-edit-2",
    key_variable="INCEPTION_API_KEY",
    needs_key=True,
    model_names=lambda body: names_at(body, "id", "data"),
)
