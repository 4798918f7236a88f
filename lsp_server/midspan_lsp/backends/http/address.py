"""Where a server is. Pure."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from midspan_lsp.errors import ConfigError

_HINT = "Give `backend.url` as http(s)://HOST[:PORT], with or without the path; a key belongs into the environment."


@dataclass(frozen=True)
class Address:
    """A server's address.

    Attributes:
        origin: scheme, host and port: all that is ever told of it.
        endpoint: where it is asked.
        base: what other paths are below.
        is_loopback: it is on this machine.
        is_encrypted: by TLS.
    """

    origin: str
    endpoint: str
    base: str
    is_loopback: bool
    is_encrypted: bool


def address_of(url: str, path: str) -> Address:
    """Where a server is asked at `path`, if its address is told with that path, without it, or with a part of it.

    Raises:
        ConfigError: it is no address, or holds a name and password, which would be told and logged.
    """
    if not url:
        raise ConfigError("the address of the remote server is not set", hint=_HINT)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigError("`backend.url` is not an address", hint=_HINT) from error
    if parts.scheme not in ("http", "https") or not host or any(ord(one) <= 32 for one in url):
        raise ConfigError("`backend.url` is not an address", hint=_HINT)
    if parts.username is not None or parts.query or parts.fragment:
        raise ConfigError("`backend.url` holds more than an address", hint=_HINT)
    shown_host = f"[{host}]" if ":" in host else host
    origin = f"{parts.scheme}://{shown_host}" + (f":{port}" if port is not None else "")
    base = _base(parts, path)
    return Address(origin, origin + base + path, origin + base, _is_loopback(host), parts.scheme == "https")


def _base(parts: SplitResult, path: str) -> str:
    """The part of an address's path that stands before all that a server offers."""
    told = parts.path.rstrip("/")
    pieces = path.strip("/").split("/")
    for n in range(len(pieces), 0, -1):
        beginning = "/" + "/".join(pieces[:n])
        if told.endswith(beginning):
            return told.removesuffix(beginning)
    return told


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
