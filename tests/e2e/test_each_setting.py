"""Each of the server's settings reaches it from an editor and has an effect; over real stdio.

Around a backend that tells what it is asked, or the real command around a tiny checkpoint; as `initializationOptions`,
and where a key counts while the server runs also as what it is told when it asks for settings.
"""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from family_checkpoints import write_family
from midspan_lsp.config import Settings
from settings_session import INVOKED, LONG, OFF, ON, STATUS, Effect, Session, running, switches
from test_each_backend_setting import BACKEND_CASES

TINY = "the tiny checkpoint"
FAMILY = "Dream"
"""A tiny checkpoint of it, in its published form: what it fills is always denoised."""
WITHIN_S = 2.0
"""Far from both delays that are told apart."""
ABSENT_DEVICE = "cuda" if sys.platform == "darwin" else "mps"


async def is_shown(session: Session) -> object:
    return await session.ask("unsure = ") is not None


async def is_asked_soon(session: Session) -> object:
    """Whether the model is, where no other key comes."""
    return await session.is_answered("x = ", WITHIN_S)


async def is_comment_completed(session: Session) -> object:
    return await session.ask("x = 1  # and ") is not None


async def is_string_completed(session: Session) -> object:
    return await session.ask("x = 'and ") is not None


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


async def n_encoded_of_several(session: Session) -> object:
    """The same of several middles, of which some take several forwards."""
    places = ["x = (", "def f(a):\n    return a[", "for key in "]
    costs = [await session.cost("encodedTokens", text) for text in places]
    return sum(costs)


async def n_encoded_behind_alike(session: Session) -> object:
    """The same behind lines that are like others of the project."""
    lines = "".join(f"    widget_{n} = build_widget(frame, colour_{n}, border_{n})\n" for n in range(20))
    await session.ask(f"def build_all(frame):\n{lines}    return frame\n", "widgets.py", kind=INVOKED)
    return max([await session.cost("encodedTokens", f"def rebuild(frame):\n{lines[:200]}") for _ in range(3)])


async def n_forwards(session: Session) -> object:
    """Of several middles."""
    places = ["x = (", "def f(a):\n    return a[", "for key in ", "import "]
    costs = [await session.cost("forwards", text) for text in places]
    return sum(costs)


async def told_of_model(session: Session) -> object:
    """How it is loaded, or why it is not."""
    told = [one["params"] for one in session.client.others if one.get("method") == STATUS]
    return [one["message"] for one in [*told, await session.status()]]


async def n_threads(session: Session) -> object:
    """Of the process, once the model has computed."""
    return len(list(Path(f"/proc/{session.client.process.pid}/task").iterdir()))


def told(word: str) -> Effect:
    """The user is told of it only then."""
    return lambda default, changed: word not in str(default) and word in str(changed)


@dataclass(frozen=True)
class Case:
    """A value other than the default, what is observed, and how that compares with what is observed by default.

    Attributes:
        late: counts only from the next start on.
        model: with the real command around this model; "": around a backend that tells what it is asked.
        common: other settings, in both cases.
    """

    value: Any
    observe: Callable[[Session], Awaitable[object]]
    effect: Effect
    late: bool = False
    model: str = ""
    common: dict[str, Any] = field(default_factory=dict[str, Any])


