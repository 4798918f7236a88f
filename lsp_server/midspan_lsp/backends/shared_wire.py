"""What a server and the host of a shared model say to one another: a line of JSON each.

The values of `types.py` go over whole, so that proposals, confidences and drafts to be mended survive.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal

from cattrs import Converter
from cattrs.errors import BaseValidationError
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override
from cattrs.preconf.json import make_converter

from midspan_lsp.errors import BackendUnavailable, BadResponse, InfillError
from midspan_lsp.types import InfillRequest, InfillResponse, InfillStats, SlotView

MOST_BYTES = 16_000_000
"""Of a line."""

AskKind = Literal["hello", "load", "infill", "prepare", "cancel"]
TellKind = Literal["hello", "progress", "loaded", "step", "infilled", "prepared", "failed"]

_converter: Converter = make_converter()
for _kind, _stays_here in ((InfillRequest, "ahead"), (InfillResponse, "later")):  # neither is a value
    _omitted: Any = {_stays_here: override(omit=True)}
    _converter.register_unstructure_hook(_kind, make_dict_unstructure_fn(_kind, _converter, **_omitted))
    _converter.register_structure_hook(_kind, make_dict_structure_fn(_kind, _converter, **_omitted))


class WireError(Exception):
    """The other side says what cannot be understood."""


@dataclass(frozen=True)
class Ask:
    """From a server.

    Attributes:
        kind: what is wanted.
        id: of the question; a cancel has that of the question it is for.
        request: for `infill` and `prepare`.
        timeout_s: from now on; None: no such bound.
        wants_steps: for `infill`: whether each forward is to be told.
    """

    kind: AskKind
    id: int = 0
    request: InfillRequest | None = None
    timeout_s: float | None = None
    wants_steps: bool = False


@dataclass(frozen=True)
class Failure:
    """An error of ours, to be raised on the other side."""

    message: str
    hint: str
    retryable: bool
    is_unavailable: bool


@dataclass(frozen=True)
class Tell:
    """From the host.

    Attributes:
        id: of the question.
        kind: what is told.
        message: for `progress`: what is being done.
        percentage: for `progress`: how much of it is done, where that is known.
        n_forwards: for `step`.
        slots: for `step`.
        response: for `infilled`.
        stats: for `prepared`.
        failure: for `failed`.
    """

    id: int
    kind: TellKind
    message: str = ""
    percentage: int | None = None
    n_forwards: int = 0
    slots: tuple[SlotView, ...] = ()
    response: InfillResponse | None = None
    stats: InfillStats = field(default_factory=InfillStats)
    failure: Failure | None = None


def write(message: Ask | Tell) -> bytes:
    """A line."""
    return json.dumps(_converter.unstructure(message), separators=(",", ":")).encode("ascii") + b"\n"


def read_ask(line: bytes) -> Ask:
    """What a server wants.

    Raises:
        WireError: it is no such line.
    """
    return _read(line, Ask)


def read_tell(line: bytes) -> Tell:
    """What the host tells.

    Raises:
        WireError: it is no such line.
    """
    return _read(line, Tell)


def _read(line: bytes, kind: type[Any]) -> Any:
    try:
        return _converter.structure(json.loads(line), kind)
    except (ValueError, TypeError, KeyError, BaseValidationError) as error:
        raise WireError(f"no {kind.__name__}: {type(error).__name__}") from error


def failure_of(error: Exception) -> Failure:
    """An error as it is told."""
    known = error if isinstance(error, InfillError) else BadResponse(f"the model failed: {error!r}")
    message = str(known.args[0]) if known.args else str(known)
    return Failure(message, known.hint, known.retryable, isinstance(known, BackendUnavailable))


def error_of(failure: Failure) -> InfillError:
    """The error again."""
    kind = BackendUnavailable if failure.is_unavailable else BadResponse
    return kind(failure.message, hint=failure.hint, retryable=failure.retryable)
