"""The values that pass between the stages. All text offsets are code points."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from midspan_lsp.cancellation import CancellationToken as CancellationToken  # noqa: PLC0414  (one of the values)


class Trigger(Enum):
    """Why a suggestion is asked for: while typing, by hand, or as an item of the completion menu."""

    AUTOMATIC = "automatic"
    INVOKED = "invoked"
    MENU = "menu"


@dataclass(frozen=True)
class Span:
    """A half-open range of code points."""

    start: int
    end: int


@dataclass(frozen=True)
class Edit:
    """A span of a document and the text that is to stand there instead."""

    span: Span
    text: str


@dataclass(frozen=True)
class Source:
    """A place in the project.

    Attributes:
        path: of the file, or its uri where it has none.
        line: from 0.
    """

    path: str
    line: int


@dataclass(frozen=True)
class Proposal:
    """A middle from elsewhere in the project.

    Attributes:
        text: the middle itself.
        score: about the chance that it is wanted, 0 to 1.
        source_path: file it is from, or its uri where it has no file.
        source_line: line there, from 0, on which it begins.
    """

    text: str
    score: float
    source_path: str
    source_line: int


@dataclass(frozen=True)
class Draft:
    """An earlier middle of the same request, some of whose slots are to be denoised again.

    With none of them masked it is only to be told how likely the middle is.

    Attributes:
        token_ids: the backend's tokens of the draft.
        confidences: with which they were committed.
        remask: slots, as indices into `token_ids`, to mask again; `len(token_ids)` stands for the end.
        banned: by slot the tokens that were rejected there so far.
        unfinished: slots at which the middle may not end, up to and with `len(token_ids)`.
    """

    token_ids: tuple[int, ...]
    confidences: tuple[float, ...]
    remask: frozenset[int]
    banned: Mapping[int, frozenset[int]] = field(default_factory=dict[int, frozenset[int]])
    unfinished: frozenset[int] = frozenset()


@dataclass(frozen=True)
class InfillRequest:
    """What a backend is asked: fill the middle between two texts.

    Attributes:
        prefix: text before the cursor, already cut to the context window.
        suffix: text after the cursor, likewise.
        language_id: the editor's language id, or "" where unknown.
        max_lines: the middle ends at this many line breaks (1: it stays on the cursor's line).
        min_indent: with several lines, the middle ends before a line indented by fewer columns; None: no such end.
        least: a middle less likely to be right than this is not wanted; the backend may stop as soon as it knows.
        draft: an earlier answer to mend, instead of a page of masks.
        proposals: middles from elsewhere, best first; beside a draft they only tell what it competes with.
        neighbour: lines of the project that are like those before the cursor.
        is_private: the document looks like one that holds secrets: none of it leaves this machine.
        n_candidates: so many different middles are wanted; only for more than one the backend does more than for one.
        ahead: how a middle that begins with this text may go on, as the project has it, or ""; from any thread, and
            soon. It may save a backend forwards, and changes nothing else.
    """

    prefix: str
    suffix: str
    language_id: str = ""
    max_lines: int = 1
    min_indent: int | None = None
    least: float = 0.0
    draft: Draft | None = None
    proposals: tuple[Proposal, ...] = ()
    neighbour: str = ""
    is_private: bool = False
    n_candidates: int = 1
    ahead: Callable[[str], str] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Candidate:
    """One middle.

    Attributes:
        text: the middle itself.
        probability: of being right, 0 to 1, as far as the backend knows it.
        token_ids: the backend's tokens, if it can re-mask; they may reproduce characters before the cursor.
        token_spans: for each token the code points of `text` it stands for (empty where it stands before it).
        confidences: for each token the confidence with which it was committed.
        finish_reason: why it ends here.
        proposal: which of the request's proposals it is; None: the model's own.
    """

    text: str
    probability: float
    token_ids: tuple[int, ...] = ()
    token_spans: tuple[Span, ...] = ()
    confidences: tuple[float, ...] = ()
    finish_reason: Literal["end", "line", "length", "unsure", "deadline", "cancelled"] = "end"
    proposal: int | None = None


@dataclass(frozen=True)
class InfillStats:
    """What an answer cost.

    Attributes:
        n_forwards: denoiser forwards (the papers' NFE).
        n_encoded_tokens: context tokens that had to be encoded.
        n_cached_tokens: context tokens taken from the KV cache.
        elapsed_ms: wall time in the backend, waiting for its worker not included.
    """

    n_forwards: int = 0
    n_encoded_tokens: int = 0
    n_cached_tokens: int = 0
    elapsed_ms: float = 0.0

    def __add__(self, other: InfillStats) -> InfillStats:
        """What both cost."""
        return InfillStats(
            self.n_forwards + other.n_forwards,
            self.n_encoded_tokens + other.n_encoded_tokens,
            self.n_cached_tokens + other.n_cached_tokens,
            self.elapsed_ms + other.elapsed_ms,
        )


@dataclass(frozen=True)
class InfillResponse:
    """A backend's answer.

    Attributes:
        candidates: different middles, best first; none if cancelled.
        stats: their cost.
        later: a better answer that may still come; it ends by itself, without candidates if none comes. None: no such.
    """

    candidates: tuple[Candidate, ...] = ()
    stats: InfillStats = field(default_factory=InfillStats)
    later: Awaitable[InfillResponse] | None = field(default=None, compare=False)


@dataclass(frozen=True)
class SlotView:
    """One slot of a block while it is denoised: its text (None while masked) and whether this forward set it."""

    text: str | None
    fresh: bool


StepObserver = Callable[[int, tuple[SlotView, ...]], None]
"""Called after each forward with the number of forwards so far and the whole middle as it stands."""


class Verdict(Enum):
    """What the syntax gate says of a middle."""

    VALID = "valid"
    BROKEN = "broken"
    NO_OPINION = "no opinion"


@dataclass(frozen=True)
class SyntaxReport:
    """The gate's verdict, and where the new faults lie.

    Attributes:
        verdict: `BROKEN` only for faults that the document did not have before.
        error_spans: the new faults within the middle, as code points of the middle; empty spans are places.
    """

    verdict: Verdict
    error_spans: tuple[Span, ...] = ()


@dataclass(frozen=True)
class Suggestion:
    """What becomes an item of the editor.

    Attributes:
        text: replaces `replace`.
        replace: span of the document, on the cursor's line.
        probability: as of the candidate.
        verdict: the syntax gate's.
        stats: cost of all backend calls for it.
        source: where in the project it is from; None: the model's own.
    """

    text: str
    replace: Span
    probability: float
    verdict: Verdict
    stats: InfillStats
    source: Source | None = None
