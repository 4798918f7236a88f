"""Fields of settings that say what values they take."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from typing import Any


def number(default: Any, low: float, high: float) -> Any:
    """A number with bounds, which it may reach."""
    return field(default=default, metadata={"bounds": (low, high)})


def choice(default: StrEnum) -> Any:
    """One of an enumeration's values."""
    return field(default=default.value, metadata={"choices": tuple(one.value for one in type(default))})
