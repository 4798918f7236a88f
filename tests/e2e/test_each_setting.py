"""Each of the server's settings reaches it from an editor and has an effect; over real stdio.

Around a backend that tells what it is asked, or the real command around a tiny checkpoint; as `initializationOptions`,
and where a key counts while the server runs also as what it is told when it asks for settings.
"""

from __future__ import annotations

import asyncio
import json
import operator
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from midspan_lsp.config import Settings
from raw_client import COMPLETION, RawClient

ASKED = [sys.executable, str(Path(__file__).with_name("asked_server.py"))]
REAL = [str(Path(sys.executable).with_name("midspan")), "serve"]
PULL = "workspace/configuration"
INVOKED, AUTOMATIC = 1, 2
LOADING_TIMEOUT_S = 120
LONG = "".join(f"value_{n} = {n}\n" for n in range(2000))
TINY = "the tiny checkpoint"


class Session:
    """A server with a project, in the words of the cases."""

    def __init__(self, client: RawClient, project: Path, capabilities: dict[str, Any]) -> None:
        self.client = client
        self.project = project
        self.capabilities = capabilities
        self._numbers = count()

    def number(self) -> int:
        """Another each time: what is observed once is known to the server from then on."""
        return next(self._numbers)

    async def ask(self, text: str, name: str = "", *, after: str = "", kind: int = AUTOMATIC) -> str | None:
        """What is shown between two texts, in a new document."""
        uri = (self.project / (name or f"asks_{self.number()}.py")).as_uri()
        language = "plaintext" if name.endswith(".txt") else "python"
        item = {"uri": uri, "languageId": language, "version": 1, "text": text + after}
        self.client.notify("textDocument/didOpen", {"textDocument": item})
        lines = text.split("\n")
        place = {"line": len(lines) - 1, "character": len(lines[-1])}
        params = {"textDocument": {"uri": uri}, "position": place, "context": {"triggerKind": kind}}
        result = (await self.client.request(COMPLETION, params))["result"]
        return result and result["items"][0]["insertText"]

    async def told(self, text: str, **place: Any) -> dict[str, Any]:
        """What the backend was asked then."""
        shown = await self.ask(text, **place)
        assert shown is not None
        return json.loads(shown)

    def write(self, name: str, text: str) -> None:
        """A new file of the project."""
        path = self.project / name
        path.write_text(text)
        self.client.notify("workspace/didCreateFiles", {"files": [{"uri": path.as_uri()}]})

    async def is_known(self, name: str, padding: str = "") -> bool:
        """Whether a new file is read: the call in it is proposed."""
        number = self.number()
        call, rest = f"{name}_{number} = read_{number}(", f"limit_{number}, strict=True)"
        self.write(f"{name}_{number}.py", f"{call}{rest}\n{padding}")
        await self.has_read()
        for _ in range(10):  # what was written first may be read a little later
            if rest in (await self.told(call))["proposals"]:
                return True
            await asyncio.sleep(0.2)
        return False

    async def has_read(self) -> None:
        """Waits until all that was written is read, not long: the memory may be switched off."""
        number = self.number()
        self.write(f"control_{number}.py", f"control_{number} = check_{number}(control, {number})\n")
        for _ in range(100):
            if f"control, {number})" in (await self.told(f"control_{number} = check_{number}("))["proposals"]:
                break
            await asyncio.sleep(0.1)

    async def work(self, name: str) -> int:
        """How much of something was done so far."""
        done = (await self.client.request("midspan/work"))["result"]
        return done[name] if done else 0

    async def cost(self, name: str, text: str) -> int:
        """How much of it one request takes."""
        before = await self.work(name)
        await self.ask(text, kind=INVOKED)
        return await self.work(name) - before

    async def loaded(self) -> None:
        """Waits for the model; what is asked before is not answered, and not counted."""
        async with asyncio.timeout(LOADING_TIMEOUT_S):
            while await self.work("requests") == 0:
                await self.ask("x = ", "loading.txt", kind=INVOKED)
                await asyncio.sleep(0.05)

    async def change(self, told: dict[str, Any]) -> None:
        """The editor has other settings; waits until they are read."""
        self.client.answers[PULL] = [told]
        self.client.notify("workspace/didChangeConfiguration", {"settings": None})
        await self.client.message(PULL)
        await asyncio.sleep(0.3)


