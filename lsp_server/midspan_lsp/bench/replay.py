"""Types holes through a server: at a rhythm, patiently, or one question behind a context that is ready."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from midspan_lsp.bench.client import Editor, text_of
from midspan_lsp.bench.machine import cpu_s
from midspan_lsp.bench.traces import Hole
from midspan_lsp.errors import BadResponse

_PREPARED_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Key:
    """One key, or the first look at a place.

    Attributes:
        ms: until its answer came; None: the next key came first.
        is_cold: whether it is the first in its document.
        shown: the ghost text.
        wanted: what would have been right.
    """

    ms: float | None
    is_cold: bool
    shown: str
    wanted: str

    @property
    def is_right(self) -> bool:
        """Whether exactly that was shown."""
        return self.shown.rstrip() == self.wanted.rstrip() != ""


@dataclass(frozen=True)
class Rhythm:
    """A line typed at a rhythm, and what it cost the server.

    Attributes:
        keys: without the first look, which was waited for.
        wall_s: from the first key to the last one's answer.
        cpu_s: processor time meanwhile; None where it is not known.
        work: what `midspan/work` counted meanwhile.
    """

    keys: list[Key]
    wall_s: float
    cpu_s: float | None
    work: dict[str, int]


def gaps_s(keys_per_second: float, uneven: float, seed: int) -> Iterator[float]:
    """Seconds between keys, without end: log-normal, as people's are; `uneven` times their mean is their deviation."""
    draw, sigma = random.Random(seed), math.sqrt(math.log1p(uneven**2))  # noqa: S311  (no secret)
    while True:
        yield draw.lognormvariate(-(sigma**2) / 2, sigma) / keys_per_second


async def type_at_rhythm(editor: Editor, hole: Hole, gaps: Iterator[float]) -> Rhythm:
    """Type a hole as a person does, and ask at each key as editors do: the older request is cancelled.

    Args:
        editor: of the server.
        hole: to be typed.
        gaps: seconds between keys.
    """
    editor.open(hole, hole.text())
    typing = _Typing(editor, hole)
    typing.press(0)
    await typing.last_answer()
    before, before_s, began_s = await editor.work(), cpu_s(editor.pid), time.perf_counter()
    next_s = began_s
    for n_typed in range(1, len(hole.middle)):
        next_s += next(gaps)
        await asyncio.sleep(max(0.0, next_s - time.perf_counter()))
        typing.press(n_typed)
    await typing.last_answer()
    wall_s, after_s, after = time.perf_counter() - began_s, cpu_s(editor.pid), await editor.work()
    editor.close(hole)
    used_s = None if before_s is None or after_s is None else after_s - before_s
    return Rhythm(typing.keys()[1:], wall_s, used_s, {name: after[name] - before[name] for name in after})


async def type_patiently(editor: Editor, hole: Hole, n_keys: int) -> list[Key]:
    """Type the first keys of a hole, each when the one before is answered."""
    editor.open(hole, hole.text())
    typing = _Typing(editor, hole)
    for n_typed in range(min(n_keys, len(hole.middle))):
        typing.press(n_typed)
        await typing.last_answer()
    editor.close(hole)
    return typing.keys()


async def answer_when_ready(editor: Editor, hole: Hole) -> Key:
    """The answer behind a context that is encoded, and that was not asked about before.

    Raises:
        BadResponse: the server does not encode it ahead.
    """
    before = await editor.work()
    editor.open(hole, hole.before[:-1] + hole.after)
    editor.change(hole, hole.text())
    try:
        async with asyncio.timeout(_PREPARED_TIMEOUT_S):
            while (await editor.work())["prefilledTokens"] == before["prefilledTokens"]:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
    except TimeoutError as error:
        raise BadResponse("the server does not prepare the context of an edit") from error
    typing = _Typing(editor, hole)
    typing.press(0)
    await typing.last_answer()
    editor.close(hole)
    return typing.keys()[0]


class _Typing:
    """The keys of one hole."""

    def __init__(self, editor: Editor, hole: Hole) -> None:
        self._editor, self._hole = editor, hole
        self._pressed: list[tuple[float, asyncio.Future[Any]]] = []
        self._answered_s: dict[int, float] = {}
        self._number = 0

    def press(self, n_typed: int) -> None:
        """Type a character, the first time none, and ask."""
        began_s = time.perf_counter()
        if n_typed:
            self._editor.change(self._hole, self._hole.text(n_typed))
        if self._pressed and not self._pressed[-1][1].done():
            self._editor.cancel(self._number)
        index = len(self._pressed)
        self._number, future = self._editor.ask_completion(self._hole, n_typed)
        self._pressed.append((began_s, future))

        def answered(_future: asyncio.Future[Any]) -> None:
            if index == len(self._pressed) - 1:
                self._answered_s[index] = time.perf_counter()

        future.add_done_callback(answered)

    async def last_answer(self) -> None:
        """Until the last key is answered; the error, if it is one."""
        await self._pressed[-1][1]
        await asyncio.sleep(0)  # its callback comes first

    def keys(self) -> list[Key]:
        """What came of each."""
        keys: list[Key] = []
        for index, (began_s, future) in enumerate(self._pressed):
            answered_s = self._answered_s.get(index)
            ms = None if answered_s is None else 1e3 * (answered_s - began_s)
            shown = "" if ms is None else text_of(future.result())
            keys.append(Key(ms, index == 0, shown, self._hole.middle[index:]))
        return keys
