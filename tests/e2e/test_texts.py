"""The server's text is the editor's, whatever the editor sends; over real stdio."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from conftest import FAKE_COMMAND
from edit_sequences import check_sequences
from raw_client import COMPLETION, TRANSPORTS, RawClient, Transport
from text_model import ENCODINGS, Encoding, TextModel, random_edit, random_text

pytestmark = pytest.mark.asyncio(loop_scope="module")

N_EDITS = 150
N_SEQUENCES = 300


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=TRANSPORTS)
async def client(request: pytest.FixtureRequest) -> AsyncIterator[RawClient]:
    async with RawClient(FAKE_COMMAND, transport=request.param) as client:
        await client.initialize()
        await is_loaded(client)
        yield client


async def is_loaded(client: RawClient) -> None:
    client.open("loaded.py")
    while (await client.complete("loaded.py"))["result"] is None:
        pass


def part(start: tuple[int, int], end: tuple[int, int], text: str) -> dict[str, object]:
    edges = [{"line": line, "character": character} for line, character in (start, end)]
    return {"range": {"start": edges[0], "end": edges[1]}, "text": text}


@pytest.mark.parametrize("version", [None, 0, 1, 7, -3, "absent"])
async def test_a_change_counts_whatever_its_version(client: RawClient, version: object) -> None:
    client.open("text.py", "old")
    client.change("text.py", 8, {"text": "newer"})
    document = {"uri": "file:///text.py", "version": version}
    if version == "absent":
        del document["version"]
    changes = [{"text": "newest"}]
    client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": changes})
    assert await client.text("text.py") == "newest"


async def test_opened_without_a_version(client: RawClient) -> None:
    document = {"uri": "file:///text-none.py", "languageId": "python", "version": None, "text": "abc"}
    client.notify("textDocument/didOpen", {"textDocument": document})
    assert await client.text("text-none.py") == "abc"


async def test_a_part_is_put_in_its_place_though_whole_texts_are_asked_for(client: RawClient) -> None:
    client.open("text-part.py", "ab\ncd\n")
    client.change("text-part.py", 2, part((0, 1), (1, 1), "X"), part((0, 0), (0, 0), "😀"))
    assert await client.text("text-part.py") == "😀aXd\n"


@pytest.mark.parametrize("end", [2**31 - 1, 2**32 - 1, 2**53 - 1, 10**30, 1e9])
async def test_a_huge_position_is_the_end(client: RawClient, end: int) -> None:
    client.open("text-huge.py", "ab\ncd")
    client.change("text-huge.py", 2, part((0, 1), (end, end), "X"))
    assert await client.text("text-huge.py") == "aX"
    item = (await client.complete("text-huge.py", end, end))["result"]["items"][0]
    assert item["range"]["start"] == {"line": 0, "character": 2}


async def test_a_negative_position_is_the_start(client: RawClient) -> None:
    client.open("text-negative.py", "ab\ncd")
    client.change("text-negative.py", 2, part((-1, -5), (0, 1), "X"))
    assert await client.text("text-negative.py") == "Xb\ncd"
    item = (await client.complete("text-negative.py", -1, -1))["result"]["items"][0]
    assert item["range"]["start"] == {"line": 0, "character": 0}


async def test_within_a_pair_of_surrogates_is_before_it(client: RawClient) -> None:
    client.open("text-pair.py", "a😀b")
    item = (await client.complete("text-pair.py", 0, 2))["result"]["items"][0]
    assert item["range"]["start"] == {"line": 0, "character": 1}
    client.change("text-pair.py", 2, part((0, 2), (0, 3), "X"))
    assert await client.text("text-pair.py") == "aXb"


async def test_half_a_pair_of_surrogates_is_kept(client: RawClient) -> None:
    client.open("text-half.py", "a\ud83db")
    assert await client.text("text-half.py") == "a\ud83db"


async def test_an_empty_document(client: RawClient) -> None:
    client.open("text-empty.py", "")
    assert await client.text("text-empty.py") == ""
    client.change("text-empty.py", 2, part((0, 0), (0, 0), "x"))
    client.change("text-empty.py", 3, part((0, 0), (0, 1), ""))
    assert await client.text("text-empty.py") == ""


@pytest.mark.parametrize(
    "changes",
    [None, 5, [{}], [{"text": "x", "range": {"start": {"line": "a"}}}], [{"text": "y"}, None]],
)
async def test_a_lost_text_is_not_completed_before_it_is_known_again(client: RawClient, changes: object) -> None:
    client.open("text-lost.py", "abc")
    document = {"uri": "file:///text-lost.py", "version": 2}
    client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": changes})
    assert await client.text("text-lost.py") is None
    client.change("text-lost.py", 3, part((0, 0), (0, 0), "x"))
    assert await client.text("text-lost.py") is None
    client.change("text-lost.py", 4, {"text": "whole"})
    assert await client.text("text-lost.py") == "whole"


async def test_not_open_or_closed(client: RawClient) -> None:
    client.change("text-never.py", 2, {"text": "x"})
    assert await client.text("text-never.py") is None
    client.open("text-closed.py")
    client.notify("textDocument/didClose", {"textDocument": {"uri": "file:///text-closed.py"}})
    client.notify("textDocument/didClose", {"textDocument": {"uri": "file:///text-closed.py"}})
    client.change("text-closed.py", 2, {"text": "x"})
    assert await client.text("text-closed.py") is None


@pytest.mark.parametrize(
    "uri",
    [
        "untitled:text-1",
        "vscode-notebook-cell:/a.ipynb/text#W0sZmlsZQ%3D%3D",
        "vscode-remote://wsl%2Bubuntu/home/me/text.py",
        "ssh://host:22/text.py",
        "file:///c%3A/Program%20Files/My%20Code/text.py",
        "file:///C:/Users/Zo%C3%AB/text.py",
        "file://server/share/text.py",
        "file:///a%ZZ%/text",
        "file://[not-a-host/text.py",
        "git:/text.py?%7B%22ref%22%3A%22~%22%7D",
        "/text",
        "text",
    ],
)
async def test_a_document_of_any_uri(client: RawClient, uri: str) -> None:
    document = {"uri": uri, "languageId": "python", "version": 1, "text": "x = "}
    client.notify("textDocument/didOpen", {"textDocument": document})
    change = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": "x = y"}]}
    client.notify("textDocument/didChange", change)
    position, context = {"line": 0, "character": 5}, {"triggerKind": 1}
    asked = {"textDocument": {"uri": uri}, "position": position, "context": context}
    (item,) = (await client.request(COMPLETION, asked))["result"]["items"]
    assert item["range"] == {"start": position, "end": position}
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert (await client.request(COMPLETION, asked))["result"] is None


async def test_a_uri_that_is_quoted_in_another_way_is_the_same(client: RawClient) -> None:
    document = {"uri": "file:///c%3A/My%20Code/text.py", "languageId": "python", "version": 1, "text": "abc"}
    client.notify("textDocument/didOpen", {"textDocument": document})
    assert await client.text("c:/My Code/text.py") == "abc"


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("encoding", ENCODINGS)
async def test_random_edits(encoding: Encoding, transport: Transport) -> None:
    draw = random.Random(f"texts {encoding} {transport}")
    async with RawClient(FAKE_COMMAND, transport=transport) as client:
        general = {"positionEncodings": [encoding]}
        await client.initialize(capabilities={"general": general})
        await is_loaded(client)
        model = TextModel(random_text(draw, 40), encoding)
        client.open("text.py", model.text)
        for number in range(N_EDITS):
            change = random_edit(draw, model)
            client.change("text.py", draw.choice([None, number, number + 2]), change)
            if number % 10 == 9:
                assert await client.text("text.py") == model.text


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_sequences_of_edits(transport: Transport) -> None:
    n_edits = await check_sequences(FAKE_COMMAND, f"sequences {transport}", N_SEQUENCES, transport)
    assert set(n_edits) == set(ENCODINGS)
