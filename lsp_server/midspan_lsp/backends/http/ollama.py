"""Ollama: `/api/generate`. Its `suffix` needs a model whose template has one; markers do without."""

from __future__ import annotations

from midspan_lsp.backend_settings import MarkerName
from midspan_lsp.backends.http.markers import marked_prompt, marker_stops
from midspan_lsp.backends.http.question import Answer, Dialect, Question
from midspan_lsp.backends.http.reading import at, count_at, items_at, names_at, pieces_of, text_at


def build(question: Question) -> dict[str, object]:
    """The body of a request."""
    prefix, stop = question.neighbour + question.prefix, question.stop
    body: dict[str, object] = {"model": question.model, "stream": False}
    if question.markers is MarkerName.NONE:
        body |= {"prompt": prefix, "suffix": question.suffix}
    else:
        body |= {"prompt": marked_prompt(prefix, question.suffix, question.markers), "raw": True}
        stop += marker_stops(question.markers)
    body["options"] = {"num_predict": question.max_tokens, "temperature": 0, "stop": list(stop)}
    return body | {"logprobs": True} if question.with_logprobs else body


def parse(body: object) -> Answer:
    """The whole answer.

    Raises:
        BadResponse: there is none.
    """
    return Answer(
        text_at(body, "response"),
        is_cut=at(body, "done_reason") == "length",
        pieces=pieces_of(items_at(body, "logprobs")),
        n_prompt_tokens=count_at(body, "prompt_eval_count"),
    )


OLLAMA = Dialect(
    path="/api/generate",
    build=build,
    parse=parse,
    gives_probability=True,
    url="http://127.0.0.1:11434",
    models_path="/api/tags",
    model_names=lambda body: names_at(body, "name", "models"),
)
