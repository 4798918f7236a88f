"""A server is asked over a real connection: what goes over the wire, and whatever can go wrong there."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

import pytest
from loopback_server import Exchange, LoopbackServer, free_port, serving
from midspan_lsp.backend_settings import BackendSettings
from midspan_lsp.backends.base import LoadProgress
from midspan_lsp.backends.http.client import MAX_BODY_BYTES
from midspan_lsp.backends.http_fim import HttpFimBackend
from midspan_lsp.errors import BackendBusy, BackendTimeout, BackendUnavailable, BadResponse, ConfigError, InfillError
from midspan_lsp.types import CancellationToken, InfillRequest, InfillResponse

KEY = "sesame-open-the-door"
CODE = "def only_this_document_has_this_name("
REQUEST = InfillRequest(CODE, ")\n", "python")
FIELDS = {
    "mercury": {"model", "prompt", "suffix", "max_tokens", "top_p", "top_k", "frequency_penalty", "presence_penalty"}
    | {"repetition_penalty", "stop", "stream"},
    "codestral": {"model", "prompt", "suffix", "max_tokens", "temperature", "top_p", "min_tokens", "stop"}
    | {"random_seed", "stream"},
}
USAGE = {"prompt_tokens": 20, "completion_tokens": 3, "total_tokens": 23}
PATHS = {
    "mercury": "/v1/fim/completions",
    "codestral": "/v1/fim/completions",
    "openai": "/v1/completions",
    "ollama": "/api/generate",
    "llama.cpp": "/infill",
    "midspan": "/v1/completions",
}
GOOD: dict[str, Any] = {
    "mercury": {"id": "1", "choices": [{"index": 0, "text": "x", "finish_reason": "stop"}], "usage": USAGE},
    "codestral": {"choices": [{"message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}]},
    "openai": {"choices": [{"text": "x", "finish_reason": "stop", "logprobs": None}], "usage": USAGE},
    "ollama": {"model": "m", "response": "x", "done": True, "done_reason": "stop", "prompt_eval_count": 20},
    "llama.cpp": {"content": "x", "stop": True, "stop_type": "eos", "timings": {"cache_n": 5, "prompt_n": 15}},
    "midspan": {"choices": [{"text": "x", "finish_reason": "stop", "probability": 0.8}]},
}


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("TEST_KEY", KEY)


def settings_for(server: LoopbackServer | str, dialect: str = "mercury", **more: Any) -> BackendSettings:
    url = server if isinstance(server, str) else server.url
    values = {"url": url, "dialect": dialect, "model": "m", "key_variable": "TEST_KEY", "delay_ms": 0} | more
    return BackendSettings(kind="http", **values)


def ignore(progress: LoadProgress) -> None:
    pass


async def infilled(
    settings: BackendSettings, request: InfillRequest = REQUEST, token: CancellationToken | None = None
) -> InfillResponse:
    backend = HttpFimBackend(settings)
    try:
        await backend.load(ignore)
        return await backend.infill(request, token or CancellationToken())
    finally:
        await backend.aclose()


async def failure_of(settings: BackendSettings, timeout_s: float | None = None) -> InfillError:
    with pytest.raises(InfillError) as caught:
        await infilled(settings, token=CancellationToken(timeout_s))
    text = f"{caught.value} {caught.value!r}"
    assert KEY not in text
    assert CODE not in text
    return caught.value


async def good(exchange: Exchange) -> None:
    """Answers as each kind of server does, and refuses what it does not know as Mercury does."""
    dialect = next(name for name, path in PATHS.items() if path == exchange.asked.path)
    if "fim" in exchange.asked.path and not set(exchange.asked.json) <= FIELDS["mercury"] | FIELDS["codestral"]:
        await exchange.answer({"error": {"type": "invalid_request_error"}}, 400)
    else:
        await exchange.answer(GOOD[dialect])


@pytest.mark.parametrize("dialect", list(PATHS))
async def test_each_kind_of_server_is_asked_where_and_as_it_wants(dialect: str) -> None:
    async def strict(exchange: Exchange) -> None:
        unknown = set(exchange.asked.json) - FIELDS.get(dialect, set(exchange.asked.json))
        await exchange.answer(
            GOOD[dialect] if not unknown else {"error": {"code": "unknown_field"}}, 400 * bool(unknown) or 200
        )

    async with serving(strict) as server:
        response = await infilled(settings_for(server, dialect))
    (asked,) = server.asked
    assert (asked.method, asked.path) == ("POST", PATHS[dialect])
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.headers["content-type"] == "application/json"
    assert CODE in str(asked.json)
    assert [one.text for one in response.candidates] == ["x"]
    assert response.stats.elapsed_ms > 0
    if dialect == "llama.cpp":
        assert (response.stats.n_encoded_tokens, response.stats.n_cached_tokens) == (15, 5)
    if dialect == "midspan":
        assert response.candidates[0].probability == 0.8


async def test_a_connection_is_kept() -> None:
    async with serving(good) as server:
        backend = HttpFimBackend(settings_for(server))
        await backend.load(ignore)
        for _ in range(5):
            await backend.infill(REQUEST, CancellationToken())
        await backend.aclose()
    assert (len(server.asked), server.n_connections) == (5, 1)


async def test_a_server_without_a_key_is_sent_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    async with serving(good) as server:
        await infilled(settings_for(server, "openai", key_variable=""))
    assert "authorization" not in server.asked[0].headers


async def test_a_usual_key_is_found_and_a_missing_one_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(good) as server:
        with pytest.raises(ConfigError, match="INCEPTION_API_KEY"):
            await infilled(settings_for(server, key_variable=""))
        monkeypatch.setenv("INCEPTION_API_KEY", KEY)
        await infilled(settings_for(server, key_variable=""))
    assert len(server.asked) == 1


async def test_a_gateway_is_told_its_token_if_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(good) as server:
        await infilled(settings_for(server, "midspan", key_variable=""))
        monkeypatch.setenv("MIDSPAN_GATEWAY_TOKEN", KEY)
        await infilled(settings_for(server, "midspan", key_variable=""))
    assert [asked.headers.get("authorization") for asked in server.asked] == [None, f"Bearer {KEY}"]


@pytest.mark.parametrize("key", [KEY + "\nX-Other: 1", "clé", "a b"])
async def test_a_key_that_is_none_is_refused_and_not_told(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", key)
    error = await failure_of(settings_for("http://127.0.0.1:1"))
    assert isinstance(error, ConfigError)
    assert key not in str(error)


async def test_whoever_puts_the_key_where_its_name_belongs_does_not_see_it_again() -> None:
    error = await failure_of(settings_for("http://127.0.0.1:1", key_variable=KEY))
    assert "backend.key_variable" in str(error)


async def test_nothing_is_sent_after_the_request_is_cancelled_in_its_pause() -> None:
    async with serving(good) as server:
        backend = HttpFimBackend(settings_for(server, delay_ms=5000))
        await backend.load(ignore)
        token = CancellationToken()
        asking = asyncio.create_task(backend.infill(REQUEST, token))
        await asyncio.sleep(0)
        token.cancel()
        assert await asking == InfillResponse()
        await backend.aclose()
    assert server.n_connections == 0


@pytest.mark.parametrize("how", ["token", "task"])
async def test_cancelling_closes_the_connection_at_once(how: str) -> None:
    async def never(exchange: Exchange) -> None:
        await exchange.until_gone()

    async with serving(never) as server:
        backend = HttpFimBackend(settings_for(server))
        await backend.load(ignore)
        token = CancellationToken()
        asking = asyncio.create_task(backend.infill(REQUEST, token))
        await server.came.wait()
        if how == "token":
            await asyncio.to_thread(token.cancel)  # from any thread
            assert await asking == InfillResponse()
        else:
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            assert token.cancelled()
        async with asyncio.timeout(2):
            await server.gone.wait()
        await backend.aclose()


async def test_a_server_that_was_cancelled_is_asked_again_on_a_new_connection() -> None:
    async def first_never(exchange: Exchange) -> None:
        if len(server.asked) == 1:
            await exchange.until_gone()
        else:
            await exchange.answer(GOOD["mercury"])

    async with serving(first_never) as server:
        backend = HttpFimBackend(settings_for(server))
        await backend.load(ignore)
        token = CancellationToken()
        asking = asyncio.create_task(backend.infill(REQUEST, token))
        await server.came.wait()
        token.cancel()
        await asking
        assert (await backend.infill(REQUEST, CancellationToken())).candidates
        await backend.aclose()


async def test_nobody_listens() -> None:
    error = await failure_of(settings_for(f"http://127.0.0.1:{free_port()}"))
    assert isinstance(error, BackendUnavailable)
    assert error.retryable
    assert "cannot be reached" in str(error)


async def test_a_refused_connection_is_tried_again() -> None:
    """The server comes up between two tries."""
    port = free_port()
    backend = HttpFimBackend(settings_for(f"http://127.0.0.1:{port}"))
    await backend.load(ignore)
    asking = asyncio.create_task(backend.infill(REQUEST, CancellationToken()))

    await asyncio.sleep(0.02)
    async with serving(good, port=port):
        assert (await asking).candidates
        await backend.aclose()


async def _head_never(exchange: Exchange) -> None:
    await exchange.until_gone()


async def _body_never_ends(exchange: Exchange) -> None:
    await exchange.begin(1000)
    await exchange.send(b'{"choices": [{"text": "x')
    await exchange.until_gone()


async def _drips(exchange: Exchange) -> None:
    await exchange.begin(100_000)
    while True:
        await exchange.send(b" ")
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("slow", [_head_never, _body_never_ends, _drips])
async def test_nobody_waits_beyond_the_requests_time(slow: Any) -> None:
    async with serving(slow) as server:
        began_s = time.monotonic()
        error = await failure_of(settings_for(server), timeout_s=0.3)
        assert time.monotonic() - began_s < 2
        async with asyncio.timeout(2):
            await server.gone.wait()
    assert isinstance(error, BackendTimeout)
    assert len(server.asked) == 1


async def test_the_settings_own_limit_counts_too() -> None:
    async with serving(_head_never) as server:
        assert isinstance(await failure_of(settings_for(server, timeout_ms=100)), BackendTimeout)


async def _reset(exchange: Exchange) -> None:
    exchange.reset()


async def _reset_in_the_body(exchange: Exchange) -> None:
    await exchange.begin(1000)
    await exchange.send(b'{"choices": [{"te')
    exchange.reset()


async def _short(exchange: Exchange) -> None:
    await exchange.begin(1000)
    await exchange.send(b'{"choices": [{"te')
    exchange.writer.close()


async def _no_http(exchange: Exchange) -> None:
    await exchange.send(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
    exchange.writer.close()


async def _garbage(exchange: Exchange) -> None:
    await exchange.answer(b"<html>\xff\x00</html>")


async def _deep(exchange: Exchange) -> None:
    await exchange.answer(b"[" * 200_000)


async def _other_json(exchange: Exchange) -> None:
    await exchange.answer({"detail": CODE})


async def _huge(exchange: Exchange) -> None:
    await exchange.begin(10 * MAX_BODY_BYTES)
    for _ in range(160):
        await exchange.send(b" " * 65_536)


async def _endless(exchange: Exchange) -> None:
    await exchange.begin(None)
    while True:
        await exchange.send(b" " * 65_536)


async def _compressed(exchange: Exchange) -> None:
    await exchange.answer(b"\x1f\x8b\x08", headers={"Content-Encoding": "gzip"})


@pytest.mark.parametrize(
    "broken",
    [_reset, _reset_in_the_body, _short, _no_http, _garbage, _deep, _other_json, _huge, _endless, _compressed],
)
async def test_a_broken_answer_is_an_error_and_never_asked_for_again(broken: Any) -> None:
    async with serving(broken) as server:
        error = await failure_of(settings_for(server), timeout_s=20)
    assert isinstance(error, BadResponse)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("status", "kind", "told"),
    [
        (400, BadResponse, "does not take the request"),
        (401, BackendUnavailable, "does not take the key"),
        (402, BackendUnavailable, "wants to be paid"),
        (403, BackendUnavailable, "does not take the key"),
        (404, BackendUnavailable, "no such path or model"),
        (422, BadResponse, "does not take the request"),
        (429, BackendBusy, "no more requests"),
        (500, BadResponse, "has failed"),
        (502, BadResponse, "has failed"),
        (503, BackendBusy, "no more requests"),
    ],
)
async def test_a_status_is_told_with_what_to_do_and_not_what_the_server_repeats(
    status: int, kind: type[InfillError], told: str
) -> None:
    async def refuse(exchange: Exchange) -> None:
        message = f"bad key {KEY} for {CODE}"
        await exchange.answer({"error": {"message": message, "type": message, "code": "some_code"}}, status)

    async with serving(refuse) as server:
        error = await failure_of(settings_for(server))
    assert isinstance(error, kind)
    assert told in str(error)
    assert "some_code" in str(error)
    assert error.hint
    assert len(server.asked) == 1


async def test_a_context_that_is_too_small_is_told() -> None:
    """As llama.cpp says it."""

    async def refuse(exchange: Exchange) -> None:
        await exchange.answer({"error": {"code": 400, "type": "exceed_context_size_error", "n_ctx": 512}}, 400)

    async with serving(refuse) as server:
        error = await failure_of(settings_for(server, "llama.cpp"))
    assert "context.prefix_tokens" in str(error)
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [429, 503])
async def test_a_server_that_says_when_is_asked_again_then(status: int) -> None:
    async def busy_once(exchange: Exchange) -> None:
        if len(server.asked) == 1:
            await exchange.answer({}, status, {"Retry-After": "0"})
        else:
            await exchange.answer(GOOD["mercury"])

    async with serving(busy_once) as server:
        assert (await infilled(settings_for(server))).candidates
    assert len(server.asked) == 2


async def test_but_not_where_that_is_too_late() -> None:
    async def busy(exchange: Exchange) -> None:
        await exchange.answer({}, 429, {"Retry-After": "30"})

    async with serving(busy) as server:
        began_s = time.monotonic()
        error = await failure_of(settings_for(server), timeout_s=5)
        assert time.monotonic() - began_s < 2
    assert isinstance(error, BackendBusy)
    assert error.retry_after_s == 30
    assert len(server.asked) == 1


async def test_a_server_that_knows_no_probabilities_is_asked_without_from_then_on() -> None:
    async def plain(exchange: Exchange) -> None:
        refused = "logprobs" in exchange.asked.json
        await exchange.answer({"error": {"type": "invalid"}} if refused else GOOD["openai"], 400 if refused else 200)

    async with serving(plain) as server:
        backend = HttpFimBackend(settings_for(server, "openai"))
        await backend.load(ignore)
        for _ in range(3):
            assert (await backend.infill(REQUEST, CancellationToken())).candidates
        await backend.aclose()
    assert ["logprobs" in asked.json for asked in server.asked] == [True, False, False, False]


async def test_any_text_can_be_sent() -> None:
    text = "é漢😀\ud800\x00\x0c\u2028"
    async with serving(good) as server:
        await infilled(settings_for(server), InfillRequest(text, text))
    assert server.asked[0].json["prompt"] == text


@pytest.mark.parametrize("level", [logging.INFO, logging.DEBUG])
async def test_neither_key_nor_code_is_logged(level: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(level)
    async with serving(good) as server:
        await infilled(settings_for(server))
        await infilled(settings_for(server, "llama.cpp"))
    async with serving(_reset_in_the_body) as server:
        await failure_of(settings_for(server))
    assert KEY not in caplog.text
    assert CODE not in caplog.text
    assert level == logging.DEBUG or "127.0.0.1" not in caplog.text
