"""llama.cpp's `/infill`, as llama.vim and llama.vscode ask it. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from pydantic import BaseModel

from midspan_lsp.gateway import bodies, replies
from midspan_lsp.gateway.dialects import Dialect, Stamp, bound_of, question_of
from midspan_lsp.gateway.questions import FimAnswer, FimQuestion


class Llama(Dialect[bodies.InfillBody]):
    """llama.cpp's.

    `t_max_predict_ms` counts there only once a line is complete, so it has no effect on a middle of a line or a few;
    chunks of other files (`input_extra`) are not read.
    """

    path = "/infill"
    body = bodies.InfillBody
    reply = replies.Infilled

    def read(self, body: bodies.InfillBody) -> FimQuestion:
        """Prefix and suffix come apart, the beginning of the cursor's line by itself."""
        prefix, bound = body.input_prefix + (body.prompt or ""), bound_of(body.n_predict)
        streams, fields = bool(body.stream), body.response_fields
        question = question_of(body, prefix, body.input_suffix, bound, body.stop, streams=streams, marks=False)
        return replace(question, fields=None if fields is None else tuple(fields))

    def write(self, question: FimQuestion, answer: FimAnswer, stamp: Stamp) -> replies.Infilled:
        """The end with a text."""
        return self.end(question, answer, stamp).model_copy(update={"content": answer.text})

    def piece(
        self,
        question: FimQuestion,
        text: str,
        stamp: Stamp,  # noqa: ARG002
        draft: replies.Draft | None = None,
    ) -> replies.Infilled:
        """An event."""
        return replies.Infilled(content=text, stop=False, model=question.model, midspan=draft)

    def end(self, question: FimQuestion, answer: FimAnswer, stamp: Stamp) -> replies.Infilled:  # noqa: ARG002
        """The last event."""
        stats = answer.stats
        return replies.Infilled(
            content="",
            stop=True,
            model=question.model,
            tokens_predicted=answer.n_tokens,
            tokens_evaluated=answer.n_prompt_tokens,
            tokens_cached=stats.n_cached_tokens,
            stop_type="limit" if answer.finish == "length" else "eos",
            timings=replies.Timings(
                prompt_n=stats.n_encoded_tokens,
                prompt_ms=0.0,
                prompt_per_token_ms=0.0,
                prompt_per_second=0.0,
                predicted_n=answer.n_tokens,
                predicted_ms=stats.elapsed_ms,
                predicted_per_token_ms=stats.elapsed_ms / max(1, answer.n_tokens),
                predicted_per_second=1e3 * answer.n_tokens / max(1.0, stats.elapsed_ms),
            ),
        )

    def payload(self, question: FimQuestion, reply: BaseModel) -> dict[str, Any]:
        """Only the fields that are wanted, under their whole names."""
        whole = super().payload(question, reply)
        if question.fields is None:
            return whole
        return {name: value for name in question.fields if (value := _part(whole, name)) is not None}

    def closing(self) -> str:
        """Nothing."""
        return ""


def _part(reply: dict[str, Any], name: str) -> Any:
    """A part by its whole name, such as `timings/prompt_n`; None if there is none."""
    value: Any = reply
    for key in name.split("/"):
        value = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
    return value
