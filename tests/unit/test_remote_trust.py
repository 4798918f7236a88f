"""Who is asked, through whom, and what is told: certificates, proxies, redirects, keys, secrets, and who decides."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import keyring
import keyring.backend
import pytest
import trustme
from loopback_server import Exchange, serving
from midspan_lsp.backend_settings import BackendSettings
from midspan_lsp.backends.base import LoadProgress
from midspan_lsp.backends.http_fim import HttpFimBackend
from midspan_lsp.backends.notices import Notices
from midspan_lsp.backends.opening import open_backend
from midspan_lsp.config import Settings
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine.pipeline import Engine
from midspan_lsp.errors import BackendUnavailable, ConfigError, InfillError
from midspan_lsp.lsp.settings import ProjectFile, Sources, needs_restart
from midspan_lsp.types import CancellationToken, InfillRequest, InfillResponse, Trigger

KEY = "sesame-open-the-door"
REQUEST = InfillRequest("x = ", "\n", "python")
ANSWER = {"choices": [{"text": "1", "finish_reason": "stop"}]}
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("TEST_KEY", KEY)


def ignore(progress: LoadProgress) -> None:
    pass


async def infilled(url: str, notices: Notices | None = None, **more: Any) -> InfillResponse:
    values = {"url": url, "dialect": "mercury", "key_variable": "TEST_KEY", "delay_ms": 0} | more
    backend = HttpFimBackend(BackendSettings(kind="http", **values), notices)
    try:
        await backend.load(ignore)
        return await backend.infill(REQUEST, CancellationToken(5))
    finally:
        await backend.aclose()


async def good(exchange: Exchange) -> None:
    await exchange.answer(ANSWER)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def tls_of(authority: trustme.CA, name: str = "127.0.0.1") -> Any:
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return context


@pytest.mark.parametrize("how", ["setting", "SSL_CERT_FILE"])
async def test_an_authority_of_the_users_own_is_trusted(
    how: str, authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pem = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(pem))
    if how == "SSL_CERT_FILE":
        monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    async with serving(good, tls_of(authority)) as server:
        response = await infilled(server.url, ca_file=str(pem) if how == "setting" else "")
    assert response.candidates


@pytest.mark.parametrize("name", ["127.0.0.1", "other.test"])
async def test_no_other_is_and_no_name_but_the_servers(name: str, authority: trustme.CA, tmp_path: Path) -> None:
    pem = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(pem))
    trusted = str(pem) if name == "other.test" else ""
    async with serving(good, tls_of(authority, name)) as server:
        with pytest.raises(BackendUnavailable, match=r"certificate .* is not trusted") as caught:
            await infilled(server.url, ca_file=trusted)
    assert not caught.value.retryable
    assert server.asked == []


async def test_a_server_without_tls_is_told_of() -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(BackendUnavailable, match="does not speak TLS"):
            await infilled(f"https://127.0.0.1:{port}")


@pytest.mark.parametrize("content", [None, "no certificate"])
async def test_a_file_without_certificates_is_named(content: str | None, tmp_path: Path) -> None:
    pem = tmp_path / "authority.pem"
    if content is not None:
        pem.write_text(content)
    with pytest.raises(ConfigError, match=r"authority\.pem"):
        await infilled("https://127.0.0.1:1", ca_file=str(pem))


async def test_a_redirect_is_not_followed() -> None:
    async with serving(good) as elsewhere:

        async def redirect(exchange: Exchange) -> None:
            await exchange.answer({}, 307, {"Location": f"{elsewhere.url}/v1/fim/completions"})

        async with serving(redirect) as server:
            with pytest.raises(BackendUnavailable, match="sends elsewhere"):
                await infilled(server.url)
    assert (len(server.asked), elsewhere.n_connections) == (1, 0)


async def test_a_proxy_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name is one that only the proxy could find."""
    async with serving(good) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        assert (await infilled("http://box.test:8000")).candidates
    assert proxy.asked[0].path == "http://box.test:8000/v1/fim/completions"


async def test_a_tunnel_is_asked_for_and_the_proxy_is_not_told_the_key(
    authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pem = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(pem))
    async with serving(good, tls_of(authority, "box.test")) as server:
        port = int(server.url.rpartition(":")[2])

        async def tunnel(exchange: Exchange) -> None:
            await exchange.send(b"HTTP/1.1 200 Connected\r\n\r\n")
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            await asyncio.gather(_pump(exchange.reader, writer), _pump(reader, exchange.writer))

        async with serving(tunnel) as proxy:
            monkeypatch.setenv("HTTPS_PROXY", proxy.url)
            assert (await infilled("https://box.test", ca_file=str(pem))).candidates
    assert (proxy.asked[0].method, proxy.asked[0].path) == ("CONNECT", "box.test:443")
    assert KEY not in str(proxy.asked)
    assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


async def test_a_proxy_that_refuses_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(exchange: Exchange) -> None:
        await exchange.answer({}, 407)

    async with serving(refuse) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        with pytest.raises(BackendUnavailable, match="proxy"):
            await infilled("https://box.test")


