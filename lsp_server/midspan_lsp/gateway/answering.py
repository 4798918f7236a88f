"""From a question to an answer: the engine, and then what the client has bounded."""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from pathlib import PurePosixPath
from typing import Literal

from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine.pipeline import Engine
from midspan_lsp.gateway.guessing import language_of
from midspan_lsp.gateway.questions import FimAnswer, FimQuestion
from midspan_lsp.memory.secrets import is_secret_file
from midspan_lsp.types import CancellationToken, StepObserver

MAX_DOCUMENTS = 64
_HEAD_LENGTH = 256
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_ENDS = ("<|endoftext|>", "<|file_separator|>")


class Answerer:
    """Asks the engine. Belongs to its event loop.

    A document is known again by its beginning and its path, so that its syntax tree and answers are found again,
    whoever asks; answers are the engine's for exactly this prefix and suffix.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._uris: OrderedDict[str, None] = OrderedDict()

    async def answer(
        self, question: FimQuestion, token: CancellationToken, on_step: StepObserver | None = None
    ) -> FimAnswer:
        """The middle as the client wants it; empty where an editor would be shown nothing.

        Raises:
            InfillError: the engine failed or is not ready.
        """
        prefix, suffix = question.prefix, question.suffix
        n_prompt = count_tokens(prefix) + count_tokens(suffix)
        is_asked = (prefix or suffix) and question.max_tokens != 0 and not is_secret_file(question.path)
        if not is_asked:
            return FimAnswer("", n_prompt_tokens=n_prompt)
        language_id = language_of(prefix, suffix, question.path, question.language_id)
        uri = self._uri(prefix, question.path, language_id)
        snapshot = DocumentSnapshot(uri, language_id, None, prefix + suffix)
        outcome = await self.engine.answer(snapshot, len(prefix), token, on_step)
        middle = outcome.text if outcome.silence is None else ""
        middle, finish = cut(middle, question.stop, question.max_tokens)
        text = question.render(middle) if middle else ""
        return FimAnswer(text, finish, n_prompt, count_tokens(middle), outcome.probability, outcome.stats)

    def _uri(self, prefix: str, path: str, language_id: str) -> str:
        """A document's name; those used least recently are forgotten."""
        key = "\0".join((path, language_id, prefix[:_HEAD_LENGTH]))
        name = PurePosixPath(path.replace("\\", "/")).name if path else "text"
        uri = f"gateway:/{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}/{name}"
        self._uris[uri] = None
        self._uris.move_to_end(uri)
        if len(self._uris) > MAX_DOCUMENTS:
            self.engine.forget(self._uris.popitem(last=False)[0])
        return uri


def count_tokens(text: str) -> int:
    """About how many tokens: a word, a run of blanks and a sign count as one each."""
    return sum(1 for _ in _TOKEN.finditer(text))


def cut(middle: str, stop: tuple[str, ...], max_tokens: int | None) -> tuple[str, Literal["stop", "length"]]:
    """The middle up to the first stop, and no longer than so many tokens; and which of both ended it."""
    ends = [at for one in (*stop, *_ENDS) if (at := middle.find(one)) >= 0]
    middle = middle[: min(ends)] if ends else middle
    if max_tokens is None:
        return middle, "stop"
    tokens = list(_TOKEN.finditer(middle))
    return (middle[: tokens[max_tokens].start()], "length") if len(tokens) > max_tokens else (middle, "stop")
