"""Who may ask a gateway, and how much: over real connections."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from gateway_process import RunningGateway, running_gateway
from midspan_lsp.errors import ConfigError
from midspan_lsp.gateway.settings import Address, GatewaySettings

TOKEN = "a-long-and-random-text"
ASK = {"prompt": "def f(x):\n    return ", "suffix": "\n"}
HOLDS_UP = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"


@pytest.fixture(scope="module")
def gateway(tiny_checkpoint: Path) -> Iterator[RunningGateway]:
    with running_gateway("--model", str(tiny_checkpoint), "--allow", "box.example") as gateway:
        yield gateway


@pytest.fixture(scope="module")
def closed_gateway(tiny_checkpoint: Path) -> Iterator[RunningGateway]:
    environment = {"MIDSPAN_GATEWAY_TOKEN": TOKEN}
    with running_gateway("--model", str(tiny_checkpoint), environment=environment) as gateway:
        yield gateway


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:1234", "127.0.0.1:80", "[::1]", "192.168.0.7:80", "box.example"]
)
def test_names_that_cannot_be_had_to_point_elsewhere_are_answered(gateway: RunningGateway, host: str) -> None:
    with gateway.client(headers={"Host": host}) as client:
        assert client.post("/v1/completions", json=ASK).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "box.example.evil", "", "a b", "[::1"])
def test_other_names_are_refused(gateway: RunningGateway, host: str) -> None:
    with gateway.client(headers={"Host": host}) as client:
        assert client.post("/v1/completions", json=ASK).status_code == 403


@pytest.mark.parametrize("origin", ["http://localhost:3000", "http://127.0.0.1", "https://box.example"])
def test_pages_of_this_machine_may_ask(gateway: RunningGateway, origin: str) -> None:
    with gateway.client(headers={"Origin": origin}) as client:
        response = client.post("/v1/completions", json=ASK)
    assert response.status_code == 200
    assert "access-control-allow-origin" not in response.headers


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "", "http://127.0.0.1.evil.example", "file://"])
def test_web_pages_may_not(gateway: RunningGateway, origin: str) -> None:
    with gateway.client(headers={"Origin": origin}) as client:
        assert client.post("/v1/completions", json=ASK).status_code == 403
        assert client.options("/v1/completions").status_code == 403


def test_a_token_is_asked_for_everywhere_but_at_health(closed_gateway: RunningGateway) -> None:
    with closed_gateway.client() as client:
        assert client.get("/health").status_code == 200
        for path in ("/metrics", "/v1/models", "/api/tags", "/openapi.json", "/nowhere"):
            assert client.get(path).status_code == 401
        for shown in ("Bearer wrong", f"Basic {TOKEN}", "Bearer", "Bearer é"):
            refused = client.post("/v1/completions", json=ASK, headers={"Authorization": shown.encode("latin-1")})
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        for headers in ({"Authorization": f"Bearer {TOKEN}"}, {"X-Api-Key": TOKEN}):
            assert client.post("/v1/completions", json=ASK, headers=headers).status_code == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.7", "box.example"])
def test_other_machines_reach_it_only_with_a_token(host: str) -> None:
    with pytest.raises(ConfigError, match="no token"):
        GatewaySettings(Address(host))
    GatewaySettings(Address(host), token=TOKEN)


@pytest.mark.parametrize("token", ["short", "with blanks in between it", "ümläut-ümläut-ümläut"])
def test_a_weak_token_is_refused(token: str) -> None:
    with pytest.raises(ConfigError, match="no usable token"):
        GatewaySettings(token=token)


def test_the_command_says_what_is_wrong_with_an_address() -> None:
    for listen, told in (
        ("0.0.0.0:0", "no token"),
        ("nowhere", "not an address"),
        ("127.0.0.1:99999", "not an address"),
    ):
        command = [sys.executable, "-P", "-m", "midspan_lsp", "gateway", "--listen", listen]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert told in done.stderr
        assert "Traceback" not in done.stderr


def test_a_taken_port_is_told(gateway: RunningGateway) -> None:
    listen = gateway.url.removeprefix("http://")
    command = [sys.executable, "-P", "-m", "midspan_lsp", "gateway", "--listen", listen]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "cannot listen" in done.stderr


def test_a_body_that_is_too_large_is_refused_whether_it_says_so_or_not(gateway: RunningGateway) -> None:
    large = b'{"prompt": "' + b"x" * 2_000_000 + b'"}'
    with gateway.client() as client:
        assert client.post("/v1/completions", content=large).status_code == 413
        assert client.post("/v1/completions", content=iter([large[:1_500_000], large[1_500_000:]])).status_code == 413
        assert client.post("/v1/completions", json=ASK).status_code == 200


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'{"prompt": 1}', b'{"prompt": "\\ud800"}', b"\xff\xfe", b"{}"]
)
def test_a_body_that_is_none_is_refused_without_an_echo(gateway: RunningGateway, body: bytes) -> None:
    with gateway.client() as client:
        refused = client.post("/v1/completions", content=body)
        assert refused.status_code == 400
        assert refused.json()["error"]["code"] == 400
        spoken_otherwise = client.post("/api/generate", content=b'{"prompt": 1}')
        assert isinstance(spoken_otherwise.json()["error"], str)


def test_a_body_that_does_not_come_is_not_waited_for(gateway: RunningGateway) -> None:
    host, _, port = gateway.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(HOLDS_UP)
        began_s = time.monotonic()
        assert connection.recv(100).startswith(b"HTTP/1.1 408 ")
        assert time.monotonic() - began_s < 20


def test_secrets_are_answered_with_nothing(gateway: RunningGateway) -> None:
    with gateway.client() as client:
        answer = client.post("/v1/completions", json={**ASK, "path": "config/.env"}).json()
    assert answer["choices"][0]["text"] == ""
    assert answer["usage"]["completion_tokens"] == 0


def test_what_nobody_offers_is_not_found_in_every_dialect(gateway: RunningGateway) -> None:
    with gateway.client() as client:
        assert client.get("/nowhere").json()["error"]["code"] == 404
        assert client.post("/api/chat", json={}).json() == {"error": "Not Found"}
        assert client.get("/v1/completions").status_code == 405
