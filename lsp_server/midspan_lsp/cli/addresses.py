"""Reads HOST:PORT from the command line; a port alone is this machine's."""

from __future__ import annotations

import re

from midspan_lsp.errors import ConfigError

_ADDRESS = re.compile(r"(?:(?:\[(?P<ipv6>[0-9a-fA-F:.]+)\]|(?P<host>[^\[\]:]+)):)?(?P<port>[0-9]{1,5})")
_THIS_MACHINE = "127.0.0.1"


def read_address(text: str, option: str) -> tuple[str, int]:
    """Host and port.

    Raises:
        ConfigError: it is no address; names the option.
    """
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match["port"]) > 65535:
        raise ConfigError(f"{option} {text}: not an address", hint="Give HOST:PORT, such as 127.0.0.1:4389.")
    return match["ipv6"] or match["host"] or _THIS_MACHINE, int(match["port"])