@pytest.mark.parametrize("url", ["socks5://127.0.0.1:1", "nonsense://x"])
async def test_a_proxy_that_cannot_be_used_is_told(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", url)
    with pytest.raises(ConfigError, match="proxy"):
        await infilled("http://box.test")


async def test_this_machine_is_never_looked_for_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(good) as proxy, serving(good) as server:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("ALL_PROXY", proxy.url)
        assert (await infilled(server.url)).candidates
        assert (await infilled(server.url.replace("127.0.0.1", "localhost"))).candidates
    assert (len(server.asked), proxy.n_connections) == (2, 0)


async def test_no_proxy_is_kept_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """127.0.0.2 is this machine too, but is not known as such by its name alone."""
    async with serving(good) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.2")
        with pytest.raises(BackendUnavailable, match="cannot be reached"):
            await infilled("http://127.0.0.2:9")
    assert proxy.n_connections == 0


async def test_a_key_that_goes_unencrypted_over_a_network_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    notices = Notices()
    notices.listen(told.append)
    async with serving(good) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        await infilled("http://box.test:8000", notices)
        await infilled(proxy.url, notices)
    assert len(told) == 1
    assert "unencrypted" in told[0]


class MemoryKeyring(keyring.backend.KeyringBackend):
    priority = 1.0  # type: ignore[assignment]

    def get_password(self, service: str, username: str) -> str | None:
        return KEY if (service, username) == ("box", "midspan") else None

    def set_password(self, service: str, username: str, password: str) -> None:
        raise NotImplementedError


async def test_a_key_may_lie_in_the_keyring() -> None:
    before = keyring.get_keyring()
    keyring.set_keyring(MemoryKeyring())
    try:
        async with serving(good) as server:
            await infilled(server.url, key_service="box", key_variable="")
            with pytest.raises(ConfigError, match="not in the keyring"):
                await infilled(server.url, key_service="another")
        assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
    finally:
        keyring.set_keyring(before)


async def test_a_file_that_looks_like_a_secret_never_leaves_even_by_hand() -> None:
    async with serving(good) as server:
        settings = Settings(backend=BackendSettings(kind="http", dialect="midspan", url=server.url, delay_ms=0))
        engine = Engine(open_backend(settings), settings)
        await engine.load(ignore)
        for uri in ("file:///home/a/project/.env", "file:///home/a/.ssh/config", "untitled:credentials.json"):
            with pytest.raises(InfillError, match="secrets"):
                await engine.complete(DocumentSnapshot(uri, "python", 1, "x = \n"), 4, Trigger.INVOKED)
        assert server.n_connections == 0
        assert await engine.complete(DocumentSnapshot("file:///a/b.py", "python", 1, "x = \n"), 4, Trigger.INVOKED)
        await engine.aclose()


CHOICES: dict[str, object] = {
    "kind": "cascade",
    "url": "http://elsewhere.test",
    "key_variable": "HOME",
    "key_service": "login",
    "ca_file": "/tmp/ca.pem",
    "send_memory": True,
}


@pytest.mark.parametrize("key", list(CHOICES))
def test_a_project_cannot_choose_who_is_sent_what(key: str) -> None:
    file = ProjectFile("midspan.toml", {"backend": {key: CHOICES[key]}})
    settings, problems = Sources(files=(file,)).read()
    assert settings.backend == BackendSettings()
    assert problems == [f"midspan.toml: backend.{key}: only the editor sets this"]


@pytest.mark.parametrize("key", list(CHOICES))
def test_neither_can_what_an_editor_mixes_from_a_workspace(key: str) -> None:
    own = {"backend": {"kind": "http", "url": "http://mine.test"}}
    settings, problems = Sources(
        options=own, told={"backend": {key: CHOICES[key]}, "completion": {"max_lines": 2}}
    ).read()
    assert (settings.backend.kind, settings.backend.url) == ("http", "http://mine.test")
    assert settings.completion.max_lines == 2
    assert problems == ["backend: counts only as a part of the initialization options"]
    assert Sources(options=own, told=own).read()[1] == []  # an editor may say the same twice


def test_a_dotted_key_can_neither() -> None:
    settings, problems = Sources(told={"backend.kind": "http"}).read()
    assert settings.backend == BackendSettings()
    assert problems


def test_another_backend_counts_from_the_next_start() -> None:
    changed = Settings(backend=BackendSettings(kind="http", url="http://a.test"))
    assert needs_restart(Settings(), changed) == ["backend.kind", "backend.url"]


def test_nothing_connects_unless_the_user_chose_it(tiny_checkpoint: Path, tmp_path: Path) -> None:
    """A whole completion with the default backend: no connection, and nothing imported that could make one."""
    (tmp_path / "a.py").write_text("x = 1\ny = \n")
    (tmp_path / "midspan.toml").write_text('[backend]\nkind = "http"\nurl = "http://127.0.0.1:9"\n')
    code = f"""
import sys
def watch(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        print("CONNECTS", event, arguments[-1])
sys.addaudithook(watch)
from midspan_lsp.cli.main import main
assert main(["infill", {str(tmp_path / "a.py")!r} + ":2:5", "--model", {str(tiny_checkpoint)!r}]) == 0
print("IMPORTED", [name for name in ("httpx", "keyring", "midspan_lsp.backends.http_fim") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "CONNECTS" not in done.stdout
    assert "IMPORTED []" in done.stdout
