"""Errors of the model package; a server maps them onto its own."""

from __future__ import annotations


class ModelError(Exception):
    """The model cannot be used.

    Args:
        message: what is wrong, in one sentence.
        hint: what to do about it.
        retryable: whether the same call may work later without anything changed.
    """

    def __init__(self, message: str, *, hint: str = "", retryable: bool = False) -> None:
        super().__init__(message)
        self.hint = hint
        self.retryable = retryable


class WeightsError(ModelError):
    """Weights that are missing, damaged or of another shape."""
