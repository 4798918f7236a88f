"""`/v1/completions` and `/v1/fim/completions`: OpenAI's, Codestral's and Mercury's. Pure."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from pydantic import BaseModel

from midspan_lsp.gateway import bodies, replies
from midspan_lsp.gateway.dialects import Dialect, Stamp, question_of
from midspan_lsp.gateway.questions import FimAnswer, FimQuestion

_BodyT = TypeVar("_BodyT", bound=bodies.Body)


class _Choosing(Dialect[_BodyT]):
    """Answers come as choices; an event that does not end one says so, as Mistral's client insists."""

    def frame(self, event: BaseModel) -> str:
        """An event."""
        told = event.model_dump(exclude_none=True)
        for choice in told.get("choices", ()):
            choice.setdefault("finish_reason", None)
        return f"data: {json.dumps(told)}\n\n"


class OpenAi(_Choosing[bodies.CompletionBody]):
    """Also vLLM's, Zed's `open_ai_compatible_api`, and others'."""

    path = "/v1/completions"
    body = bodies.CompletionBody
    reply = replies.Completion

    def read(self, body: bodies.CompletionBody) -> FimQuestion:
        """Marks count only where there is no suffix."""
        prompt = body.prompt if isinstance(body.prompt, str) else body.prompt[0]
        return question_of(body, prompt, body.suffix, body.max_tokens, body.stop, streams=bool(body.stream))

    def write(self, question: FimQuestion, answer: FimAnswer, stamp: Stamp) -> replies.Completion:
        """Zed fails if `id`, `object`, `created` or `usage` is missing."""
        return self._completion(question, answer.text, stamp, answer)

    def piece(
        self, question: FimQuestion, text: str, stamp: Stamp, draft: replies.Draft | None = None
    ) -> replies.Completion:
        """A chunk."""
        return self._completion(question, text, stamp, draft=draft)

    def end(self, question: FimQuestion, answer: FimAnswer, stamp: Stamp) -> replies.Completion:
        """The chunk that says why it ends."""
        return self._completion(question, "", stamp, answer)

    def _completion(
        self,
        question: FimQuestion,
        text: str,
        stamp: Stamp,
        answer: FimAnswer | None = None,
        draft: replies.Draft | None = None,
    ) -> replies.Completion:
        choice = replies.CompletionChoice(text=text)
        if answer is not None:
            choice.finish_reason = answer.finish
            choice.probability = answer.probability if answer.text else None
        return replies.Completion(
            id=f"cmpl-{stamp.id}",
            created=int(stamp.at_s),
            model=question.model,
            choices=[choice],
            usage=_usage(answer) if answer else None,
            midspan=draft,
        )


class Fim(_Choosing[bodies.FimBody]):
    """Codestral's and Mercury's."""

    path = "/v1/fim/completions"
    body = bodies.FimBody
    reply = replies.FimCompletion

    def read(self, body: bodies.FimBody) -> FimQuestion:
        """Prefix and suffix come apart."""
        suffix = body.suffix or ""
        return question_of(
            body, body.prompt, suffix, body.max_tokens, body.stop, streams=bool(body.stream), marks=False
        )

    def write(self, question: FimQuestion, answer: FimAnswer, stamp: Stamp) -> replies.FimCompletion:
        """The middle twice, for either's clients."""
        message = replies.FimMessage(content=answer.text)
        choice = replies.FimChoice(text=answer.text, message=message, finish_reason=answer.finish)
        return self._completion(question, stamp, choice, "chat.completion", usage=_usage(answer))

    def piece(
        self, question: FimQuestion, text: str, stamp: Stamp, draft: replies.Draft | None = None
    ) -> replies.FimCompletion:
        """A chunk."""
        choice = replies.FimChoice(text=text, delta=replies.FimMessage(content=text))
        return self._completion(question, stamp, choice, "chat.completion.chunk", draft=draft)

    def end(self, question: FimQuestion, answer: FimAnswer, stamp: Stamp) -> replies.FimCompletion:
        """The chunk that says why it ends."""
        choice = replies.FimChoice(text="", delta=replies.FimMessage(content=""), finish_reason=answer.finish)
        return self._completion(question, stamp, choice, "chat.completion.chunk", usage=_usage(answer))

    def _completion(
        self, question: FimQuestion, stamp: Stamp, choice: replies.FimChoice, kind: Any, **rest: Any
    ) -> replies.FimCompletion:
        return replies.FimCompletion(
            id=f"fim-{stamp.id}", object=kind, created=int(stamp.at_s), model=question.model, choices=[choice], **rest
        )


def _usage(answer: FimAnswer) -> replies.Usage:
    n_prompt, n = answer.n_prompt_tokens, answer.n_tokens
    return replies.Usage(prompt_tokens=n_prompt, completion_tokens=n, total_tokens=n_prompt + n)
