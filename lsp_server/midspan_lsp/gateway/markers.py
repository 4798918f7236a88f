"""Prompts in which marks of a model's own tell prefix from suffix. Pure.

Clients of completion servers write them for the model they expect; here each is taken apart again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from midspan_lsp.backends.http.markers import MARKERS, Markers


@dataclass(frozen=True)
class Parts:
    """A prompt taken apart; `path` is that of the file, where the prompt names it."""

    prefix: str
    suffix: str
    path: str = ""


# before the marks some clients put other files of the project, each under its path
_FILE = re.compile(r"<(?:\|file_sep\||file_sep|filename)>([^\n<>|]{1,1024})\n")


def split_prompt(prompt: str) -> Parts | None:
    """Prefix and suffix of a prompt with marks; None if it has none.

    The text itself may contain marks: the first mark of the prefix counts and the last of the suffix and the middle.
    """
    for markers in MARKERS.values():
        parts = _split_suffix_first(prompt, markers) if markers.suffix_first else _split(prompt, markers)
        if parts is not None:
            return parts
    return None


def _split(prompt: str, markers: Markers) -> Parts | None:
    before, found, rest = prompt.partition(markers.before_prefix)
    if not found or not rest.rstrip().endswith(markers.before_middle.strip()):
        return None
    prefix, found, suffix = rest[: rest.rindex(markers.before_middle.strip())].rpartition(markers.before_suffix)
    if not found:
        return None
    paths = _FILE.findall(before)
    # the mark of the middle may begin with a blank that belongs to it, not to the suffix
    blank = markers.before_middle[: len(markers.before_middle) - len(markers.before_middle.lstrip())]
    return Parts(prefix, suffix.removesuffix(blank), paths[-1] if paths else "")


def _split_suffix_first(prompt: str, markers: Markers) -> Parts | None:
    if not prompt.startswith(markers.before_suffix) or not prompt.endswith(markers.before_middle):
        return None
    rest = prompt[len(markers.before_suffix) : len(prompt) - len(markers.before_middle)]
    suffix, found, prefix = rest.partition(markers.before_prefix)
    return Parts(prefix, suffix) if found else None
