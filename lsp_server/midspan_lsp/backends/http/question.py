"""What every dialect is asked, and what each answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from midspan_lsp.backend_settings import MarkerName


@dataclass(frozen=True)
class Question:
    """One middle, as a server is asked for it.

    Attributes:
        prefix: text before the middle.
        suffix: text after it.
        model: its name there; "" where the server has one only.
        max_tokens: most tokens of the answer.
        stop: texts before which the answer ends, at least one.
        markers: the prompt marks the place of the middle this way; NONE: the suffix is a field of its own.
        with_logprobs: ask how likely each token was.
        budget_ms: time that is left for the answer; None: there is no limit.
        neighbour: lines of other files, in front of the prefix; "": none.
        language_id: as of the request.
    """

    prefix: str
    suffix: str
    model: str
    max_tokens: int
    stop: tuple[str, ...]
    markers: MarkerName = MarkerName.NONE
    with_logprobs: bool = True
    budget_ms: int | None = None
    neighbour: str = ""
    language_id: str = ""


def fim_body(question: Question) -> dict[str, object]:
    """What most servers are sent."""
    return {
        "model": question.model,
        "prompt": question.neighbour + question.prefix,
        "suffix": question.suffix,
        "max_tokens": question.max_tokens,
        "stop": list(question.stop),
        "stream": False,
    }


@dataclass(frozen=True)
class Piece:
    """A token of an answer.

    Attributes:
        spelling: its bytes.
        logprob: natural logarithm of its probability.
    """

    spelling: bytes
    logprob: float


@dataclass(frozen=True)
class Answer:
    """What a server said.

    Attributes:
        text: the middle.
        is_cut: whether it ends only because it is long.
        pieces: its tokens, where the server tells how likely they were.
        probability: of the whole, where the server tells that.
        n_prompt_tokens: tokens it was shown; 0 where it does not say.
        n_cached_tokens: of these, those that it knew from before.
    """

    text: str
    is_cut: bool = False
    pieces: tuple[Piece, ...] = ()
    probability: float | None = None
    n_prompt_tokens: int = 0
    n_cached_tokens: int = 0


@dataclass(frozen=True)
class Dialect:
    """A kind of server.

    Attributes:
        path: where it is asked, below the host.
        build: the body of a request.
        parse: reads the body of an answer; raises BadResponse.
        gives_probability: whether it can tell how likely its answer is.
        model_names: reads a list of models; raises BadResponse.
        url: where such a server usually is; "": nowhere.
        model: what its model is usually called; "": it must be told, unless `needs_model` is false.
        needs_model: whether a request must name a model.
        key_variable: the environment variable that usually holds its key; "": it usually has none.
        needs_key: whether nothing is answered without one.
        models_path: where it lists its models.
    """

    path: str
    build: Callable[[Question], dict[str, object]]
    parse: Callable[[object], Answer]
    gives_probability: bool
    model_names: Callable[[object], list[str]]
    url: str = ""
    model: str = ""
    needs_model: bool = True
    key_variable: str = ""
    needs_key: bool = False
    models_path: str = "/v1/models"
