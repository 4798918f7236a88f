"""Modules whose weights are yet to come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


class _LeftAlone(TorchFunctionMode):
    """Tensors keep what they have, where modules would draw first weights for them."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__module__", "") == "torch.nn.init":
            return kwargs["tensor"] if "tensor" in kwargs else args[0]
        return func(*args, **kwargs)


@contextmanager
def blank_modules() -> Iterator[None]:
    """Modules made in this block have shapes and no weights.

    The meta device alone would have torch import its compiler and sympy to draw numbers that nobody sees: seconds in
    which a server's other threads hardly run.
    """
    with torch.device("meta"), _LeftAlone():
        yield
