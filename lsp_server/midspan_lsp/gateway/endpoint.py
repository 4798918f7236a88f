"""One request to one dialect's endpoint, from its bytes to its answer."""

from __future__ import annotations

import asyncio
import logging
import math
import time
import uuid
from collections.abc import AsyncGenerator
from typing import Any

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from midspan_lsp.errors import InfillError, Overloaded
from midspan_lsp.gateway.admission import Admission
from midspan_lsp.gateway.answering import Answerer
from midspan_lsp.gateway.dialects import Dialect, Stamp
from midspan_lsp.gateway.metrics import Metrics
from midspan_lsp.gateway.problems import problem, problem_body
from midspan_lsp.gateway.questions import FimAnswer, FimQuestion
from midspan_lsp.gateway.streaming import ClientGone, Drafts, EventStream, Work, unless_gone
from midspan_lsp.types import CancellationToken, StepObserver

logger = logging.getLogger(__name__)

_CLIENT_GONE = 499  # as nginx counts it; nobody is there to read it
_LOADING_RETRY_S = 2


class Endpoint:
    """A dialect's endpoint.

    Args:
        dialect: whose.
        answerer: the engine's.
        admission: the queue that all endpoints share.
        metrics: where requests are counted.
        timeout_s: from a request's turn on.
    """

    def __init__(
        self, dialect: Dialect[Any], answerer: Answerer, admission: Admission, metrics: Metrics, timeout_s: float
    ) -> None:
        self.dialect = dialect
        self._answerer, self._admission, self._metrics, self._timeout_s = answerer, admission, metrics, timeout_s

    async def __call__(self, request: Request) -> Response:
        """Answers, and counts it."""
        began_s, path = time.monotonic(), self.dialect.path
        response = await self._respond(request)
        self._metrics.requests.labels(path, str(response.status_code)).inc()
        self._metrics.seconds.labels(path).observe(time.monotonic() - began_s)
        return response

    async def _respond(self, request: Request) -> Response:
        path = self.dialect.path
        try:
            question = self.dialect.read(self.dialect.body.model_validate_json(await request.body()))
        except ValidationError as error:
            return problem(path, 400, _complaint(error))
        if not self._answerer.engine.ready:
            return problem(path, 503, "the model is being loaded", {"Retry-After": str(_LOADING_RETRY_S)})
        try:
            return await self._answer(request, question)
        except ClientGone:
            self._metrics.gone.inc()
            return Response(status_code=_CLIENT_GONE)
        except Overloaded as error:
            return problem(path, 429, str(error), {"Retry-After": str(math.ceil(error.retry_after_s))})
        except InfillError as error:
            logger.warning("%s", error)
            return problem(path, 503 if error.retryable else 500, str(error))

    async def _answer(self, request: Request, question: FimQuestion) -> Response:
        dialect, stamp, token = self.dialect, Stamp(uuid.uuid4().hex, time.time()), CancellationToken()
        drafts = Drafts() if question.streams and question.wants_drafts else None
        task = asyncio.create_task(self._ask(question, _client(request), token, drafts and drafts.on_step))
        work = Work(task, token)
        if drafts is not None:
            await unless_gone(request, asyncio.ensure_future(drafts.first(task)), work)
            return EventStream(self._events(question, task, drafts, stamp), dialect.media_type, work)
        answer = await unless_gone(request, task, work)
        if question.streams:
            return Response("".join(self._last_frames(question, answer, stamp)), media_type=dialect.media_type)
        return JSONResponse(dialect.payload(question, dialect.write(question, answer, stamp)))

    async def _ask(
        self, question: FimQuestion, client: str, token: CancellationToken, on_step: StepObserver | None
    ) -> FimAnswer:
        async with self._admission.turn(client):
            token.begin(self._timeout_s)
            return await self._answerer.answer(question, token, on_step)

    async def _events(
        self, question: FimQuestion, task: asyncio.Task[FimAnswer], drafts: Drafts, stamp: Stamp
    ) -> AsyncGenerator[str]:
        dialect = self.dialect
        async for draft in drafts.until(task):
            yield dialect.frame(dialect.piece(question, "", stamp, draft))
        try:
            answer = await task
        except InfillError as error:  # the status is sent already
            logger.warning("%s", error)
            yield dialect.frame(problem_body(dialect.path, 500, str(error)))
            return
        for frame in self._last_frames(question, answer, stamp):
            yield frame

    def _last_frames(self, question: FimQuestion, answer: FimAnswer, stamp: Stamp) -> list[str]:
        dialect = self.dialect
        pieces = [dialect.piece(question, answer.text, stamp)] if answer.text else []
        return [*map(dialect.frame, [*pieces, dialect.end(question, answer, stamp)]), dialect.closing()]


def _client(request: Request) -> str:
    """Who takes turns with whom: the programs of each machine."""
    host = request.client.host if request.client else ""
    return "\0".join((host, request.headers.get("user-agent", ""), request.headers.get("x-client-id", "")))


def _complaint(error: ValidationError) -> str:
    """What is wrong with a body, without any of its text."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else first["msg"]
