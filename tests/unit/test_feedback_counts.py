"""Counts by language: added up, bounded, put off where they cannot be kept."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from pathlib import Path

import pytest
from midspan_lsp.cli.stats import describe_language
from midspan_lsp.engine.feedback import Feedback
from midspan_lsp.engine.outcome import STOPPED, Outcome, Silence
from midspan_lsp.memory.usage_languages import (
    ACCEPTED,
    AT_ONCE,
    REQUESTS,
    SHOWN,
    LanguageUsage,
    add_languages,
    read_languages,
    within,
)
from midspan_lsp.types import InfillStats, Verdict

SHOWN_OUTCOME = Outcome("x", 0.9, Verdict.VALID, None, InfillStats(1))
KNOWN_OUTCOME = Outcome("x", 0.9, Verdict.VALID, None, InfillStats())


def test_a_share_of_the_answers_took_at_most() -> None:
    counts: Counter[str] = Counter()
    for elapsed_ms in (1, 10, 20, 40, 80, 160, 320, 640, 1280, 10_000):
        counts[within(elapsed_ms)] += 1
    usage = LanguageUsage(counts)
    assert usage.latency_ms(0.5) == pytest.approx(80, rel=0.1)
    assert usage.latency_ms(0.9) == pytest.approx(1280, rel=0.1)
    assert usage.latency_ms(1.0) == pytest.approx(10_000, rel=0.1)
    assert LanguageUsage().latency_ms(0.5) is None


@pytest.mark.parametrize("elapsed_ms", [0.0, 0.3, 1.0, 7.7, 1e7])
def test_a_time_is_told_to_within_a_tenth(elapsed_ms: float) -> None:
    told = LanguageUsage({within(elapsed_ms): 1}).latency_ms(0.5)
    assert told is not None
    assert max(elapsed_ms, 1.0) <= told * 1.0001 <= 1.1 * max(elapsed_ms, 1.0)


def test_what_is_counted(tmp_path: Path) -> None:
    async def session() -> None:
        feedback = Feedback(enabled=True, stores=tmp_path)
        feedback.answered("go", SHOWN_OUTCOME, 12.0)
        feedback.answered("go", KNOWN_OUTCOME, 0.1)
        feedback.answered("go", STOPPED, 5.0)
        feedback.answered("go", Outcome("", 0.1, Verdict.VALID, Silence.UNSURE, InfillStats(2)), 30.0)
        feedback.silent("go", Silence.OFF)
        feedback.accepted("go")
        await feedback.aclose()

    asyncio.run(session())
    asyncio.run(session())
    (usage,) = read_languages(tmp_path).values()
    assert [usage.n(name) for name in (REQUESTS, SHOWN, AT_ONCE, ACCEPTED)] == [10, 2, 2, 2]
    assert dict(usage.silences()) == {one.value: 2 for one in (Silence.STOPPED, Silence.UNSURE, Silence.OFF)}
    assert usage.latency_ms(0.5) == pytest.approx(12, rel=0.1)
    told = describe_language("go", usage).splitlines()
    assert told[:3] == [
        "go",
        "  requests:  10, 20 % answered by what was shown before",
        "  shown:     2, 100 % accepted",
    ]


def test_an_editor_that_tells_nothing_of_accepting() -> None:
    assert "none reported as accepted" in describe_language("go", LanguageUsage({REQUESTS: 3, SHOWN: 2}))


def test_what_cannot_be_kept_now_is_kept_later(tmp_path: Path) -> None:
    async def session() -> None:
        feedback = Feedback(enabled=True, stores=tmp_path / "kept", write_every_s=0.0)
        (tmp_path / "kept").write_text("in the way")
        feedback.accepted("go")
        await asyncio.sleep(0.2)
        (tmp_path / "kept").unlink()
        feedback.accepted("go")
        feedback.accepted("c")
        await asyncio.sleep(0.2)
        await feedback.aclose()

    asyncio.run(session())
    assert {language: usage.n(ACCEPTED) for language, usage in read_languages(tmp_path / "kept").items()} == {
        "go": 2,
        "c": 1,
    }


def test_switched_off_what_is_not_written_is_dropped(tmp_path: Path) -> None:
    async def session() -> None:
        feedback = Feedback(enabled=True, stores=tmp_path)
        feedback.accepted("go")
        feedback.enable(enabled=False)
        feedback.accepted("go")
        await feedback.aclose()

    asyncio.run(session())
    assert read_languages(tmp_path) == {}


def test_languages_are_bounded(tmp_path: Path) -> None:
    for number in range(130):
        assert add_languages(tmp_path, {f"{number}" + "x" * 1000: Counter({ACCEPTED: 1})})
    assert add_languages(tmp_path, {"0" + "x" * 1000: Counter({ACCEPTED: 1})})
    kept = read_languages(tmp_path)
    assert len(kept) == 100
    assert max(map(len, kept)) == 40
    assert kept["0" + "x" * 39].n(ACCEPTED) == 2


def test_a_locked_file_is_left_alone(tmp_path: Path) -> None:
    assert add_languages(tmp_path, {"go": Counter({ACCEPTED: 1})})
    with sqlite3.connect(tmp_path / "usage.db") as other:
        other.execute("BEGIN EXCLUSIVE")
        assert not add_languages(tmp_path, {"go": Counter({ACCEPTED: 1})})
        other.rollback()
    other.close()
    assert read_languages(tmp_path)["go"].n(ACCEPTED) == 1
