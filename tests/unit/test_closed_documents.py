"""A session forgets the documents that were closed, all but a few: what it keeps is the same after many of them."""

from __future__ import annotations

import asyncio
import gc
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any, cast

import pytest
from midspan_lsp.config import MemorySettings, Settings
from midspan_lsp.context.shape import Shape
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine.answers import SIZE
from midspan_lsp.engine.feedback import Feedback
from midspan_lsp.engine.pipeline import Engine
from midspan_lsp.engine.recall import MOST_NEIGHBOURS, Recall
from midspan_lsp.lsp.texts import OpenTexts
from midspan_lsp.memory.memory import ProjectMemory
from midspan_lsp.types import CancellationToken, InfillRequest, InfillResponse, StepObserver, Trigger
from scripted_backend import Answering, candidate

N_DOCUMENTS = 300
TEXT = "def total(prices):\n    return sum(prices)\n\n\nvalue = "
NAME = re.compile(r"numbered(\d+)\.py")


def build_memory(settings: MemorySettings) -> ProjectMemory:
    return ProjectMemory(settings, keep=False)


class Forgetful(Answering):
    """Gives the same answer to all, and keeps no request."""

    def __init__(self) -> None:
        super().__init__(lambda _request: [candidate("total([1, 2])")])

    async def infill(
        self, request: InfillRequest, token: CancellationToken, on_step: StepObserver | None = None
    ) -> InfillResponse:
        answer = await super().infill(request, token, on_step)
        self.requests.clear()
        self.tokens.clear()
        return answer


def reached_from(root: object) -> Iterator[object]:
    """All that an object holds, however deep; not what belongs to the program: modules, classes and globals."""
    seen, waiting = {id(root)}, [root]
    while waiting:
        one = waiting.pop()
        yield one
        inner: list[Any] = list(gc.get_referents(one))
        if isinstance(one, FunctionType):
            inner = [one.__closure__, one.__defaults__]
        elif isinstance(one, MethodType):
            inner = [one.__self__]
        elif isinstance(one, dict):  # its strings are not told
            inner += cast("dict[Any, Any]", one)
        for found in inner:
            if not isinstance(found, type | ModuleType) and id(found) not in seen:
                seen.add(id(found))
                waiting.append(found)


def named_in(root: object) -> set[str]:
    """The numbers of the documents whose name stands in a string that is held."""
    texts = [one for one in reached_from(root) if isinstance(one, str)]
    return {number for text in texts for number in NAME.findall(text)}


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    memory = Recall(MemorySettings(), limit_s=None, quiet_s=0, count=True, build=build_memory)
    feedback = Feedback(enabled=True, stores=tmp_path)
    engine = Engine(Forgetful(), Settings(), memory, feedback)
    yield engine
    await engine.aclose()


async def test_a_session_forgets_the_documents_that_were_closed(engine: Engine, tmp_path: Path) -> None:
    """What a request has found that outlived its document is kept, of the last 64."""
    for number in range(N_DOCUMENTS):
        path = tmp_path / f"numbered{number}.py"
        before = DocumentSnapshot(path.as_uri(), "python", 1, TEXT)
        after = DocumentSnapshot(path.as_uri(), "python", 2, f"{TEXT}sum")
        engine.opened(before)
        engine.recall.saved(str(path))
        engine.changed(after)
        asked = asyncio.ensure_future(engine.complete(after, len(after.text), Trigger.INVOKED))
        await asyncio.sleep(0)  # it has begun
        if number % 2:
            await asked
        engine.forget(path.as_uri())
        await asked
    await engine.recall.drafts(DocumentSnapshot("untitled:last", "python", 1, TEXT), len(TEXT), Shape())
    gc.collect()
    assert len(named_in(engine)) <= SIZE + MOST_NEIGHBOURS


async def test_neighbours_that_come_after_the_end_of_their_document_are_kept_of_a_few() -> None:
    memory = Recall(MemorySettings(), limit_s=None, quiet_s=0, build=build_memory)
    for number in range(N_DOCUMENTS):
        await memory.neighbour(DocumentSnapshot(f"untitled:numbered{number}.py", "python", 1, TEXT), len(TEXT))
    assert len(named_in(memory)) <= MOST_NEIGHBOURS + 1
    await memory.aclose()


def test_malformed_changes_of_what_is_not_open_leave_nothing() -> None:
    texts = OpenTexts()
    for number in range(N_DOCUMENTS):
        texts.lose(f"untitled:numbered{number}.py")
    assert not named_in(texts)
