"""Any server with OpenAI's `/v1/completions`: vLLM, SGLang, LM Studio, llama.cpp, and many more."""

from __future__ import annotations

from midspan_lsp.backend_settings import MarkerName
from midspan_lsp.backends.http.markers import marked_prompt, marker_stops
from midspan_lsp.backends.http.question import Answer, Dialect, Piece, Question
from midspan_lsp.backends.http.reading import at, count_at, is_logprob, items_at, names_at, pieces_of, text_at

_MAX_STOPS = 4  # more are refused by OpenAI and vLLM


def build(question: Question) -> dict[str, object]:
    """The body of a request."""
    prefix, stop = question.neighbour + question.prefix, question.stop
    body: dict[str, object] = {"model": question.model} if question.model else {}
    if question.markers is MarkerName.NONE:
        body |= {"prompt": prefix, "suffix": question.suffix}
    else:
        body |= {"prompt": marked_prompt(prefix, question.suffix, question.markers)}
        stop += marker_stops(question.markers)
    body |= {"max_tokens": question.max_tokens, "temperature": 0, "stop": list(stop[:_MAX_STOPS]), "stream": False}
    return body | {"logprobs": 1} if question.with_logprobs else body


def parse(body: object) -> Answer:
    """The first choice.

    Raises:
        BadResponse: there is none.
    """
    return Answer(
        text_at(body, "choices", 0, "text"),
        is_cut=at(body, "choices", 0, "finish_reason") == "length",
        pieces=_pieces(at(body, "choices", 0, "logprobs")),
        n_prompt_tokens=count_at(body, "usage", "prompt_tokens"),
        n_cached_tokens=count_at(body, "usage", "prompt_tokens_details", "cached_tokens"),
    )


def _pieces(logprobs: object) -> tuple[Piece, ...]:
    """As of the completions' own form, two lists side by side, or as of the chats'."""
    tokens, values = items_at(logprobs, "tokens"), items_at(logprobs, "token_logprobs")
    if not tokens or len(tokens) != len(values):
        return pieces_of(items_at(logprobs, "content"))
    both = list(zip(tokens, values, strict=True))
    if not all(isinstance(token, str) and is_logprob(value) for token, value in both):
        return ()
    return tuple(Piece(str(token).encode("utf-8", "replace"), float(str(value))) for token, value in both)


OPENAI = Dialect(
    path="/v1/completions",
    build=build,
    parse=parse,
    gives_probability=True,
    model_names=lambda body: names_at(body, "id", "data"),
)
