"""The engine with the project's memory, and a backend that answers as told."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from midspan_lsp.config import MemorySettings, Settings
from midspan_lsp.context.shape import Shape
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine.pipeline import Engine
from midspan_lsp.engine.recall import Recall
from midspan_lsp.memory.memory import ProjectMemory
from midspan_lsp.types import CancellationToken, Proposal, Source, Trigger
from scripted_backend import ScriptedBackend, candidate

CALL = "def handler(request):\n    payload = request.read_everything("
REST = "limit=4096, strict=True)"
WHOLE = f"{CALL}{REST}\n    return payload\n"


def kept_nowhere(settings: MemorySettings) -> ProjectMemory:
    return ProjectMemory(settings, keep=False)


def patient(
    build: Callable[[MemorySettings], ProjectMemory] = kept_nowhere, settings: MemorySettings | None = None
) -> Recall:
    """A memory that is waited for and does not pause."""
    return Recall(settings or MemorySettings(), limit_s=None, quiet_s=0, build=build)


def snapshot(text: str = CALL, uri: str = "untitled:x") -> DocumentSnapshot:
    return DocumentSnapshot(uri, "python", 1, text)


def put(folder: Path, name: str, text: str = WHOLE) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")
    return path


async def read(recall: Recall, folder: Path) -> None:
    recall.add_folder(str(folder))
    await recall.settled()


async def caught_up(recall: Recall) -> None:
    """Until all that was told is done, and the scans that came of it."""
    await recall.drafts(snapshot(), 0, Shape())
    await recall.settled()


async def drafts(recall: Recall, text: str = CALL) -> list[str]:
    return [one.text for one in await recall.drafts(snapshot(text), len(text), Shape())]


async def requested(recall: Recall, text: str = CALL) -> tuple[Proposal, ...]:
    """What reaches the backend of an engine."""
    backend = ScriptedBackend([candidate("1)")], can_remask=False)
    await Engine(backend, Settings(), recall).infill(snapshot(text), len(text), CancellationToken())
    return backend.requests[0].proposals


async def test_middles_of_the_project_reach_the_backend_with_their_places(tmp_path: Path) -> None:
    path = put(tmp_path, "pkg/a.py", "import os\n\n" + WHOLE)
    recall = patient()
    await read(recall, tmp_path)
    proposals = await requested(recall)
    first = next(one for one in proposals if one.text == REST)
    assert [one.score for one in proposals] == sorted((one.score for one in proposals), reverse=True)
    assert 0 < first.score <= 1
    assert (first.source_path, first.source_line) == (str(path.resolve()), 3)
    await recall.aclose()


async def test_a_middle_of_the_project_tells_its_source(tmp_path: Path) -> None:
    path = put(tmp_path, "a.py")
    recall = patient()
    await read(recall, tmp_path)
    text = CALL + "\n    return payload\n"
    number = [one.text for one in await recall.drafts(snapshot(text), len(CALL), Shape())].index(REST)
    backend = ScriptedBackend([replace(candidate(REST), proposal=number), candidate(REST)])
    engines = [Engine(backend, Settings(), recall) for _ in range(2)]  # one would know the answer the second time
    ours, own = [await engine.complete(snapshot(text), len(CALL), Trigger.AUTOMATIC) for engine in engines]
    assert ours[0].text == REST
    assert ours[0].source == Source(str(path.resolve()), 1)
    assert own[0].source is None
    await recall.aclose()


async def test_a_repair_is_told_of_the_proposals_and_keeps_the_source(tmp_path: Path) -> None:
    put(tmp_path, "a.py")
    recall = patient()
    await read(recall, tmp_path)
    backend = ScriptedBackend([replace(candidate("limit=4096]"), proposal=0), candidate("limit=4096)")])
    text = CALL + "\n    return payload\n"
    outcome = await Engine(backend, Settings(), recall).infill(snapshot(text), len(CALL), CancellationToken())
    assert outcome.text == "limit=4096)"
    assert outcome.source is not None
    assert backend.requests[0].proposals
    assert backend.requests[1].draft is not None
    assert backend.requests[1].proposals == backend.requests[0].proposals
    await recall.aclose()


class SlowMemory(ProjectMemory):
    """Has drafts, but not in time."""

    def drafts(self, snapshot: DocumentSnapshot, offset: int, max_lines: int = 1, min_indent: int | None = None):
        release.wait(10)
        return super().drafts(snapshot, offset, max_lines, min_indent)


release = threading.Event()


class SlowNeighbours(ProjectMemory):
    """Finds lines that are alike, the first time in time."""

    n_asked = 0

    def neighbour(self, snapshot: DocumentSnapshot, offset: int) -> str:
        self.n_asked += 1
        if self.n_asked > 1:
            release.wait(10)
        return f"{self.n_asked}\n"


async def test_lines_that_are_late_are_those_of_before() -> None:
    """What stands in front of the context is not to come and go: the model would read all of it anew."""
    release.clear()
    recall = Recall(MemorySettings(), limit_s=0.5, build=lambda settings: SlowNeighbours(settings, keep=False))
    assert await recall.neighbour(snapshot(CALL), 3) == "1\n"
    assert await recall.neighbour(snapshot(CALL), len(CALL)) == "1\n"
    release.set()
    await recall.aclose()


async def test_lines_that_are_alike_stay_while_one_types_a_line() -> None:
    """A memory that learns more meanwhile is asked again on the next line, or when a file is gone."""
    release.set()
    recall = Recall(MemorySettings(), limit_s=None, build=lambda settings: SlowNeighbours(settings, keep=False))
    assert [await recall.neighbour(snapshot(CALL), offset) for offset in (3, 4, 5)] == ["1\n"] * 3
    assert await recall.neighbour(snapshot(CALL), len(CALL)) == "2\n"
    recall.deleted("/nowhere/gone.py")
    assert await recall.neighbour(snapshot(CALL), len(CALL)) == "3\n"
    await recall.aclose()


async def test_a_slow_memory_is_not_waited_for() -> None:
    release.clear()
    recall = Recall(MemorySettings(), limit_s=0.02, build=lambda settings: SlowMemory(settings, keep=False))
    recall.opened(snapshot(WHOLE, "untitled:y"))
    began_s = time.monotonic()
    assert await requested(recall) == ()
    assert await requested(recall) == ()
    assert time.monotonic() - began_s < 5
    release.set()
    await recall.aclose()


class BrokenMemory(ProjectMemory):
    """Fails, and quotes the user's text."""

    def drafts(self, snapshot: DocumentSnapshot, offset: int, max_lines: int = 1, min_indent: int | None = None):
        raise ValueError(snapshot.text)


