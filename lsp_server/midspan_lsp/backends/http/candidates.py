"""From a server's answer to a middle of the shape that was asked for. Pure."""

from __future__ import annotations

import math

from midspan_lsp.backends.http.question import Answer
from midspan_lsp.context.shape import Shape, cut_to_shape
from midspan_lsp.types import Candidate

UNKNOWN_PROBABILITY = 0.5
"""Of a middle whose server does not tell: shown unless `completion.eagerness` is low, which asks for certainty."""


def candidate_of(answer: Answer, shape: Shape) -> Candidate | None:
    """The middle up to its end; None if it is blank.

    Its probability is that of its tokens and, where it was cut, of the cut: what the server's model gives this very
    text. `confidences` are those of the tokens, and empty where the probability is not known.
    """
    text = cut_to_shape(answer.text, shape)
    is_whole = text == answer.text
    if is_whole and answer.is_cut and "\n" in text:
        text = text[: text.rindex("\n")].removesuffix("\r")  # the last line is only begun
    if not text.strip():
        return None
    confidences = _confidences(text, answer)
    if answer.probability is not None:
        probability = min(1.0, max(0.0, answer.probability))
    else:
        probability = math.prod(confidences) if confidences else UNKNOWN_PROBABILITY
    finish = "length" if is_whole and answer.is_cut else "end" if is_whole else "line"
    return Candidate(text, probability, confidences=confidences, finish_reason=finish)


def is_probability_known(candidate: Candidate) -> bool:
    """Whether its server told how likely a middle is."""
    return bool(candidate.confidences)


def _confidences(text: str, answer: Answer) -> tuple[float, ...]:
    """The probabilities of the tokens that spell the text, and of the next one, which ends it; empty: not known."""
    if answer.probability is not None:
        return (min(1.0, max(0.0, answer.probability)),)
    wanted, spelt = text.encode("utf-8", "replace"), b""
    confidences: list[float] = []
    for piece in answer.pieces:
        if spelt == wanted:  # this one ends it
            return (*confidences, min(1.0, math.exp(piece.logprob)))
        spelt += piece.spelling
        confidences.append(min(1.0, math.exp(piece.logprob)))
        if len(spelt) > len(wanted):
            break
    return tuple(confidences) if spelt.startswith(wanted) else ()
