"""The document that says what may be asked: built from the same models that check it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from midspan_lsp import __version__
from midspan_lsp.gateway import bodies, replies
from midspan_lsp.gateway.dialects import Dialect
from midspan_lsp.gateway.problems import ErrorBody, OllamaErrorBody, speaks_ollama

_REF = "#/components/schemas/{model}"
_PROBLEMS = {
    400: "The body is not what it should be.",
    401: "There is no token, or a wrong one.",
    403: "A web page, or by a name that this server does not go by.",
    408: "The body did not come in time.",
    413: "The body is too large.",
    429: "Too many requests are waiting; Retry-After tells when to ask again.",
    500: "The model failed.",
    503: "The model is being loaded.",
}
_EVENT = {"type": "object", "properties": {"data": {"type": "string"}}, "required": ["data"]}
_PLAIN: dict[str, type[BaseModel]] = {
    "/v1/models": replies.Models,
    "/api/tags": replies.Tags,
    "/api/version": replies.Version,
}


def openapi_document(dialects: Iterable[Dialect[Any]]) -> dict[str, Any]:
    """The OpenAPI 3.1 document of all routes."""
    dialects = list(dialects)
    models: list[type[BaseModel]] = [ErrorBody, OllamaErrorBody, replies.Health, bodies.ShowBody, replies.Shown]
    models += [model for dialect in dialects for model in (dialect.body, dialect.reply)]
    models += _PLAIN.values()
    schemas = models_json_schema([(model, "validation") for model in models], ref_template=_REF)[1]["$defs"]
    paths: dict[str, Any] = {
        dialect.path: {"post": _post(dialect.path, dialect.__doc__, dialect.body, dialect.reply, dialect.media_type)}
        for dialect in dialects
    }
    paths["/api/show"] = {"post": _post("/api/show", "What the model can do.", bodies.ShowBody, replies.Shown)}
    for path, reply in _PLAIN.items():
        paths[path] = {"get": _operation(path, reply.__doc__, {"200": _json("What there is.", reply)}, (401, 403))}
    health = {"200": _json("It can answer.", replies.Health), "503": _json("It is loading.", replies.Health)}
    paths["/health"] = {"get": {**_operation("/health", "Whether it can answer.", health, (403,)), "security": []}}
    text = {"description": "Prometheus' text form.", "content": {"text/plain": {"schema": {"type": "string"}}}}
    paths["/metrics"] = {"get": _operation("/metrics", "What was counted.", {"200": text}, (401, 403))}
    scheme = {"token": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Midspan", "version": __version__, "description": "Middles by diffusion infilling."},
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": scheme},
        "security": [{}, {"token": []}],
    }


def _post(
    path: str, about: str | None, body: type[BaseModel], reply: type[BaseModel], stream: str | None = None
) -> dict[str, Any]:
    ok = _json("The middle.", reply)
    if stream is not None:
        ok["content"][stream] = {"schema": _EVENT if stream == "text/event-stream" else {"type": "string"}}
    operation = _operation(path, about, {"200": ok}, _PROBLEMS)
    content = {"application/json": {"schema": {"$ref": _REF.format(model=body.__name__)}}}
    return {**operation, "requestBody": {"required": True, "content": content}}


def _operation(path: str, about: str | None, responses: dict[str, Any], problems: Iterable[int]) -> dict[str, Any]:
    error = OllamaErrorBody if speaks_ollama(path) else ErrorBody
    told = {str(status): _json(_PROBLEMS[status], error) for status in problems}
    return {"summary": (about or "").partition("\n")[0], "responses": {**responses, **told}}


def _json(about: str, model: type[BaseModel]) -> dict[str, Any]:
    schema = {"$ref": _REF.format(model=model.__name__)}
    return {"description": about, "content": {"application/json": {"schema": schema}}}
