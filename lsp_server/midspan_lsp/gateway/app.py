"""The application: its routes, and the engine behind them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from midspan_lsp import __version__
from midspan_lsp.backends.base import ReportProgress
from midspan_lsp.engine.pipeline import Engine
from midspan_lsp.errors import InfillError
from midspan_lsp.gateway import bodies, replies
from midspan_lsp.gateway.admission import Admission
from midspan_lsp.gateway.answering import Answerer
from midspan_lsp.gateway.dialects import Dialect, Stamp
from midspan_lsp.gateway.endpoint import Endpoint
from midspan_lsp.gateway.guard import Guard
from midspan_lsp.gateway.llama import Llama
from midspan_lsp.gateway.metrics import Metrics
from midspan_lsp.gateway.ollama import Ollama
from midspan_lsp.gateway.openai import Fim, OpenAi
from midspan_lsp.gateway.openapi import openapi_document
from midspan_lsp.gateway.problems import problem
from midspan_lsp.gateway.settings import GatewaySettings

logger = logging.getLogger(__name__)

MODEL = "midspan"
_CLOSING_TIMEOUT_S = 2.0


class Gateway:
    """The engine with its routes. Its application belongs to one event loop, which `build` is called in.

    Args:
        settings: the gateway's.
        build: makes the engine.
        report: told how the loading goes; from any thread.
    """

    def __init__(self, settings: GatewaySettings, build: Callable[[], Engine], report: ReportProgress) -> None:
        self._settings, self._build, self._report = settings, build, report
        self._engine: Engine | None = None
        self._loading: asyncio.Task[None] | None = None
        self._began = Stamp("", time.time())
        self.failure: InfillError | None = None
        self.on_failure: Callable[[], None] = lambda: None

    def app(self) -> Starlette:
        """The ASGI application."""
        guard = Middleware(Guard, self._settings)
        handlers: Any = {HTTPException: _refused, Exception: _failed}
        return Starlette(middleware=[guard], exception_handlers=handlers, lifespan=self._lifespan)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncGenerator[None]:
        self._engine = engine = self._build()
        for folder in self._settings.folders:
            engine.recall.add_folder(folder)
        app.router.routes.extend(self._routes(engine))
        self._loading = asyncio.create_task(self._load(engine))
        yield
        self._loading.cancel()
        try:
            async with asyncio.timeout(_CLOSING_TIMEOUT_S):
                await engine.aclose()
        except TimeoutError:
            logger.info("the engine is still busy")

    async def _load(self, engine: Engine) -> None:
        try:
            await engine.load(self._report)
        except InfillError as error:
            self.failure = error
            self.on_failure()

    def _routes(self, engine: Engine) -> list[Route]:
        settings = self._settings
        admission = Admission(settings.n_at_once, settings.max_waiting, settings.max_wait_s)
        metrics = Metrics(admission, engine.tally)
        answerer = Answerer(engine)
        dialects: list[Dialect[Any]] = [OpenAi(), Fim(), Ollama(), Llama()]
        document = openapi_document(dialects)

        async def health(_request: Request) -> Response:
            return _json(replies.Health(status="ok" if engine.ready else "loading model"), 200 if engine.ready else 503)

        async def told(_request: Request) -> Response:
            return Response(metrics.text(), media_type="text/plain; version=1.0.0")

        async def schema(_request: Request) -> Response:
            return JSONResponse(document)

        ends = [Endpoint(one, answerer, admission, metrics, settings.timeout_s) for one in dialects]
        return [
            *(Route(one.dialect.path, _async(one), methods=["POST"]) for one in ends),
            Route("/v1/models", self._models),
            Route("/api/tags", self._tags),
            Route("/api/version", _version),
            Route("/api/show", _show, methods=["POST"]),
            Route("/health", health),
            Route("/metrics", told),
            Route("/openapi.json", schema),
        ]

    async def _models(self, _request: Request) -> Response:
        return _json(replies.Models(data=[replies.Model(id=MODEL, created=int(self._began.at_s))]))

    async def _tags(self, _request: Request) -> Response:
        return _json(replies.Tags(models=[replies.Tag(name=MODEL, model=MODEL, modified_at=self._began.iso)]))


def _async(endpoint: Endpoint) -> Callable[[Request], Any]:
    """As a function: Starlette takes an object that can be called for an application of its own."""

    async def respond(request: Request) -> Response:
        return await endpoint(request)

    return respond


async def _version(_request: Request) -> Response:
    return _json(replies.Version(version=__version__))


async def _show(request: Request) -> Response:
    try:
        bodies.ShowBody.model_validate_json(await request.body())
    except ValidationError:
        return problem(request.url.path, 400, "the body is not what it should be")
    return _json(replies.Shown())


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return problem(request.url.path, error.status_code, error.detail, error.headers)


async def _failed(request: Request, error: Exception) -> Response:
    logger.error("a request failed", exc_info=error)
    return problem(request.url.path, 500, "this request failed; the log says why")


def _json(reply: BaseModel, status: int = 200) -> Response:
    return JSONResponse(reply.model_dump(), status)