def out_of_order(settings: MemorySettings) -> ProjectMemory:
    raise ImportError("No module named 'numpy'")


@pytest.mark.parametrize(
    ("build", "told"),
    [(lambda one: BrokenMemory(one, keep=False), "ValueError at test_recall.py"), (out_of_order, "'numpy'")],
)
async def test_a_failing_memory_is_logged_once_without_text_and_answers_still_come(
    build: Callable[[MemorySettings], ProjectMemory], told: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put(tmp_path, "a.py")
    recall = patient(build)
    await read(recall, tmp_path)
    recall.opened(snapshot(WHOLE, "untitled:y"))
    assert await requested(recall) == await requested(recall) == ()
    (record,) = [record for record in caplog.records if record.levelno > logging.DEBUG]
    assert told in record.getMessage()
    assert "payload" not in record.getMessage()
    await recall.aclose()


async def test_closed_documents_are_forgotten_however_their_uri_is_quoted() -> None:
    recall = patient()
    recall.opened(snapshot(WHOLE, "untitled:caf%C3%A9%3A1"))
    assert REST in await drafts(recall)
    Engine(ScriptedBackend([]), Settings(), recall).forget("untitled:café:1")
    assert await drafts(recall) == []
    await recall.aclose()


async def test_the_latest_text_of_an_open_document_counts() -> None:
    recall = patient()
    recall.opened(snapshot("x = 1\n", "untitled:y"))
    for text in (CALL + "old)\n", CALL + "older)\n", WHOLE):
        recall.changed(snapshot(text, "untitled:y"))
    found = await drafts(recall)
    assert REST in found
    assert not {"old)", "older)"} & set(found)
    await recall.aclose()


async def test_what_happens_to_files_is_followed(tmp_path: Path) -> None:
    path = put(tmp_path, "a.py", "x = 1\n")
    recall = patient()
    await read(recall, tmp_path)
    put(tmp_path, "a.py")
    recall.saved(str(path))
    assert REST in await drafts(recall)
    path.unlink()
    recall.deleted(str(path))
    assert await drafts(recall) == []
    put(tmp_path, "old/a.py")
    recall.saved(str(tmp_path / "old"))
    await caught_up(recall)
    assert REST in await drafts(recall)
    (tmp_path / "old").rename(tmp_path / "new")
    recall.renamed((tmp_path / "old").as_uri(), (tmp_path / "new").as_uri())
    await caught_up(recall)
    found = await recall.drafts(snapshot(), len(CALL), Shape())
    assert {Path(one.source_path).parent.name for one in found} == {"new"}
    recall.remove_folder(str(tmp_path))
    assert await drafts(recall) == []
    await recall.aclose()


async def test_new_rules_count_once_they_are_saved(tmp_path: Path) -> None:
    put(tmp_path, "logs/a.py")
    recall = patient()
    await read(recall, tmp_path)
    assert REST in await drafts(recall)
    recall.saved(str(put(tmp_path, ".gitignore", "logs/\n")))
    await caught_up(recall)
    assert await drafts(recall) == []
    await recall.aclose()


class CountingMemory(ProjectMemory):
    """Tells which files it was to read again."""

    def reread(self, paths: Sequence[str]) -> Iterator[None]:
        reread.append(list(paths))
        return super().reread(paths)


reread: list[list[str]] = []


async def test_files_changed_outside_are_read_again_each_once_and_requests_get_in_between(tmp_path: Path) -> None:
    reread.clear()
    recall = patient(lambda settings: CountingMemory(settings, keep=False))
    await read(recall, tmp_path)
    paths = [str(put(tmp_path, f"a{number}.py", WHOLE + f"x{number} = 1\n" * 900)) for number in range(200)]
    for _ in range(3):
        recall.changed_outside(paths)
    assert await drafts(recall) == [], "asked before the files are read, answered before"
    await recall.settled()
    assert [len(one) for one in reread] == [200]
    assert REST in await drafts(recall)
    for path in paths:
        Path(path).unlink()
    rules = put(tmp_path, ".gitignore", "b.py\n")
    put(tmp_path, "b.py")
    recall.changed_outside([*paths, str(rules), str(tmp_path / "b.py")])
    await caught_up(recall)
    assert await drafts(recall) == []
    await recall.aclose()


async def test_an_answer_is_not_given_again_once_the_memory_knows_otherwise(tmp_path: Path) -> None:
    path = put(tmp_path, "a.py")
    recall = patient()
    await read(recall, tmp_path)
    backend = ScriptedBackend([candidate(REST), candidate("x)"), candidate("y)")], can_remask=False)
    engine = Engine(backend, Settings(), recall)
    asked = snapshot(CALL + "\n    return payload\n")

    async def shown() -> list[str]:
        return [one.text for one in await engine.complete(asked, len(CALL), Trigger.AUTOMATIC)]

    assert await shown() == await shown() == [REST]
    recall.changed(asked)
    assert await shown() == [REST], "its own text is known by the place"
    path.unlink()
    recall.deleted(str(path))
    assert await shown() == ["x)"]
    recall.changed(snapshot(WHOLE, "untitled:other"))
    assert await shown() == ["y)"]
    await engine.aclose()


async def test_a_folder_within_another_can_be_removed(tmp_path: Path) -> None:
    put(tmp_path, "sub/a.py")
    recall = patient()
    await read(recall, tmp_path)
    await read(recall, tmp_path / "sub")
    recall.remove_folder(str(tmp_path / "sub"))
    assert REST in await drafts(recall)
    await read(recall, tmp_path / "sub")
    recall.remove_folder(str(tmp_path))
    assert REST in await drafts(recall)
    recall.remove_folder(str(tmp_path / "sub"))
    await caught_up(recall)
    assert await drafts(recall) == []
    await recall.aclose()


async def test_a_scan_pauses_after_a_request_and_goes_on(tmp_path: Path) -> None:
    put(tmp_path, "a.py")
    recall = Recall(MemorySettings(), limit_s=None, quiet_s=0.3, build=kept_nowhere)
    assert await drafts(recall) == []
    began_s = time.monotonic()
    recall.add_folder(str(tmp_path))
    await recall.settled()
    assert time.monotonic() - began_s > 0.2
    assert REST in await drafts(recall)
    await recall.aclose()


@pytest.mark.parametrize("folder_first", [True, False])
@pytest.mark.parametrize("name", ["logs/a.py", ".env", "own.py"])
async def test_an_open_document_is_ignored_before_its_folder_is_read(
    tmp_path: Path, name: str, folder_first: bool
) -> None:
    put(tmp_path, ".gitignore", "logs/\n")
    (tmp_path / "other").mkdir()
    memory = MemorySettings(ignore=("own.py",))
    recall = Recall(memory, limit_s=None, quiet_s=3600, build=kept_nowhere)
    assert await drafts(recall) == []
    for is_folder in (folder_first, not folder_first):
        if is_folder:
            recall.add_folder(str(tmp_path / "other"))
            recall.add_folder(str(tmp_path))
        else:
            recall.opened(snapshot(WHOLE, put(tmp_path, name).as_uri()))
    assert await drafts(recall) == []
    await recall.aclose()


async def test_a_memory_that_is_switched_off_is_never_built(tmp_path: Path) -> None:
    recall = patient(lambda _: pytest.fail("built"), MemorySettings(enabled=False))
    await read(recall, tmp_path)
    recall.opened(snapshot(WHOLE, "untitled:y"))
    recall.changed(snapshot(WHOLE, "untitled:y"))
    assert await drafts(recall) == []
    await recall.aclose()


async def test_a_newer_request_ends_one_that_waits_for_the_memory() -> None:
    release.clear()
    recall = patient(lambda settings: SlowMemory(settings, keep=False))
    backend = ScriptedBackend([candidate("1)"), candidate("2)")])
    engine = Engine(backend, Settings(), recall)
    text = CALL + "\n    return payload\n"
    older, newer = [
        asyncio.create_task(engine.complete(snapshot(text), len(CALL), Trigger.AUTOMATIC)) for _ in range(2)
    ]
    await asyncio.sleep(0.01)
    release.set()
    assert await older == []
    assert [one.text for one in await newer] == ["1)"]
    assert len(backend.requests) == 1
    await engine.aclose()


async def test_a_cancelled_request_is_not_asked() -> None:
    release.clear()
    backend = ScriptedBackend([candidate("1)")])
    engine = Engine(backend, Settings(), patient(lambda settings: SlowMemory(settings, keep=False)))
    task = asyncio.create_task(engine.complete(snapshot(), len(CALL), Trigger.AUTOMATIC))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    release.set()
    await engine.aclose()
    assert backend.requests == []


async def test_closing_in_the_midst_of_a_scan_keeps_what_was_read(tmp_path: Path) -> None:
    for number in range(30):
        put(tmp_path / "work", f"a{number}.py", WHOLE + f"x{number} = 1\n" * 3000)
    memories: list[ProjectMemory] = []

    def build(settings: MemorySettings) -> ProjectMemory:
        memories.append(ProjectMemory(settings, tmp_path / "cache"))
        return memories[0]

    recall = patient(build)
    recall.add_folder(str(tmp_path / "work"))
    await drafts(recall)
    await recall.aclose()
    assert await drafts(recall) == []
    assert memories[0].stats().n_documents < 30


PRIVATE = [".env", "secrets.py", "id_rsa", "server.pem", "credentials.py", "logs/a.py", "node_modules/a.py", "own.py"]


@settings(max_examples=25, deadline=None)
@given(
    names=st.lists(st.sampled_from(PRIVATE), min_size=1, max_size=3, unique=True),
    events=st.lists(st.sampled_from(["open", "change", "save", "close", "rename", "read"]), max_size=6),
    cut=st.integers(0, len(WHOLE)),
)
def test_private_text_never_reaches_a_request(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], events: list[str], cut: int
) -> None:
    folder = tmp_path_factory.mktemp("work")
    put(folder, ".gitignore", "logs/\n")
    put(folder, "public.py", "def handler(request):\n    payload = request.public_thing(0)\n")

    async def story() -> tuple[Proposal, ...]:
        recall = patient(settings=MemorySettings(ignore=("own.py",)))
        await read(recall, folder)
        for name in names:
            path = put(folder, name)
            document = snapshot(WHOLE, path.as_uri())
            for event in events:
                if event == "open":
                    recall.opened(document)
                elif event == "change":
                    recall.changed(replace(document, text=WHOLE + "\n"))
                elif event == "save":
                    recall.saved(str(path))
                elif event == "close":
                    recall.closed(document.uri)
                elif event == "rename":
                    recall.renamed(document.uri, document.uri)
                else:
                    await read(recall, folder)
        proposals = await requested(recall, WHOLE[:cut])
        await recall.aclose()
        return proposals

    for one in asyncio.run(story()):
        assert Path(one.source_path).name == "public.py"
        assert "4096" not in one.text


