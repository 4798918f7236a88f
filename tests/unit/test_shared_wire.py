"""What goes over a shared model's socket comes out as it went in; anything else is refused."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from midspan_lsp.backends.shared_folder import VARIABLE, meeting_of
from midspan_lsp.backends.shared_wire import (
    Ask,
    Tell,
    WireError,
    error_of,
    failure_of,
    read_ask,
    read_tell,
    write,
)
from midspan_lsp.config import ModelSettings, Settings
from midspan_lsp.errors import BackendUnavailable, BadResponse
from midspan_lsp.types import (
    CancellationToken,
    Candidate,
    Draft,
    InfillRequest,
    InfillResponse,
    InfillStats,
    Proposal,
    SlotView,
    Span,
)

REQUEST = InfillRequest(
    "def f():\n\t“é😀\ud800", "\r\n\0", "python", 4, None, 0.25, None, (Proposal("a", 0.5, "b.py", 3),), "x\n"
)
DRAFT = Draft((1, 2, 3), (0.1, 1.0, 0.30000000000000004), frozenset({0, 2}))
CANDIDATE = Candidate("a", 0.9, (1, 2), (Span(0, 0), Span(0, 1)), (0.5, 0.75), "line", 0)


@pytest.mark.parametrize(
    "ask",
    [
        Ask("hello"),
        Ask("cancel", 7),
        Ask("prepare", 8, InfillRequest("a", "b", min_indent=4)),
        Ask("infill", 9, REQUEST, 3.5, True),
        Ask("infill", 10, InfillRequest("", "", draft=DRAFT)),
    ],
)
def test_questions_survive(ask: Ask) -> None:
    assert read_ask(write(ask)) == ask


@pytest.mark.parametrize(
    "tell",
    [
        Tell(1, "loaded"),
        Tell(2, "progress", "reading", 30),
        Tell(3, "step", n_forwards=4, slots=(SlotView("a", True), SlotView(None, False))),
        Tell(4, "infilled", response=InfillResponse((CANDIDATE,), InfillStats(1, 2, 3, 4.5))),
        Tell(5, "infilled", response=InfillResponse()),
        Tell(6, "failed", failure=failure_of(BackendUnavailable("a", hint="b", retryable=True))),
    ],
)
def test_answers_survive(tell: Tell) -> None:
    assert read_tell(write(tell)) == tell


def test_a_message_is_one_line_whatever_its_text() -> None:
    assert write(Ask("infill", 1, REQUEST)).count(b"\n") == 1


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_anything_else_is_refused(line: bytes) -> None:
    with pytest.raises(WireError):
        read_ask(line)


@pytest.mark.parametrize("line", [b'{"kind":"sing"}', b'{"kind":"infill","request":{"prefix":1}}', b"[]", b"7", b"{}"])
def test_what_is_not_known_is_refused(line: bytes) -> None:
    with pytest.raises(WireError):
        read_ask(line)


def test_errors_keep_their_kind_and_their_hint() -> None:
    error = error_of(failure_of(BackendUnavailable("no weights", hint="midspan fetch", retryable=True)))
    assert isinstance(error, BackendUnavailable)
    assert (str(error), error.hint, error.retryable) == ("no weights\nmidspan fetch", "midspan fetch", True)
    assert isinstance(error_of(failure_of(ValueError("x"))), BadResponse)


def test_who_wants_another_model_meets_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "run"))
    assert meeting_of(Settings()) == meeting_of(Settings())
    assert meeting_of(Settings(model=ModelSettings(threads=3))) != meeting_of(Settings())


def test_a_folder_that_is_a_link_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "link"))
    with pytest.raises(BackendUnavailable, match="not a folder of yours alone"):
        meeting_of(Settings())


def test_a_token_tells_that_it_was_cancelled_once_and_also_afterwards() -> None:
    token, told = CancellationToken(), []
    token.when_cancelled(lambda: told.append("before"))
    thread = threading.Thread(target=token.cancel)
    thread.start()
    thread.join()
    token.cancel()
    token.when_cancelled(lambda: told.append("after"))
    assert told == ["before", "after"]


async def test_a_tokens_time_can_begin_later() -> None:
    token = CancellationToken()
    assert token.remaining_s is None
    token.begin(0.01)
    assert token.remaining_s is not None
    assert token.remaining_s <= 0.01
    await asyncio.sleep(0.02)
    assert token.expired()
    assert token.remaining_s == 0
