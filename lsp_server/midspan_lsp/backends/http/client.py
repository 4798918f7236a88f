"""One server over HTTP: kept connections, time limits, retries where they are safe. The only importer of httpx."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import ssl
import time
from typing import TYPE_CHECKING

from midspan_lsp.backends.http.address import Address
from midspan_lsp.backends.http.faults import error_of_status
from midspan_lsp.errors import (
    BackendBusy,
    BackendTimeout,
    BackendUnavailable,
    BadResponse,
    ConfigError,
    InfillError,
)

if TYPE_CHECKING:
    import httpx

logger = logging.getLogger(__name__)

MAX_BODY_BYTES = 1 << 20
CONNECT_TIMEOUT_S = 3.0
MAX_TRIES = 3
_IDLE_S = 60.0
_FIRST_PAUSE_S = 0.05
_LOOPBACK = ("all://127.0.0.1", "all://localhost", "all://[::1]")
_LATER = "It is asked again with a later request."


class _Refused(BackendUnavailable):
    """Nothing was sent: whatever it was may be tried again."""


class RemoteClient:
    """Talks to one server.

    Proxies are as `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` say, but never for this machine itself;
    certificates as `SSL_CERT_FILE` and `SSL_CERT_DIR` say, and those of `ca_file` besides. Redirects are not followed.

    Args:
        address: of the server.
        key: "" if it needs none.
        ca_file: a PEM file; "" if there is none.

    Raises:
        InfillError: httpx is not installed, or what it is to use cannot be used.
    """

    def __init__(self, address: Address, key: str, ca_file: str = "") -> None:
        try:
            import httpx  # noqa: PLC0415  (an extra)
        except ImportError as error:
            raise BackendUnavailable(
                "a remote backend needs the package httpx, which is not installed",
                hint="Install Midspan with its extra: pip install 'midspan[remote]'",
            ) from error
        self._httpx = httpx
        self._address = address
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        # httpx tells addresses at the level of information; they are the user's own business
        logging.getLogger("httpx").setLevel(logging.WARNING)
        try:
            self._client = httpx.AsyncClient(
                headers=headers,
                verify=_trust(ca_file),
                timeout=httpx.Timeout(None, connect=CONNECT_TIMEOUT_S),
                limits=httpx.Limits(max_connections=8, max_keepalive_connections=4, keepalive_expiry=_IDLE_S),
                mounts=dict.fromkeys(_LOOPBACK),
                follow_redirects=False,
            )
        except (ImportError, ValueError, httpx.InvalidURL) as error:
            raise ConfigError(
                "the proxy that the environment names cannot be used",
                hint="See HTTP_PROXY, HTTPS_PROXY and ALL_PROXY; Midspan can use http:// and https:// proxies.",
            ) from error

    async def ask(self, body: dict[str, object], deadline_s: float) -> object:
        """Send a request's body; the JSON of the answer. Cancelling whoever awaits this closes the connection.

        What surely did nothing is tried again while there is time: a refused connection, and a server that asks for it.

        Args:
            body: of the request.
            deadline_s: of `time.monotonic()`.

        Raises:
            InfillError: there is no good answer, or none in time.
        """
        content = json.dumps(body).encode()
        return await self._in_time("POST", self._address.endpoint, content, deadline_s)

    async def fetch(self, path: str, deadline_s: float) -> object:
        """The JSON at another path of the server.

        Raises:
            InfillError: as of `ask`.
        """
        return await self._in_time("GET", self._address.base + path, None, deadline_s)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def _in_time(self, method: str, url: str, content: bytes | None, deadline_s: float) -> object:
        try:
            async with asyncio.timeout(max(0.0, deadline_s - time.monotonic())):
                return await self._with_retries(method, url, content, deadline_s)
        except TimeoutError as error:
            raise BackendTimeout(
                f"the server at {self._address.origin} has not answered in time",
                hint="`backend.timeout_ms` and `completion.timeout_ms` say how long it is waited for.",
                retryable=True,
            ) from error

    async def _with_retries(self, method: str, url: str, content: bytes | None, deadline_s: float) -> object:
        pause_s = _FIRST_PAUSE_S
        for n_tries in range(1, MAX_TRIES + 1):
            try:
                return await self._try(method, url, content)
            except (_Refused, BackendBusy) as error:
                wait_s = pause_s if isinstance(error, _Refused) else error.retry_after_s
                if wait_s is None or n_tries == MAX_TRIES:
                    raise
                wait_s += random.uniform(0, pause_s)  # noqa: S311  (so that several clients do not come at once)
                if time.monotonic() + wait_s >= deadline_s:
                    raise
                await asyncio.sleep(wait_s)
                pause_s *= 2
        raise AssertionError("the last try raises")

    async def _try(self, method: str, url: str, content: bytes | None) -> object:
        httpx, origin = self._httpx, self._address.origin
        try:
            async with self._client.stream(method, url, content=content) as response:
                body = _json(await self._read(response))
                if response.status_code != 200:
                    retry_after = response.headers.get("Retry-After")
                    raise error_of_status(response.status_code, retry_after, body, origin)
        except httpx.ConnectError as error:
            raise _unreachable(error, origin) from error
        except httpx.ConnectTimeout as error:
            raise _Refused(f"the server at {origin} cannot be reached", hint=_LATER, retryable=True) from error
        except httpx.ProxyError as error:
            raise BackendUnavailable(
                f"the proxy does not lead to {origin}", hint="See HTTP_PROXY, HTTPS_PROXY, NO_PROXY.", retryable=True
            ) from error
        except httpx.HTTPError as error:
            logger.debug("%s: %r", origin, error)
            raise BadResponse(f"the connection to {origin} broke", hint=_LATER, retryable=True) from error
        if body is None:
            raise BadResponse(
                f"the server at {origin} answers with something else than JSON",
                hint="Check that `backend.url` and `backend.dialect` are its own.",
            )
        return body

    async def _read(self, response: httpx.Response) -> bytes:
        """The body, as long as it is one of a sensible length that says what it is."""
        data = bytearray()
        if response.headers.get("Content-Encoding", "identity") == "identity":
            async for chunk in response.aiter_raw():
                data += chunk
                if len(data) > MAX_BODY_BYTES:
                    raise BadResponse(
                        f"the server at {self._address.origin} answers without end",
                        hint="Check that `backend.url` and `backend.dialect` are its own.",
                    )
        return bytes(data)


def _json(data: bytes) -> object:
    """None where it is none."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _unreachable(error: Exception, origin: str) -> InfillError:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return BackendUnavailable(
                f"the certificate of {origin} is not trusted",
                hint="If it is your organisation's own, name its authority's PEM file in `backend.ca_file` "
                "or SSL_CERT_FILE.",
            )
        if isinstance(cause, ssl.SSLError):
            return BackendUnavailable(
                f"{origin} does not speak TLS as it should", hint="Is it a server for http:// rather than https://?"
            )
        cause = cause.__cause__ or cause.__context__
    return _Refused(f"the server at {origin} cannot be reached", hint=f"Is it running? {_LATER}", retryable=True)


def _trust(ca_file: str) -> ssl.SSLContext:
    """The usual certificates, or those that SSL_CERT_FILE and SSL_CERT_DIR name, and those of a file besides."""
    import httpx  # noqa: PLC0415

    try:
        context = httpx.create_ssl_context()
    except (OSError, ssl.SSLError) as error:
        raise ConfigError("the certificates that SSL_CERT_FILE names cannot be read") from error
    if ca_file:
        try:
            context.load_verify_locations(cafile=os.path.expanduser(ca_file))
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(
                "the certificates of `backend.ca_file` cannot be read", hint=f"It is {ca_file}."
            ) from error
    return context
