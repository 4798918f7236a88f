"""Errors as each dialect writes them."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel
from starlette.responses import JSONResponse, Response

_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    503: "unavailable_error",
}


class ErrorDetail(BaseModel):
    """What is wrong."""

    message: str
    type: str
    code: int


class ErrorBody(BaseModel):
    """An error as OpenAI's and llama.cpp's clients read it."""

    error: ErrorDetail


class OllamaErrorBody(BaseModel):
    """An error as Ollama's clients read it."""

    error: str


def speaks_ollama(path: str) -> bool:
    """Whether the clients of a path are Ollama's."""
    return path.startswith("/api/")


def problem(path: str, status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """An error; its text never holds any of the request's."""
    return JSONResponse(problem_body(path, status, message).model_dump(), status, headers)


def problem_body(path: str, status: int, message: str) -> ErrorBody | OllamaErrorBody:
    """The same without its status, for a stream that has begun."""
    if speaks_ollama(path):
        return OllamaErrorBody(error=message)
    kind = _KINDS.get(status, "invalid_request_error" if status < 500 else "server_error")
    return ErrorBody(error=ErrorDetail(message=message, type=kind, code=status))
