"""`midspan serve`: the language server over stdio or TCP."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from midspan_lsp.cli.addresses import read_address
from midspan_lsp.cli.backends import build_backend, check_sharing
from midspan_lsp.config import Settings
from midspan_lsp.lsp.connections import Address, check_exposure
from midspan_lsp.lsp.serve import serve

if TYPE_CHECKING:
    from midspan_lsp.engine.pipeline import Engine


@dataclass(frozen=True)
class Options:
    """Of `midspan serve`.

    Attributes:
        tcp: an address to wait on; None: standard input and output.
        websocket: the same for a WebSocket.
        allow_remote: other machines may connect.
        origins: web pages that may.
        shared: the model is that which all servers share.
    """

    tcp: str | None = None
    websocket: str | None = None
    allow_remote: bool = False
    origins: tuple[str, ...] = ()
    shared: bool = False


def run(options: Options) -> int:
    """Serve until the editor ends.

    Raises:
        InfillError: the address is none, or cannot be used, or nothing can be shared here.
    """
    if options.shared:
        check_sharing()
    return serve(partial(_build_engine, shared=options.shared), at=_address(options))


def _build_engine(settings: Settings, *, shared: bool) -> Engine:
    """Called when the editor has had its first answer, which these imports would delay."""
    from midspan_lsp.backends.notices import Notices  # noqa: PLC0415
    from midspan_lsp.backends.opening import open_backend  # noqa: PLC0415
    from midspan_lsp.engine.feedback import Feedback  # noqa: PLC0415
    from midspan_lsp.engine.pipeline import Engine  # noqa: PLC0415
    from midspan_lsp.engine.recall import Recall  # noqa: PLC0415

    notices, counts = Notices(), settings.stats.enabled
    recall, feedback = Recall(settings.memory, count=counts), Feedback(enabled=counts)
    backend = open_backend(settings, notices, build_local=partial(build_backend, shared=shared))
    return Engine(backend, settings, recall, feedback, notices=notices)


def _address(options: Options) -> Address | None:
    if options.tcp is not None:
        address = Address("tcp", *read_address(options.tcp, "--tcp"))
    elif options.websocket is not None:
        address = Address("websocket", *read_address(options.websocket, "--websocket"), options.origins)
    else:
        return None
    check_exposure(address, allow_remote=options.allow_remote)
    return address
