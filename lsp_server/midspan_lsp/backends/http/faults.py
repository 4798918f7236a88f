"""What goes wrong between here and a server, as errors that tell what to do; never with a key or code in them. Pure."""

from __future__ import annotations

import re
import time
from email.utils import parsedate_to_datetime

from midspan_lsp.backends.http.reading import at
from midspan_lsp.errors import BackendBusy, BackendUnavailable, BadResponse, InfillError

_MAX_RETRY_AFTER_S = 3600.0
_CODE = re.compile(r"[a-z][a-z0-9_.-]{0,40}")
_RETRYABLE = "It is asked again with a later request."


class RequestRefused(BadResponse):
    """The server does not take a request of this form."""


def error_of_status(status: int, retry_after: str | None, body: object, origin: str) -> InfillError:
    """What an answer other than a good one means. Of its text only a short code is told: it may repeat what was sent.

    Args:
        status: HTTP's.
        retry_after: that header's value.
        body: the answer's JSON, if it is some.
        origin: the server's.
    """
    where = f"the server at {origin}"
    code = _code(body)
    said = f"{status}{code and f', {code}'}"
    match status:
        case 401 | 403:
            return BackendUnavailable(
                f"{where} does not take the key ({said})",
                hint="Check the key, and that `backend.key_variable` or `backend.key_service` names it.",
            )
        case 402:
            return BackendUnavailable(f"{where} wants to be paid first ({said})", hint="See your account there.")
        case 404 | 405:
            return BackendUnavailable(
                f"{where} has no such path or model ({said})",
                hint="Check `backend.dialect`, `backend.url` and `backend.model`; `midspan doctor` lists its models.",
            )
        case 429 | 503:
            wait_s = retry_after_s(retry_after)
            hint = _RETRYABLE if status == 503 else f"Its limit for your key is reached. {_RETRYABLE}"
            return BackendBusy(
                f"{where} takes no more requests at the moment ({said})", hint=hint, retry_after_s=wait_s
            )
        case _ if 300 <= status < 400:
            return BackendUnavailable(
                f"{where} sends elsewhere ({said}), where neither code nor key will follow",
                hint="If that is right, set `backend.url` to the new address.",
            )
        case _ if status < 500 and "context" in code:
            return BadResponse(
                f"{where} cannot be shown so much at once ({said})",
                hint="Give it a larger context (llama.cpp: `-c`), or lower `context.prefix_tokens`.",
            )
        case _ if status >= 500:
            return BadResponse(f"{where} has failed ({said})", hint=_RETRYABLE, retryable=True)
        case _:
            return RequestRefused(
                f"{where} does not take the request ({said})",
                hint="Check `backend.dialect`, `backend.model` and `backend.markers`.",
            )


def retry_after_s(value: str | None, now_s: float | None = None) -> float | None:
    """Seconds of a `Retry-After` header, a number or a date; None where there is none, or one that cannot be read."""
    if not value:
        return None
    try:
        wait_s = float(value)
    except ValueError:
        try:
            wait_s = parsedate_to_datetime(value).timestamp() - (time.time() if now_s is None else now_s)
        except ValueError:
            return None
    return min(max(0.0, wait_s), _MAX_RETRY_AFTER_S) if wait_s == wait_s else None  # noqa: PLR0124  (not a number)


def _code(body: object) -> str:
    for path in (("error", "code"), ("error", "type"), ("code",), ("type",)):
        code = at(body, *path)
        if isinstance(code, str) and _CODE.fullmatch(code):
            return code
    return ""
