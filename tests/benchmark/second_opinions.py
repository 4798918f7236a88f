"""What second parsers say of answers, kept on disk: some of these parsers take seconds to start."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from second_parsers import CHECKS

Result = dict[str, Any]
"""As `repair.ask` writes it."""


class SecondOpinions:
    """Whether a file is sound with an answer, and whether it was without; of files that never were nothing is told.

    Args:
        path: where they are kept.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept: dict[str, tuple[bool | None, bool | None]] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                key, said = json.loads(line)
                self._kept[key] = tuple(said)

    def form(self, results: Sequence[Result], seconds: float) -> bool:
        """Ask the parsers what they were not asked yet; whether they have told all in that time."""
        ends_s = time.monotonic() + seconds
        with self._path.open("a", encoding="utf-8") as out:
            for result, answer in _answers(results):
                key = _key(result, answer)
                if key in self._kept:
                    continue
                if time.monotonic() > ends_s:
                    print("second parsers have more to tell", file=sys.stderr)
                    return False
                self._kept[key] = _opinion(result["hole"], answer)
                out.write(json.dumps([key, self._kept[key]]) + "\n")
                out.flush()
        return True

    def added_to(self, results: Sequence[Result]) -> list[Result]:
        """The results with `sound`, `was_sound`, and of those by hand `choices_added`: which add an error."""
        return [{**one, **self._of(one)} for one in results]

    def _of(self, result: Result) -> dict[str, object]:
        sound, was_sound = self._kept.get(_key(result, _shown(result)), (None, None))
        if "choices" not in result:
            return {"sound": sound, "was_sound": was_sound}
        added = [one for one in result["choices"] if self._kept.get(_key(result, one), (None, None))[1]]
        return {"sound": sound, "was_sound": was_sound, "choices_added": added}


def _answers(results: Sequence[Result]) -> Iterator[tuple[Result, str]]:
    """All that was shown, language by language."""
    for result in sorted(results, key=lambda one: (one["hole"]["language"], one["hole"]["path"])):
        for answer in {_shown(result): None, **dict.fromkeys(result.get("choices", []))}:
            if answer and result["hole"]["language"] in CHECKS:
                yield result, answer


def _shown(result: Result) -> str:
    return result["answer"] if result["silence"] is None else ""


def _key(result: Result, answer: str) -> str:
    hole = result["hole"]
    return json.dumps([hole["path"], hole["start"], hole["end"], answer])


def _opinion(hole: dict[str, Any], answer: str) -> tuple[bool | None, bool | None]:
    path, check = Path(hole["path"]), CHECKS[hole["language"]]
    if not _is_sound(hole["language"], path):
        return None, None
    text = path.read_bytes().decode()
    head, tail = text[: hole["start"]], text[hole["end"] :]
    if head + answer + tail == text or check(head + answer + tail, path):
        return True, None
    return False, any(check(head + name + tail, path) for name in ("", "x"))


@cache
def _is_sound(language: str, path: Path) -> bool:
    return CHECKS[language](path.read_bytes().decode(), path)
