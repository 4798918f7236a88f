"""The one tree of errors. Each tells the user what to do."""

from __future__ import annotations


class InfillError(Exception):
    """Something a user can do something about.

    Args:
        message: what is wrong, in one sentence.
        hint: what to do about it.
        retryable: whether the same call may work later without anything changed.
    """

    def __init__(self, message: str, *, hint: str = "", retryable: bool = False) -> None:
        super().__init__(message)
        self.hint = hint
        self.retryable = retryable

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message}\n{self.hint}" if self.hint else message


class ConfigError(InfillError):
    """A setting or an argument that cannot be used."""


class DocumentError(InfillError):
    """A file or a place in it that cannot be completed."""


class BackendUnavailable(InfillError):
    """The backend cannot be used: a missing package, missing weights, a server that is not there."""


class BackendBusy(BackendUnavailable):
    """The backend takes no requests at the moment.

    Args:
        message: what is wrong, in one sentence.
        hint: what to do about it.
        retry_after_s: seconds after which it says that it will; None: it does not say.
    """

    def __init__(self, message: str, *, hint: str = "", retry_after_s: float | None = None) -> None:
        super().__init__(message, hint=hint, retryable=True)
        self.retry_after_s = retry_after_s


class BackendTimeout(InfillError):
    """The backend has not answered in time."""


class BadResponse(InfillError):
    """The backend failed on one request."""


class Overloaded(InfillError):
    """More is asked than can be answered in time.

    Args:
        retry_after_s: when it is worth asking again.
    """

    def __init__(self, retry_after_s: int) -> None:
        super().__init__("too many requests are waiting", hint="Ask again later, or less.", retryable=True)
        self.retry_after_s = retry_after_s
