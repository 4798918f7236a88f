"""Each setting of the group `backend` reaches the server and has an effect: the real command beside a server on HTTP.

They count from the start on, as `initializationOptions`.
"""

from __future__ import annotations

import asyncio
import operator
import os
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import trustme
from loopback_server import Exchange, LoopbackServer, serving
from settings_session import LONG, ON, Effect, Session, running, switches

KEY = "sesame-open-the-door"
KEYRING = f"""
from keyring.backend import KeyringBackend


class OneKey(KeyringBackend):
    priority = 1

    def get_password(self, service, username):
        return "{KEY}" if (service, username) == ("a server", "midspan") else None

    def set_password(self, service, username, password):
        raise NotImplementedError
"""
REMOTE = "from_the_server"
TARDY_S = 3.0


@dataclass
class World:
    """The server on HTTP, the session beside it, and where it has its files."""

    server: LoopbackServer
    session: Session

    async def body(self, text: str, **place: Any) -> dict[str, Any]:
        """What the server is asked then."""
        await self.session.ask(text, **place)
        return self.server.asked[-1].json

    async def took_s(self, text: str) -> float:
        began_s = time.monotonic()
        await self.session.ask(text)
        return time.monotonic() - began_s


async def answer(exchange: Exchange) -> None:
    """As each kind of server does; where the cursor is behind `never = ` not at all, and behind `tardy = ` later."""
    body = exchange.asked.json
    before = body.get("prompt") or body.get("input_prefix", "")
    if before.endswith("never = "):
        await exchange.until_gone()
        return
    if before.endswith("tardy = "):
        await asyncio.sleep(TARDY_S)
    choice = {"text": REMOTE, "finish_reason": "stop", "logprobs": None}
    await exchange.answer({"content": REMOTE, "stop": True, "choices": [choice]})


async def is_asked(world: World) -> object:
    await world.session.ask("x = ")
    return bool(world.server.asked)


async def is_shown(world: World) -> object:
    return await world.session.ask("x = ") == REMOTE


async def is_shown_late(world: World) -> object:
    return await world.session.ask("tardy = ") == REMOTE


async def path(world: World) -> object:
    await world.session.ask("x = ")
    return world.server.asked[-1].path


async def key(world: World) -> object:
    await world.session.ask("x = ")
    return world.server.asked[-1].headers.get("authorization")


async def model(world: World) -> object:
    return (await world.body("x = ")).get("model")


async def max_tokens(world: World) -> object:
    return (await world.body("x = "))["max_tokens"]


async def is_marked(world: World) -> object:
    return (await world.body("x = "))["prompt"].startswith("<|fim_prefix|>")


async def n_suffix(world: World) -> object:
    return len((await world.body("x = ", after="\n" + LONG))["suffix"])


async def is_memory_sent(world: World) -> object:
    """Whether lines of another file come with those that are like them; the memory may be late now and then."""
    lines = "".join(f"    widget_{n} = build_widget(frame, colour_{n}, border_{n})\n" for n in range(20))
    await world.session.ask(f"def build_all(frame):\n{lines}    return frame\n", "widgets.py")
    text = f"def rebuild(frame):\n{lines[:200]}    other = "
    prompts = [(await world.body(text))["prompt"] for _ in range(5)]
    return any("def build_all" in prompt for prompt in prompts)


async def gives_up_s(world: World) -> object:
    return await world.took_s("never = ")


async def answers_s(world: World) -> object:
    return await world.took_s("x = ")


@dataclass(frozen=True)
class Case:
    """A value other than the default, what is observed, and how that compares with what is observed by default.

    Attributes:
        value: `URL`: the server's address, which is otherwise given; `PEM`: its authority's certificate.
        others: settings that both have, besides those that every case has.
        is_tls: the server has a certificate that nobody trusts by default.
    """

    value: Any
    observe: Callable[[World], Awaitable[object]]
    effect: Effect
    others: dict[str, Any] = field(default_factory=dict)
    is_tls: bool = False


URL, PEM, TINY = "the server's address", "its authority's certificate", "the tiny checkpoint"
WITH_MODEL = {"model.path": TINY}
USUAL_MODEL = {"backend.dialect": "mercury", "backend.key_variable": "TEST_KEY"}
BACKEND_CASES = {
    "backend.kind": Case("http", is_asked, ON, WITH_MODEL),
    "backend.dialect": Case("llama.cpp", path, switches("/v1/completions", "/infill")),
    "backend.url": Case(URL, is_asked, ON),
    "backend.model": Case("another", model, lambda default, changed: default != changed == "another", USUAL_MODEL),
    "backend.markers": Case("qwen", is_marked, ON),
    "backend.key_variable": Case("TEST_KEY", key, switches(None, f"Bearer {KEY}")),
    "backend.key_service": Case("a server", key, switches(None, f"Bearer {KEY}")),
    "backend.ca_file": Case(PEM, is_shown, ON, is_tls=True),
    "backend.timeout_ms": Case(300, gives_up_s, lambda default, changed: default > 4 > changed),
    "backend.delay_ms": Case(3000, answers_s, lambda default, changed: default < 2.9 < changed),
    "backend.patience_ms": Case(9000, is_shown_late, ON, {"backend.kind": "cascade", **WITH_MODEL}),
    "backend.max_tokens": Case(5, max_tokens, lambda default, changed: default > changed == 5),
    "backend.suffix_tokens": Case(1000, n_suffix, operator.lt),
    "backend.send_memory": Case(True, is_memory_sent, ON),
}


@asynccontextmanager
async def working(
    project: Path, options: dict[str, Any], tls: ssl.SSLContext | None, put: Callable[[Any, str], Any]
) -> AsyncIterator[World]:
    """The real command beside a server; `put` tells what stands for a value, given the server's address."""
    async with serving(answer, tls) as server:
        known = {name: put(value, server.url) for name, value in options.items()}
        async with running(project, known, real=True) as session:
            yield World(server, session)


@pytest.fixture(autouse=True)
def _environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "keyring_of_the_test.py").write_text(KEYRING)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring_of_the_test.OneKey")
    monkeypatch.setenv("TEST_KEY", KEY)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("MIDSPAN_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("name", list(BACKEND_CASES))
async def test_a_backend_setting_counts_from_the_start(name: str, tmp_path: Path, tiny_checkpoint: Path) -> None:
    case = BACKEND_CASES[name]
    authority, tls = trustme.CA(), None
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    if case.is_tls:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1").configure_cert(tls)

    def put(value: Any, url: str) -> Any:
        known = {URL: url, PEM: str(tmp_path / "authority.pem"), TINY: str(tiny_checkpoint)}
        return known.get(value, value) if isinstance(value, str) else value

    common: dict[str, Any] = {"backend.kind": "http", "backend.url": URL, "backend.model": "m"}
    common |= {"completion.eagerness": "always", "completion.timeout_ms": 60_000, **case.others}
    common.pop(name, None)
    async with working(tmp_path / "default", common, tls, put) as world:
        default = await case.observe(world)
    async with working(tmp_path / "changed", {**common, name: case.value}, tls, put) as world:
        changed = await case.observe(world)
    assert case.effect(default, changed), (default, changed)
