"""Another Midspan's gateway: `/v1/completions`, with the file's language and the middle's probability besides."""

from __future__ import annotations

from midspan_lsp.backends.http.question import Answer, Dialect, Question, fim_body
from midspan_lsp.backends.http.reading import at, count_at, names_at, text_at


def build(question: Question) -> dict[str, object]:
    """The body of a request."""
    return fim_body(question) | {"language": question.language_id}


def parse(body: object) -> Answer:
    """The first choice; a gateway tells how likely it is."""
    probability = at(body, "choices", 0, "probability")
    return Answer(
        text_at(body, "choices", 0, "text"),
        is_cut=at(body, "choices", 0, "finish_reason") == "length",
        probability=float(probability) if isinstance(probability, int | float) else None,
        n_prompt_tokens=count_at(body, "usage", "prompt_tokens"),
    )


MIDSPAN = Dialect(
    path="/v1/completions",
    build=build,
    parse=parse,
    gives_probability=True,
    url="http://127.0.0.1:4390",
    model="midspan",
    needs_model=False,
    key_variable="MIDSPAN_GATEWAY_TOKEN",
    model_names=lambda body: names_at(body, "id", "data"),
)
