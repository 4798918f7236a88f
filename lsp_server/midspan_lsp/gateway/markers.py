"""Prompts in which marks of a model's own tell prefix from suffix. Pure.

Clients of completion servers write them for the model they expect; here each is taken apart again. The marks are those
of Zed's `crates/edit_prediction/src/fim.rs` (2026-08) and of the models' own documentation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Markers:
    """How one family of models is asked.

    Attributes:
        prefix: stands before the prefix.
        suffix: stands before the suffix.
        middle: ends the prompt; empty where nothing does.
        suffix_first: the suffix stands before the prefix.
    """

    prefix: str
    suffix: str
    middle: str
    suffix_first: bool = False


@dataclass(frozen=True)
class Parts:
    """A prompt taken apart; `path` is that of the file, where the prompt names it."""

    prefix: str
    suffix: str
    path: str = ""


FAMILIES: dict[str, Markers] = {
    "qwen": Markers("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),  # also code_gemma
    "star_coder": Markers("<fim_prefix>", "<fim_suffix>", "<fim_middle>"),
    "code_llama": Markers("<PRE> ", " <SUF>", " <MID>"),
    "deepseek_coder": Markers("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"),
    "codestral": Markers("[PREFIX]", "[SUFFIX]", "", suffix_first=True),
    "glm": Markers("<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"),
    "seed_coder": Markers("<[fim-prefix]>", "<[fim-suffix]>", "<[fim-middle]>", suffix_first=True),
}

# before the marks some clients put other files of the project, each under its path
_FILE = re.compile(r"<(?:\|file_sep\||file_sep|filename)>([^\n<>|]{1,1024})\n")


def split_prompt(prompt: str) -> Parts | None:
    """Prefix and suffix of a prompt with marks; None if it has none.

    The text itself may contain marks: the first mark of the prefix counts and the last of the suffix and the middle.
    """
    for markers in FAMILIES.values():
        parts = _split_suffix_first(prompt, markers) if markers.suffix_first else _split(prompt, markers)
        if parts is not None:
            return parts
    return None


def _split(prompt: str, markers: Markers) -> Parts | None:
    before, found, rest = prompt.partition(markers.prefix)
    if not found or not rest.rstrip().endswith(markers.middle.strip()):
        return None
    prefix, found, suffix = rest[: rest.rindex(markers.middle.strip())].rpartition(markers.suffix)
    if not found:
        return None
    paths = _FILE.findall(before)
    # the mark of the middle may begin with a blank that belongs to it, not to the suffix
    blank = markers.middle[: len(markers.middle) - len(markers.middle.lstrip())]
    return Parts(prefix, suffix.removesuffix(blank), paths[-1] if paths else "")


def _split_suffix_first(prompt: str, markers: Markers) -> Parts | None:
    if not prompt.startswith(markers.suffix) or not prompt.endswith(markers.middle):
        return None
    rest = prompt[len(markers.suffix) : len(prompt) - len(markers.middle)]
    suffix, found, prefix = rest.partition(markers.prefix)
    return Parts(prefix, suffix) if found else None
