"""How families of models are told in one text where the middle is: so servers are asked, and the gateway is. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from midspan_lsp.backend_settings import MarkerName


@dataclass(frozen=True)
class Markers:
    """A family's markers.

    Attributes:
        before_prefix: stands before the prefix.
        before_suffix: stands before the suffix.
        before_middle: stands at the end.
        suffix_first: the suffix stands before the prefix.
        ends: other texts at which such a model ends.
    """

    before_prefix: str
    before_suffix: str
    before_middle: str
    suffix_first: bool = False
    ends: tuple[str, ...] = ()


MARKERS: dict[MarkerName, Markers] = {
    MarkerName.QWEN: Markers("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", ends=("<|endoftext|>",)),
    MarkerName.CODEGEMMA: Markers("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", ends=("<|file_separator|>",)),
    MarkerName.STARCODER: Markers("<fim_prefix>", "<fim_suffix>", "<fim_middle>", ends=("<|endoftext|>",)),
    MarkerName.CODELLAMA: Markers("<PRE> ", " <SUF>", " <MID>", ends=("<EOT>",)),
    MarkerName.DEEPSEEK: Markers("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"),
    MarkerName.CODESTRAL: Markers("[PREFIX]", "[SUFFIX]", "", suffix_first=True),
    MarkerName.GLM: Markers("<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>", ends=("<|endoftext|>",)),
    MarkerName.SEEDCODER: Markers("<[fim-prefix]>", "<[fim-suffix]>", "<[fim-middle]>", suffix_first=True),
}
"""As Zed's `crates/edit_prediction/src/fim.rs` (2026-08) and the models' own papers have them."""


def marked_prompt(prefix: str, suffix: str, name: MarkerName) -> str:
    """Both texts in one, with the place of the middle at the end."""
    markers = MARKERS[name]
    if markers.suffix_first:
        return f"{markers.before_suffix}{suffix}{markers.before_prefix}{prefix}{markers.before_middle}"
    return f"{markers.before_prefix}{prefix}{markers.before_suffix}{suffix}{markers.before_middle}"


def marker_stops(name: MarkerName) -> tuple[str, ...]:
    """Where the answer to such a prompt ends: at whatever is no code of the user's."""
    markers = MARKERS[name]
    return (*markers.ends, markers.before_prefix.strip(), markers.before_suffix.strip())
