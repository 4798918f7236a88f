"""`midspan serve`: the language server over stdio or TCP."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from midspan_lsp.config import Settings
from midspan_lsp.errors import ConfigError
from midspan_lsp.lsp.serve import serve

if TYPE_CHECKING:
    from midspan_lsp.engine.pipeline import Engine


def run(tcp: str | None) -> int:
    """Serve until the editor ends.

    Raises:
        ConfigError: the address is none.
    """
    return serve(_build_engine, tcp=None if tcp is None else _address(tcp))


def _build_engine(settings: Settings) -> Engine:
    """Called when the editor has had its first answer, which these imports would delay."""
    from midspan_lsp.backends.notices import Notices  # noqa: PLC0415
    from midspan_lsp.backends.opening import open_backend  # noqa: PLC0415
    from midspan_lsp.engine.pipeline import Engine  # noqa: PLC0415
    from midspan_lsp.engine.recall import Recall  # noqa: PLC0415

    notices, recall = Notices(), Recall(settings.memory, count=settings.stats.enabled)
    return Engine(open_backend(settings, notices), settings, recall, notices=notices)


def _address(text: str) -> tuple[str, int]:
    match = re.fullmatch(r"(?:\[(?P<ipv6>[0-9a-fA-F:.]+)\]|(?P<host>[^\[\]:]+)):(?P<port>[0-9]{1,5})", text)
    if match is None or int(match["port"]) > 65535:
        raise ConfigError(f"--tcp {text}: not an address", hint="Give HOST:PORT, such as 127.0.0.1:4389.")
    return match["ipv6"] or match["host"], int(match["port"])
