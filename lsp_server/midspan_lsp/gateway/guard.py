"""Who may ask, and how much: in front of every route.

A web page must not reach a server on the user's own machine: it is kept out by its `Origin`, and one that has its name
point here (DNS rebinding) by the `Host` that its browser sends.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import re

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from midspan_lsp.gateway.problems import problem
from midspan_lsp.gateway.settings import GatewaySettings, is_loopback

_HOST = re.compile(r"(?:\[(?P<ipv6>[^\]]*)\]|(?P<host>[^:\[\]]*))(?::[0-9]{1,5})?")
_ORIGIN = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://(?P<host>[^/]+)")
_OPEN_PATHS = frozenset({"/health"})


class Guard:
    """Checks host, origin, token and size, and reads the body, before the application sees a request."""

    def __init__(self, app: ASGIApp, settings: GatewaySettings) -> None:
        self._app, self._settings = app, settings
        self._token = settings.token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers, path = Headers(scope=scope), str(scope["path"])
        if refusal := self._refuse(headers, path):
            status, message = refusal
            extra = {"WWW-Authenticate": "Bearer"} if status == 401 else None
            await problem(path, status, message, extra)(scope, receive, send)
            return
        try:
            async with asyncio.timeout(self._settings.body_timeout_s):
                body = await self._read(headers, receive)
        except TimeoutError:
            await problem(path, 408, "the request did not come in time", {"Connection": "close"})(scope, receive, send)
            return
        if body is None:
            message = f"a request may have {self._settings.max_body_bytes} bytes"
            await problem(path, 413, message, {"Connection": "close"})(scope, receive, send)
            return
        await self._app(scope, _replaying(body, receive), send)

    def _refuse(self, headers: Headers, path: str) -> tuple[int, str] | None:
        """Status and reason; None lets it pass."""
        if not self._may_call(headers.get("host", "")):
            return 403, "this server does not go by that name (Host)"
        origin = headers.get("origin")
        if origin is not None and not self._is_own(origin):
            return 403, "web pages may not use this server (Origin)"
        if self._token and path not in _OPEN_PATHS and not self._shows_token(headers):
            return 401, "a token is needed: Authorization: Bearer ..."
        return None

    def _may_call(self, host: str) -> bool:
        """An address cannot be had to point elsewhere, as a name can."""
        name = _name(host)
        if name is None:
            return False
        return name in self._settings.allowed_hosts or is_loopback(name) or _is_address(name)

    def _is_own(self, origin: str) -> bool:
        match = _ORIGIN.fullmatch(origin)
        name = match and _name(match["host"])
        return name is not None and (name in self._settings.allowed_hosts or is_loopback(name))

    def _shows_token(self, headers: Headers) -> bool:
        scheme, _, shown = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            shown = headers.get("x-api-key", "")
        return hmac.compare_digest(shown.strip().encode(), self._token)

    async def _read(self, headers: Headers, receive: Receive) -> bytes | None:
        """The whole body; None if it is too large."""
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self._settings.max_body_bytes:
            return None
        body = bytearray()
        while True:
            message = await receive()
            body += message.get("body", b"")
            if len(body) > self._settings.max_body_bytes:
                return None
            if message["type"] != "http.request" or not message.get("more_body", False):
                return bytes(body)


def _name(host: str) -> str | None:
    """The name of `name:port`, in lower case; None if that is not what it is."""
    match = _HOST.fullmatch(host)
    return None if match is None else (match["ipv6"] or match["host"] or "").lower() or None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _replaying(body: bytes, receive: Receive) -> Receive:
    """Gives the body that was read, and then what comes after it: that the client has gone."""
    is_given = False

    async def replay() -> Message:
        nonlocal is_given
        if not is_given:
            is_given = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return replay
