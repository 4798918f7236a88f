"""Zed's prompts `zeta2` and `zeta2_1`: the answer is a region of the file, written anew. Pure.

As of Zed's `crates/zeta_prompt` (2026-07), formats V0211SeedCoder and V0318SeedMultiRegions.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

_SUFFIX, _PREFIX, _MIDDLE, _FILE = "<[fim-suffix]>", "<[fim-prefix]>", "<[fim-middle]>", "<filename>"
_CURSOR = "<|user_cursor|>"
_START, _SEPARATOR, _END = "<<<<<<< CURRENT\n", "=======\n", ">>>>>>> UPDATED\n"
_MARKER = re.compile(r"<\|marker_(\d+)\|>")
_END_OF_SENTENCE = "<[end▁of▁sentence]>"
_FILE_HEAD = re.compile(r"(?:\A|\n)<filename>([^\n]*)\n")


@dataclass(frozen=True)
class Rewrite:
    """A region to be written anew, as a middle to be filled in.

    Attributes:
        prefix: all text before the cursor.
        suffix: all text behind it.
        path: of the file.
        before: what stands before the middle in the answer.
        after: what stands behind it.
    """

    prefix: str
    suffix: str
    path: str
    before: str
    after: str

    def render(self, middle: str) -> str:
        """The answer: the whole region with the middle in it, since what is left out would be deleted."""
        return self.before + middle + self.after


def split_zeta(prompt: str) -> Rewrite | None:
    """The region and what surrounds it; None if it is no such prompt."""
    if not prompt.startswith(_SUFFIX) or not prompt.endswith(_MIDDLE) or _CURSOR not in prompt:
        return None
    suffix, found, rest = prompt[len(_SUFFIX) : -len(_MIDDLE)].partition("\n" + _PREFIX)
    heads = list(_FILE_HEAD.finditer(rest))
    if not found or not heads:
        return None
    text, path = rest[heads[-1].end() :], heads[-1][1]
    return _merge_region(text, suffix, path) or _marker_region(text, suffix, path)


def _merge_region(text: str, suffix: str, path: str) -> Rewrite | None:
    """The region between marks like those of a merge conflict."""
    head, found, region = text.partition(_START)
    if not found or not region.endswith(_SEPARATOR):
        return None
    before, found, after = region[: -len(_SEPARATOR)].partition(_CURSOR)
    return Rewrite(head + before, after + suffix, path, before, after + _END) if found else None


def _marker_region(text: str, suffix: str, path: str) -> Rewrite | None:
    """The region between numbered marks; only the part with the cursor is written anew."""
    marks = list(_MARKER.finditer(text))
    if len(marks) < 2:
        return None
    plain = "".join(text[a.end() : b.start()] for a, b in itertools.pairwise(marks))
    head, tail = text[: marks[0].start()], plain + suffix
    for left, right in itertools.pairwise(marks):
        before, found, after = text[left.end() : right.start()].partition(_CURSOR)
        if found:
            cursor = plain.index(_CURSOR)
            answer = left[0] + before, after + right[0] + _END_OF_SENTENCE
            return Rewrite(head + plain[:cursor], tail[cursor + len(_CURSOR) :], path, *answer)
    return None