async def test_the_project_tells_how_a_middle_goes_on_that_has_begun(tmp_path: Path) -> None:
    put(tmp_path, "a.py")
    recall = patient()
    await read(recall, tmp_path)
    ahead = recall.ahead(snapshot(), len(CALL), Shape())
    assert ahead is not None
    assert await asyncio.to_thread(ahead, "") == REST
    assert await asyncio.to_thread(ahead, "limit=40") == REST.removeprefix("limit=40")
    assert await asyncio.to_thread(ahead, "qqq") == ""
    # the document was not taken to have it: its draft is still found as before
    assert REST in await drafts(recall)
    await recall.aclose()
    assert await asyncio.to_thread(ahead, "") == ""
    assert recall.ahead(snapshot(), len(CALL), Shape()) is None


async def test_who_is_slow_to_tell_how_a_middle_goes_on_is_asked_no_more() -> None:
    asked = 0

    class Slow(ProjectMemory):
        def continuation(self, *_args: object, **_named: object) -> str:
            nonlocal asked
            asked += 1
            time.sleep(0.3)
            return "late"

    recall = Recall(MemorySettings(), quiet_s=0, build=lambda settings: Slow(settings, keep=False))
    await drafts(recall)
    ahead = recall.ahead(snapshot(), len(CALL), Shape())
    assert ahead is not None
    began_s = time.monotonic()
    assert [await asyncio.to_thread(ahead, "x"), await asyncio.to_thread(ahead, "xy")] == ["", ""]
    assert asked == 1
    assert time.monotonic() - began_s < 0.25
    await recall.aclose()
