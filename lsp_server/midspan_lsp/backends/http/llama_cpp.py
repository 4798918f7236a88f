"""llama.cpp's `/infill`, for models that know markers; the server puts them in by itself."""

from __future__ import annotations

from midspan_lsp.backends.http.question import Answer, Dialect, Question
from midspan_lsp.backends.http.reading import at, count_at, items_at, names_at, pieces_of, text_at


def build(question: Question) -> dict[str, object]:
    """The body of a request; the server itself ends in time, with what it has."""
    body: dict[str, object] = {
        "input_prefix": question.prefix,
        "input_suffix": question.suffix,
        "prompt": "",
        "n_predict": question.max_tokens,
        "temperature": 0,
        "stop": list(question.stop),
        "stream": False,
        "cache_prompt": True,
    }
    if question.model:
        body["model"] = question.model
    if question.neighbour:
        body["input_extra"] = [{"text": question.neighbour}]
    if question.with_logprobs:
        body["n_probs"] = 1
    if question.budget_ms is not None:
        body["t_max_predict_ms"] = question.budget_ms
    return body


def parse(body: object) -> Answer:
    """The whole answer.

    Raises:
        BadResponse: there is none.
    """
    n_cached = count_at(body, "timings", "cache_n")
    return Answer(
        text_at(body, "content"),
        is_cut=at(body, "stop_type") == "limit",
        pieces=pieces_of(items_at(body, "completion_probabilities")),
        n_prompt_tokens=n_cached + count_at(body, "timings", "prompt_n"),
        n_cached_tokens=n_cached,
    )


LLAMA_CPP = Dialect(
    path="/infill",
    build=build,
    parse=parse,
    gives_probability=True,
    url="http://127.0.0.1:8080",
    needs_model=False,
    model_names=lambda body: names_at(body, "id", "data"),
)
