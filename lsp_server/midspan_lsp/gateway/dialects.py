"""The dialects: what each reads from a body, and how it writes an answer. Pure.

Whatever the dialect, a stream is a number of drafts (if they are wanted), the text, and an end: these dialects can only
add to what they have sent, so the text comes once it is judged.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel

from midspan_lsp.gateway import bodies, replies
from midspan_lsp.gateway.markers import split_prompt
from midspan_lsp.gateway.questions import FimAnswer, FimQuestion
from midspan_lsp.gateway.zeta import split_zeta

_BodyT = TypeVar("_BodyT", bound=bodies.Body)


@dataclass(frozen=True)
class Stamp:
    """What tells one answer from another: its id, and when it was given, in seconds of the epoch."""

    id: str
    at_s: float

    @property
    def iso(self) -> str:
        """The time as Ollama writes it."""
        return datetime.fromtimestamp(self.at_s, UTC).isoformat().replace("+00:00", "Z")


class Dialect(ABC, Generic[_BodyT]):
    """One endpoint.

    Attributes:
        path: of it.
        body: what it takes.
        reply: what it answers.
        media_type: of its stream.
    """

    path: ClassVar[str]
    body: ClassVar[type[bodies.Body]]
    reply: ClassVar[type[BaseModel]]
    media_type: ClassVar[str] = "text/event-stream"

    @abstractmethod
    def read(self, body: _BodyT) -> FimQuestion:
        """What is asked."""

    @abstractmethod
    def write(self, question: FimQuestion, answer: FimAnswer, stamp: Stamp) -> BaseModel:
        """The whole answer."""

    @abstractmethod
    def piece(self, question: FimQuestion, text: str, stamp: Stamp, draft: replies.Draft | None = None) -> BaseModel:
        """An event that adds a text, or only shows a draft."""

    @abstractmethod
    def end(self, question: FimQuestion, answer: FimAnswer, stamp: Stamp) -> BaseModel:
        """The last event, which adds no text."""

    def payload(self, question: FimQuestion, reply: BaseModel) -> dict[str, Any]:  # noqa: ARG002
        """The whole answer as it is sent."""
        return reply.model_dump(exclude_none=True)

    def frame(self, event: BaseModel) -> str:
        """An event as it is sent."""
        return f"data: {event.model_dump_json(exclude_none=True)}\n\n"

    def closing(self) -> str:
        """What is sent behind the last event."""
        return "data: [DONE]\n\n"


def question_of(
    body: bodies.Body,
    prompt: str,
    suffix: str | None,
    max_tokens: int | None,
    stop: str | list[str] | None,
    *,
    streams: bool,
    marks: bool = True,
) -> FimQuestion:
    """What is asked; a prompt without a suffix is taken apart where it has marks."""
    rest: dict[str, Any] = {
        "language_id": body.language or "",
        "max_tokens": max_tokens,
        "stop": tuple(one for one in ([stop] if isinstance(stop, str) else stop or []) if one),
        "model": body.model,
        "streams": streams,
        "wants_drafts": bool(body.drafts),
    }
    path = body.path or ""
    if marks and not suffix:
        if rewrite := split_zeta(prompt):
            rest |= {"stop": (), "max_tokens": None, "render": rewrite.render}  # half a region would delete the rest
            return FimQuestion(rewrite.prefix, rewrite.suffix, path or rewrite.path, **rest)
        if parts := split_prompt(prompt):
            return FimQuestion(parts.prefix, parts.suffix, path or parts.path, **rest)
    return FimQuestion(prompt, suffix or "", path, **rest)


def bound_of(n_predict: int | None) -> int | None:
    """A bound on tokens; negative ones are none."""
    return None if n_predict is None or n_predict < 0 else n_predict
