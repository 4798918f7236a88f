"""Ollama's `/api/generate`. Pure."""

from __future__ import annotations

from pydantic import BaseModel

from midspan_lsp.gateway import bodies, replies
from midspan_lsp.gateway.dialects import Dialect, Stamp, bound_of, question_of
from midspan_lsp.gateway.questions import FimAnswer, FimQuestion


class Ollama(Dialect[bodies.GenerateBody]):
    """Ollama's."""

    path = "/api/generate"
    body = bodies.GenerateBody
    reply = replies.Generated
    media_type = "application/x-ndjson"

    def read(self, body: bodies.GenerateBody) -> FimQuestion:
        """A prompt with marks, as Zed sends it, or a suffix."""
        options = body.options or bodies.OllamaOptions()
        bound, streams = bound_of(options.num_predict), body.stream is not False
        return question_of(body, body.prompt or "", body.suffix, bound, options.stop, streams=streams)

    def write(self, question: FimQuestion, answer: FimAnswer, stamp: Stamp) -> replies.Generated:
        """The end with a text."""
        return self.end(question, answer, stamp).model_copy(update={"response": answer.text})

    def piece(
        self, question: FimQuestion, text: str, stamp: Stamp, draft: replies.Draft | None = None
    ) -> replies.Generated:
        """A line."""
        return replies.Generated(model=question.model, created_at=stamp.iso, response=text, done=False, midspan=draft)

    def end(self, question: FimQuestion, answer: FimAnswer, stamp: Stamp) -> replies.Generated:
        """The last line; an empty prompt only asks for the model to be loaded."""
        is_asked = bool(question.prefix or question.suffix)
        elapsed_ns = int(1e6 * answer.stats.elapsed_ms)
        return replies.Generated(
            model=question.model,
            created_at=stamp.iso,
            response="",
            done=True,
            done_reason=answer.finish if is_asked else "load",
            context=[],
            total_duration=elapsed_ns,
            load_duration=0,
            prompt_eval_count=answer.n_prompt_tokens,
            prompt_eval_duration=0,
            eval_count=answer.n_tokens,
            eval_duration=elapsed_ns,
        )

    def frame(self, event: BaseModel) -> str:
        """A line."""
        return event.model_dump_json(exclude_none=True) + "\n"

    def closing(self) -> str:
        """Nothing."""
        return ""
