"""`midspan serve`: the language server over stdio or TCP."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from midspan_lsp.config import Settings
from midspan_lsp.errors import ConfigError
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
    """

    tcp: str | None = None
    websocket: str | None = None
    allow_remote: bool = False
    origins: tuple[str, ...] = ()


def run(options: Options) -> int:
    """Serve until the editor ends.

    Raises:
        ConfigError: the address is none, or cannot be used.
    """
    return serve(_build_engine, at=_address(options))


def _build_engine(settings: Settings) -> Engine:
    """Called when the editor has had its first answer, which these imports would delay."""
    from midspan_lsp.backends.local import LocalBackend  # noqa: PLC0415
    from midspan_lsp.engine.feedback import Feedback  # noqa: PLC0415
    from midspan_lsp.engine.pipeline import Engine  # noqa: PLC0415
    from midspan_lsp.engine.recall import Recall  # noqa: PLC0415

    counts = settings.stats.enabled
    recall, feedback = Recall(settings.memory, count=counts), Feedback(enabled=counts)
    return Engine(LocalBackend(settings), settings, recall, feedback)


def _address(options: Options) -> Address | None:
    if options.tcp is not None:
        address = Address("tcp", *_host_and_port("--tcp", options.tcp))
    elif options.websocket is not None:
        address = Address("websocket", *_host_and_port("--websocket", options.websocket), options.origins)
    else:
        return None
    check_exposure(address, allow_remote=options.allow_remote)
    return address


def _host_and_port(option: str, text: str) -> tuple[str, int]:
    """A port alone is this machine's."""
    match = re.fullmatch(r"(?:(?:\[(?P<ipv6>[0-9a-fA-F:.]+)\]|(?P<host>[^\[\]:]+)):)?(?P<port>[0-9]{1,5})", text)
    if match is None or int(match["port"]) > 65535:
        raise ConfigError(f"{option} {text}: not an address", hint="Give HOST:PORT, such as 127.0.0.1:4389.")
    return match["ipv6"] or match["host"] or "127.0.0.1", int(match["port"])