CASES = {
    "completion.eagerness": Case("always", is_shown, ON),
    "completion.max_lines": Case(7, n_lines, switches(4, 7)),
    "completion.pacing": Case("fixed", is_asked_soon, OFF, common={"completion.delay_ms": 5000}),
    "completion.delay_ms": Case(5000, is_asked_soon, OFF, common={"completion.pacing": "fixed"}),
    "completion.timeout_ms": Case(50, is_cut, ON),
    "completion.invoked_timeout_ms": Case(50, is_cut_by_hand, ON),
    "completion.in_comments": Case(False, is_comment_completed, OFF),
    "completion.in_strings": Case(False, is_string_completed, OFF),
    "completion.menu": Case(True, is_a_menu_offered, ON, late=True),
    "completion.ignore": Case(["/generated/"], is_generated_completed, OFF),
    "languages.disabled": Case(["python"], is_python_completed, OFF),
    "context.prefix_tokens": Case(16, is_prefix_long, OFF, late=True),
    "context.neighbour_tokens": Case(0, n_encoded_behind_alike, operator.gt, late=True, model=TINY),
    "context.suffix_tokens": Case(0, is_suffix_there, OFF, late=True),
    "model.path": Case(TINY, n_encoded, operator.lt, late=True, model="the embedded one"),  # its tokens are bytes
    "model.threshold": Case(0.0, n_forwards, operator.gt, late=True, model=FAMILY),
    "model.policy": Case("entropy", n_forwards, operator.ne, late=True, model=FAMILY),
    "model.length": Case("fixed", n_forwards, operator.gt, late=True, model=FAMILY),
    "model.refresh": Case(8, n_encoded_of_several, operator.gt, late=True, model=FAMILY),
    "model.device": Case(
        ABSENT_DEVICE, told_of_model, told(f"cannot compute on {ABSENT_DEVICE}"), late=True, model=FAMILY
    ),
    "model.weights": Case("int8", told_of_model, told("int8"), late=True, model=FAMILY),
    "model.threads": Case(9, n_threads, lambda default, changed: default + 8 <= changed, late=True, model=TINY),
    "memory.enabled": Case(False, is_found, OFF),
    "memory.max_megabytes": Case(1, are_all_kept, OFF),
    "memory.max_file_kilobytes": Case(1, is_large_file_found, OFF),
    "memory.ignore": Case(["called_*.py"], is_found, OFF),
    "stats.enabled": Case(False, is_counted, OFF, late=True),  # its numbers are looked at when the server has ended
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Session]:
    """A server with the defaults, around the backend that tells."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MIDSPAN_CACHE", str(tmp_path_factory.mktemp("cache")))
        async with running(tmp_path_factory.mktemp("shared") / "project", {}, real=False) as session:
            yield session


def keys(*, late: bool | None = None) -> list[Any]:
    chosen = [key for key, case in CASES.items() if late in (None, case.late)]
    return [pytest.param(key, marks=[pytest.mark.weights] if key == "model.path" else []) for key in chosen]


def test_each_setting_has_a_case() -> None:
    settings = Settings()
    groups = {group.name: getattr(settings, group.name) for group in fields(settings)}
    assert not set(CASES) & set(BACKEND_CASES)
    assert set(CASES) | set(BACKEND_CASES) == {
        f"{name}.{leaf.name}" for name, group in groups.items() for leaf in fields(group)
    }


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("key", keys(late=False))
async def test_it_counts_when_it_changes(key: str, shared: Session) -> None:
    case = CASES[key]
    if case.common:
        await shared.change(case.common)
    default = await case.observe(shared)
    await shared.change({**case.common, key: case.value})
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
    common = case.common
    if case.model in (TINY, FAMILY):
        path = tiny_checkpoint if case.model == TINY else write_family(FAMILY, tmp_path / "published")
        common = {"completion.eagerness": "always", "completion.invoked_timeout_ms": 60_000, "model.path": str(path)}
        common |= {"model.device": "cpu", "model.weights": "float32"}  # so that all machines fill the same
        common["memory.enabled"] = key == "context.neighbour_tokens"
        common.pop(key, None)
    if key != "model.path":  # whose default needs the weights of the cache
        monkeypatch.setenv("MIDSPAN_CACHE", str(tmp_path / "cache"))
    if case.model or case.common or case.observe is is_counted:
        async with running(tmp_path / "default", common, real=bool(case.model)) as session:
            default = await case.observe(session)
    else:
        default = await case.observe(shared)
    monkeypatch.setenv("MIDSPAN_CACHE", str(tmp_path / "another cache"))
    value = str(tiny_checkpoint) if case.value == TINY else case.value
    async with running(tmp_path / "changed", {**common, key: value}, real=bool(case.model)) as session:
        changed = await case.observe(session)
    assert case.effect(default, changed), (default, changed)
