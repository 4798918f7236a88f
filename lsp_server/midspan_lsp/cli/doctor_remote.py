"""What `midspan doctor` finds out about a remote server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from midspan_lsp.backend_settings import BackendSettings
from midspan_lsp.backends.base import LoadProgress
from midspan_lsp.backends.http_fim import HttpFimBackend
from midspan_lsp.errors import BackendUnavailable, InfillError
from midspan_lsp.types import CancellationToken, InfillRequest

Print = Callable[[str, str], None]

_SHOWN_MODELS = 8


def check_remote(settings: BackendSettings, question: InfillRequest, tell: Print) -> int:
    """Tell whether the server can be reached, knows the model and fills a middle; 0 if it does, 1 if not.

    Args:
        settings: where it is.
        question: the middle it is asked for; no code of the user's.
        tell: prints a name and a fact.
    """
    return asyncio.run(_check(settings, question, tell))


async def _check(settings: BackendSettings, question: InfillRequest, tell: Print) -> int:
    try:
        backend = HttpFimBackend(replace(settings, delay_ms=0))
    except InfillError as error:
        tell("remote server", f"not tried: {error}")
        return 1
    tell("remote server", f"{settings.dialect} at {backend.origin}")
    try:
        await backend.load(_ignore)
    except InfillError as error:
        tell("its key", f"{backend.key_source}: {error}")
        return 1
    tell("its key", f"{backend.key_source}: there" if backend.has_key else "none, and none is asked for")
    try:
        reached = await _tell_models(backend, tell)
        return await _try_infill(backend, question, tell) if reached else 1
    finally:
        await backend.aclose()


async def _tell_models(backend: HttpFimBackend, tell: Print) -> bool:
    """Whether the server can be reached at all; that it cannot list its models does not matter."""
    try:
        models = await backend.list_models()
    except InfillError as error:
        tell("its models", f"not told: {error}")
        return not (isinstance(error, BackendUnavailable) and error.retryable)  # it is not there
    is_known = backend.model in models or f"{backend.model}:latest" in models
    n_more = len(models) - _SHOWN_MODELS
    shown = ", ".join(models[:_SHOWN_MODELS]) + (f" and {n_more} more" if n_more > 0 else "") or "none"
    if not backend.model:
        tell("its models", shown)
    elif is_known:
        tell("its models", f"{backend.model} is one of {len(models)}")
    else:
        tell("its models", f"{backend.model} is none of them: {shown}\nSet `backend.model` to one of these.")
    return True


async def _try_infill(backend: HttpFimBackend, question: InfillRequest, tell: Print) -> int:
    try:
        response = await backend.infill(question, CancellationToken())
    except InfillError as error:
        tell("remote completion", f"fails: {error}")
        return 1
    line = question.prefix.splitlines()[-1].strip()
    text = response.candidates[0].text if response.candidates else ""
    if not text:
        tell("remote completion", f"empty: {line} -> nothing. Is the model one that fills middles?")
        return 1
    knowledge = (
        f"probability {response.candidates[0].probability:.2f}"
        if response.candidates[0].confidences
        else ("probability not told: such middles are shown unless `completion.eagerness` is low")
    )
    tell("remote completion", f"works: {line} -> {text!r} ({response.stats.elapsed_ms:.0f} ms, {knowledge})")
    return 0


def _ignore(progress: LoadProgress) -> None:
    """Nothing that takes long."""
