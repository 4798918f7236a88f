"""What the gateway may be told, and its bounds."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from midspan_lsp.errors import ConfigError

TOKEN_VARIABLE = "MIDSPAN_GATEWAY_TOKEN"  # noqa: S105  # its name
DEFAULT_PORT = 4390
_LEAST_TOKEN_LENGTH = 16


@dataclass(frozen=True)
class Address:
    """Where to listen; port 0: any free one."""

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT

    @property
    def is_loopback(self) -> bool:
        """Whether only programs of this machine reach it."""
        return is_loopback(self.host)

    def url(self, port: int) -> str:
        """How clients call it."""
        return f"http://[{self.host}]:{port}" if ":" in self.host else f"http://{self.host}:{port}"


@dataclass(frozen=True)
class GatewaySettings:
    """All of it.

    Attributes:
        address: where it listens.
        token: what clients must show; "": nothing.
        allowed_hosts: names by which it may be called, and whose web pages may call it, beside this machine's own.
        folders: of projects whose text is looked at for middles.
        n_at_once: requests that are worked on at a time: as many as the model takes, and one that is judged meanwhile.
        max_body_bytes: of a request.
        max_waiting: requests that wait for their turn.
        max_wait_s: a request that has waited for so long is turned away.
        timeout_s: from a request's turn on; then it is answered with what there is.
        body_timeout_s: a request must have come as a whole by then.
    """

    address: Address = Address()
    token: str = ""
    allowed_hosts: frozenset[str] = frozenset()
    folders: tuple[str, ...] = ()
    n_at_once: int = 2
    max_body_bytes: int = 2_000_000
    max_waiting: int = 32
    max_wait_s: float = 10.0
    timeout_s: float = 15.0
    body_timeout_s: float = 10.0

    def __post_init__(self) -> None:
        if not self.address.is_loopback and not self.token:
            raise ConfigError(
                f"{self.address.host} can be reached from other machines, and there is no token",
                hint=f"Set {TOKEN_VARIABLE} to a long random text, or listen on 127.0.0.1.",
            )
        if self.token and (len(self.token) < _LEAST_TOKEN_LENGTH or not re.fullmatch(r"[\x21-\x7e]+", self.token)):
            raise ConfigError(
                f"{TOKEN_VARIABLE} is no usable token",
                hint=f"Give at least {_LEAST_TOKEN_LENGTH} letters, digits or signs, without blanks.",
            )


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine's own, whatever a name server says."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
