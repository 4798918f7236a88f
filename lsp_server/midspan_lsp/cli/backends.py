"""Which model a command has: one of its own, or that which all of the user's share."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import TYPE_CHECKING

from midspan_lsp.errors import BackendUnavailable

if TYPE_CHECKING:
    from midspan_lsp.backends.base import InfillBackend
    from midspan_lsp.backends.ray_cluster import RayBackend
    from midspan_lsp.config import Settings


N_TOGETHER = 4
"""Requests that a model which many ask works on at a time: their forwards are done together."""


def check_sharing() -> None:
    """Raises BackendUnavailable where processes cannot share a model."""
    if os.name == "nt" or sys.platform == "emscripten":
        raise BackendUnavailable("--shared needs Unix sockets, which Python does not have here", hint="Leave it out.")


def check_replicas() -> None:
    """Raises BackendUnavailable, with the command that mends it, where Ray is not installed."""
    if importlib.util.find_spec("ray") is None:
        raise BackendUnavailable(
            "--ray needs a package that is not installed: ray",
            hint="Install Midspan with its extra: pip install 'midspan[local,gateway,cluster]'",
        )


def build_replicas(settings: Settings, least: int, most: int, n_together: int) -> RayBackend:
    """Not started yet, but Ray takes a moment to import."""
    from midspan_lsp.backends.ray_cluster import RayBackend  # noqa: PLC0415
    from midspan_lsp.backends.ray_plan import Scale  # noqa: PLC0415

    return RayBackend(settings, Scale(least, most), n_together)


def build_backend(settings: Settings, *, shared: bool, n_together: int = 1) -> InfillBackend:
    """Not loaded yet; cheap to make. A shared one works on as many requests at a time as its host says."""
    if shared:
        from midspan_lsp.backends.shared import SharedBackend  # noqa: PLC0415

        return SharedBackend(settings)
    from midspan_lsp.backends.local import LocalBackend  # noqa: PLC0415

    return LocalBackend(settings, n_together)
