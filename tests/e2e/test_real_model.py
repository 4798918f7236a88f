"""The real command with the real weights, over stdio."""

from __future__ import annotations

import ast
import asyncio
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from conftest import Editor, running_editor
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

pytestmark = [pytest.mark.weights, pytest.mark.asyncio(loop_scope="module")]

COMMAND = [str(Path(sys.executable).with_name("midspan")), "serve"]
EXAMPLE = (Path(__file__).parents[1] / "examples" / "geometry.py").read_text(encoding="utf-8")
TYPED = "return 2 * (self.width + "
LOADING_TIMEOUT_S = 300
ALL_MIDDLES = {"completion": {"eagerness": "always", "timeout_ms": 60_000}}

ADD = "def add(first, second):\n    return first + ‸\n\n\nprint(add(1, 2))\n"
DOCUMENTS = {
    "plain.py": ADD,
    "emoji.py": "# 👋🏽 Zoë\n" + ADD.replace("print(", "print('😀', "),
    "emoji_on_the_line.py": "names = {'👋': 1, '😀': 2}\nprint('👋😀', names['👋'], names['‸])\nprint(len(names))\n",
    "crlf.py": ADD.replace("\n", "\r\n"),
    "tabs.py": ADD.replace("    ", "\t"),
    "body.py": "def double(value):\n    ‸\n\n\nprint(double(2))\n",
    "form_feed.py": "x = 1\n\x0c\n" + ADD,
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def editor(embedded_weights: Path) -> AsyncIterator[Editor]:
    """An editor whose server has loaded the embedded model."""
    async with running_editor(ALL_MIDDLES, command=COMMAND, progress=True) as editor:
        await loaded(editor)
        yield editor


async def loaded(editor: Editor) -> None:
    """Until loading has ended; meanwhile the answer is null."""
    uri = editor.open("not_ready.py", "x = 1 + ")
    assert await editor.complete(uri, 0, 8) is None
    async with asyncio.timeout(LOADING_TIMEOUT_S):
        while not editor.loading_ended():
            await editor.client.wait_for_notification(lsp.PROGRESS)


def split(marked: str) -> tuple[str, int, int]:
    """Text, line and UTF-16 column of the mark."""
    before, _, after = marked.partition("‸")
    lines = before.replace("\r\n", "\n").split("\n")
    return before + after, len(lines) - 1, len(lines[-1].encode("utf-16-le")) // 2


def inserted(marked: str, middle: str) -> str:
    return marked.replace("‸", middle)


@pytest.mark.parametrize("name", DOCUMENTS)
async def test_what_is_inserted_parses(editor: Editor, name: str) -> None:
    marked = DOCUMENTS[name]
    text, line, column = split(marked)
    item = await editor.complete(editor.open(name, text), line, column)
    assert item is not None, "the document is easy: there must be an answer"
    assert item.range is not None
    assert item.range.start == item.range.end == lsp.Position(line, column)
    middle = str(item.insert_text)
    assert middle.strip()
    ast.parse(inserted(marked, middle))


async def test_a_file_with_code_on_both_sides_is_completed(editor: Editor) -> None:
    place = EXAMPLE.index(TYPED) + len(TYPED)
    marked = EXAMPLE[:place] + "‸" + EXAMPLE[place:]
    text, line, column = split(marked)
    item = await editor.complete(editor.open("geometry.py", text), line, column)
    assert item is not None
    assert "height" in str(item.insert_text)
    ast.parse(inserted(marked, str(item.insert_text)))


async def test_the_same_question_costs_no_encoding_and_has_the_same_answer(editor: Editor) -> None:
    text, line, column = split(DOCUMENTS["plain.py"])
    uri = editor.open("again.py", text)
    first, second = [await editor.complete(uri, line, column) for _ in range(2)]
    assert first == second


async def test_a_burst_with_cancels_ends_in_an_answer(editor: Editor) -> None:
    """Twenty keys in two seconds, half of the requests cancelled: the last is answered, and there is no error."""
    uri = editor.open("burst.py", "")
    typed = EXAMPLE[: EXAMPLE.index(TYPED) + len(TYPED)]
    began_s = time.monotonic()
    futures: list[asyncio.Future[lsp.InlineCompletionList | None]] = []
    for number in range(20):
        text = typed[: len(typed) - 19 + number]
        editor.change(uri, text + EXAMPLE[len(typed) :])
        _, line, column = split(text + "‸")
        msg_id, future = editor.ask(uri, line, column)
        futures.append(future)
        if number % 2 and number < 19:
            editor.cancel(msg_id)
        await asyncio.sleep(max(0.0, began_s + (number + 1) * 0.1 - time.monotonic()))
    assert time.monotonic() - began_s < 3
    answers = await asyncio.gather(*futures, return_exceptions=True)
    errors = [answer for answer in answers if isinstance(answer, BaseException)]
    assert all(isinstance(error, JsonRpcException) and error.code == -32800 for error in errors), errors
    last = answers[-1]
    assert isinstance(last, lsp.InlineCompletionList)
    ast.parse(typed + str(last.items[0].insert_text) + EXAMPLE[len(typed) :].partition("\n")[2])


async def test_after_a_cancel_the_worker_is_idle_within_one_forward(editor: Editor) -> None:
    uri = editor.open("long.py", EXAMPLE * 20)
    _, line, column = split(EXAMPLE * 20 + "‸")
    msg_id, future = editor.ask(uri, line, column)
    await asyncio.sleep(0.3)
    editor.cancel(msg_id)
    with pytest.raises(JsonRpcException):
        await future
    await asyncio.sleep(1.0)  # a forward of the slowest machine, and more
    before_s = editor.cpu_s()
    await asyncio.sleep(1.0)
    assert editor.cpu_s() - before_s < 0.1


async def test_the_initialize_reply_does_not_wait_for_the_model(embedded_weights: Path) -> None:
    """Quiet, it comes within a second; torch alone would take longer than what is allowed here for busy machines."""
    durations_s: list[float] = []
    for _ in range(3):
        began_s = time.monotonic()
        async with running_editor(command=COMMAND):
            durations_s.append(time.monotonic() - began_s)
    assert min(durations_s) < 2.0, durations_s
