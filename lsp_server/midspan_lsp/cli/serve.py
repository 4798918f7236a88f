"""`midspan serve`: the language server over stdio or TCP."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from midspan_lsp.cli.addresses import read_address
from midspan_lsp.cli.backends import build_backend, check_sharing
from midspan_lsp.config import Settings
from midspan_lsp.lsp.serve import serve

if TYPE_CHECKING:
    from midspan_lsp.engine.pipeline import Engine


def run(tcp: str | None, *, shared: bool = False) -> int:
    """Serve until the editor ends, with a model of its own or with that which all servers share.

    Raises:
        InfillError: the address is none, or nothing can be shared here.
    """
    if shared:
        check_sharing()
    return serve(partial(_build_engine, shared=shared), tcp=None if tcp is None else read_address(tcp, "--tcp"))


def _build_engine(settings: Settings, *, shared: bool) -> Engine:
    """Called when the editor has had its first answer, which these imports would delay."""
    from midspan_lsp.backends.notices import Notices  # noqa: PLC0415
    from midspan_lsp.backends.opening import open_backend  # noqa: PLC0415
    from midspan_lsp.engine.pipeline import Engine  # noqa: PLC0415
    from midspan_lsp.engine.recall import Recall  # noqa: PLC0415

    notices, recall = Notices(), Recall(settings.memory, count=settings.stats.enabled)
    backend = open_backend(settings, notices, build_local=partial(build_backend, shared=shared))
    return Engine(backend, settings, recall, notices=notices)