async def is_shown(session: Session) -> object:
    return await session.ask("unsure = ") is not None


async def n_lines(session: Session) -> object:
    return (await session.told("def f():\n    "))["lines"]


async def is_cut(session: Session) -> object:
    return bool((await session.told("slow = "))["expired"])


async def is_cut_by_hand(session: Session) -> object:
    return bool((await session.told("slow = ", kind=INVOKED))["expired"])


async def is_a_menu_offered(session: Session) -> object:
    return "completionProvider" in session.capabilities


async def is_generated_completed(session: Session) -> object:
    return await session.ask("x = ", f"generated/{session.number()}.py") is not None


async def is_python_completed(session: Session) -> object:
    return await session.ask("x = ") is not None


async def is_prefix_long(session: Session) -> object:
    return (await session.told(LONG + "x = "))["prefix"] > 1000


async def is_suffix_there(session: Session) -> object:
    return (await session.told("x = ", after="\n" + LONG))["suffix"] > 0


async def is_found(session: Session) -> object:
    return await session.is_known("called")


async def is_large_file_found(session: Session) -> object:
    return await session.is_known("large", LONG)


async def are_all_kept(session: Session) -> object:
    """Whether all of ten files are that take more than a megabyte together."""
    number = session.number()
    names = [f"many_{number}_{n}" for n in range(10)]
    for name in names:
        own = "".join(f"{name}_{word} = {word * 7919 % 100_003}\n" for word in range(8000))
        session.write(f"{name}.py", f"{name}(argument_{name}, other_{name})\n{own}")
    await session.has_read()
    found = [(await session.told(f"{name}("))["proposals"] for name in names]
    return all(f"argument_{name}, other_{name})" in one for name, one in zip(names, found, strict=True))


async def is_counted(session: Session) -> object:
    """Whether there are numbers for `midspan stats` once the server has ended."""
    await is_found(session)
    await session.client.request("shutdown")
    session.client.notify("exit")
    await session.client.ended()
    folder = Path(os.environ["MIDSPAN_CACHE"]) / "memory"
    return folder.exists() and any("usage" in path.name for path in folder.iterdir())


async def n_encoded(session: Session) -> object:
    """Tokens that are encoded for a short middle."""
    return await session.cost("encodedTokens", "answer_of_everything = ")


async def n_encoded_behind_alike(session: Session) -> object:
    """The same behind lines that are like others of the project."""
    lines = "".join(f"    widget_{n} = build_widget(frame, colour_{n}, border_{n})\n" for n in range(20))
    await session.ask(f"def build_all(frame):\n{lines}    return frame\n", "widgets.py", kind=INVOKED)
    return max([await session.cost("encodedTokens", f"def rebuild(frame):\n{lines[:200]}") for _ in range(3)])


async def n_forwards(session: Session) -> object:
    """Of middles that are no code, as the tiny checkpoint's are: their faults are denoised again."""
    places = [
        "x = (",
        "def f(a):\n    return a[",
        "for key in ",
        "if a and ",
        "print(",
        "import ",
        "class A(",
        "y = [1, ",
    ]
    costs = [await session.cost("forwards", text) for text in places]
    return sum(costs)


async def n_threads(session: Session) -> object:
    """Of the process, once the model has computed."""
    return len(list(Path(f"/proc/{session.client.process.pid}/task").iterdir()))


Effect = Callable[[Any, Any], bool]


def switches(by_default: object, otherwise: object) -> Effect:
    """Observed are these two."""
    return lambda default, changed: (default, changed) == (by_default, otherwise)


ON, OFF = switches(False, True), switches(True, False)


@dataclass(frozen=True)
class Case:
    """A value other than the default, what is observed, and how that compares with what is observed by default.

    Attributes:
        late: counts only from the next start on.
        model: with the real command around this model; "": around a backend that tells what it is asked.
    """

    value: Any
    observe: Callable[[Session], Awaitable[object]]
    effect: Effect
    late: bool = False
    model: str = ""


CASES = {
    "completion.eagerness": Case("always", is_shown, ON),
    "completion.max_lines": Case(7, n_lines, switches(4, 7)),
    "completion.timeout_ms": Case(50, is_cut, ON),
    "completion.invoked_timeout_ms": Case(50, is_cut_by_hand, ON),
    "completion.menu": Case(True, is_a_menu_offered, ON, late=True),
    "completion.ignore": Case(["/generated/"], is_generated_completed, OFF),
    "languages.disabled": Case(["python"], is_python_completed, OFF),
    "context.prefix_tokens": Case(16, is_prefix_long, OFF, late=True),
    "context.neighbour_tokens": Case(0, n_encoded_behind_alike, operator.gt, late=True, model=TINY),
    "context.suffix_tokens": Case(0, is_suffix_there, OFF, late=True),
    "model.path": Case(TINY, n_encoded, operator.lt, late=True, model="the embedded one"),  # its tokens are bytes
    "model.threshold": Case(0.0, n_forwards, operator.gt, late=True, model=TINY),
    "model.threads": Case(9, n_threads, lambda default, changed: default + 8 <= changed, late=True, model=TINY),
    "memory.enabled": Case(False, is_found, OFF),
    "memory.max_megabytes": Case(1, are_all_kept, OFF),
    "memory.max_file_kilobytes": Case(1, is_large_file_found, OFF),
    "memory.ignore": Case(["called_*.py"], is_found, OFF),
    "stats.enabled": Case(False, is_counted, OFF, late=True),  # its numbers are looked at when the server has ended
}


@asynccontextmanager
async def running(project: Path, options: dict[str, Any], model: str = "") -> AsyncIterator[Session]:
    project.mkdir()
    async with RawClient(REAL if model else ASKED) as client:
        client.answers = {PULL: [None], "client/registerCapability": None}
        folders = [{"uri": project.as_uri(), "name": "project"}]
        capabilities = {"workspace": {"configuration": True, "workspaceFolders": True}}
        answer = await client.initialize(
            capabilities=capabilities, initializationOptions=options, workspaceFolders=folders
        )
        session = Session(client, project, answer["capabilities"])
        await session.loaded()
        while any(one.get("method") == PULL for one in client.others):
            await client.message(PULL)
        yield session


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Session]:
    """A server with the defaults, around the backend that tells."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MIDSPAN_CACHE", str(tmp_path_factory.mktemp("cache")))
        async with running(tmp_path_factory.mktemp("shared") / "project", {}) as session:
            yield session


def keys(*, late: bool | None = None) -> list[Any]:
    chosen = [key for key, case in CASES.items() if late in (None, case.late)]
    return [pytest.param(key, marks=[pytest.mark.weights] if key == "model.path" else []) for key in chosen]


def test_each_setting_has_a_case() -> None:
    settings = Settings()
    groups = {group.name: getattr(settings, group.name) for group in fields(settings)}
    assert set(CASES) == {f"{name}.{leaf.name}" for name, group in groups.items() for leaf in fields(group)}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("key", keys(late=False))
async def test_it_counts_when_it_changes(key: str, shared: Session) -> None:
    case = CASES[key]
    default = await case.observe(shared)
    await shared.change({key: case.value})
    changed = await case.observe(shared)
    await shared.change({})
    assert case.effect(default, changed), (default, changed)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("key", keys())
async def test_it_counts_from_the_start(
    key: str, shared: Session, tmp_path: Path, tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[key]
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    common: dict[str, Any] = {"completion.eagerness": "always"} if case.model == TINY else {}
    if case.model == TINY:
        common |= {"model.path": str(tiny_checkpoint), "memory.enabled": key == "context.neighbour_tokens"}
    if key != "model.path":  # whose default needs the weights of the cache
        monkeypatch.setenv("MIDSPAN_CACHE", str(tmp_path / "cache"))
    if case.model or case.observe is is_counted:
        async with running(tmp_path / "default", common, case.model) as session:
            default = await case.observe(session)
    else:
        default = await case.observe(shared)
    monkeypatch.setenv("MIDSPAN_CACHE", str(tmp_path / "another cache"))
    value = str(tiny_checkpoint) if case.value == TINY else case.value
    async with running(tmp_path / "changed", {**common, key: value}, case.model) as session:
        changed = await case.observe(session)
    assert case.effect(default, changed), (default, changed)
