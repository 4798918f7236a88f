"""What an infiller is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from midspan_model.calibration import Features
from midspan_model.context_encoding import Cost
from midspan_model.denoising.block import Finish
from midspan_model.growth import Draft

OnDraft = Callable[[int, list[tuple[str | None, bool]]], None]
"""Called after each forward: how many so far, and each slot's text (None: masked) and whether it is fresh."""

Ahead = Callable[[str], str]
"""How a middle that begins with this text may go on; "" where nobody knows. Asked between forwards."""


@dataclass(frozen=True)
class Proposal:
    """A middle that somebody else proposes.

    Attributes:
        text: of it.
        score: its chance to be right, as they see it; 0 to 1.
    """

    text: str
    score: float = 0.0


@dataclass(frozen=True)
class Recalled:
    """What somebody else knows of a place.

    Attributes:
        proposals: middles, the best first.
        neighbour: lines of another place that are like those before it.
        ahead: knows how a middle goes on.
    """

    proposals: tuple[Proposal, ...] = ()
    neighbour: str = ""
    ahead: Ahead | None = None


@dataclass(frozen=True)
class Question:
    """What is asked: the texts on both sides, and how far the middle may go.

    Attributes:
        prefix: text before the cursor.
        suffix: text after it.
        max_lines: the middle ends at this many line breaks.
        min_indent: it ends before a line indented by fewer columns.
        least: a middle less likely to be right than this is not wanted, and may stop as soon as it is.
        language_id: as an editor names it, or "".
        proposals: middles from elsewhere, the best first; each is an answer if the model finds none that is likelier.
        neighbour: lines of another place that are like the prefix, to be read in front of it.
        draft: an earlier answer to the same question, to be mended.
        n_candidates: so many different middles are wanted; more than one cost forwards of their own.
        ahead: knows how a middle goes on; changes the number of forwards only.
    """

    prefix: str
    suffix: str
    max_lines: int = 1
    min_indent: int | None = None
    least: float = 0.0
    language_id: str = ""
    proposals: tuple[Proposal, ...] = ()
    neighbour: str = ""
    draft: Draft | None = None
    n_candidates: int = 1
    ahead: Ahead | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Middle:
    """What was filled in.

    Attributes:
        text: the middle.
        confidence: product of the slots' confidences and the end's; no probability of being right.
        probability: of being exactly right, as the calibrator has it; without one the confidence.
        features: what the calibrator goes by.
        token_ids: its tokens; the first ones may reproduce characters before the cursor.
        spans: for each token the code points of `text` it stands for.
        confidences: for each token the confidence it was committed with.
        finish: why it ends here.
        proposal: which proposal it is; None if it is the model's own.
        cost: forwards and context tokens.
        elapsed_ms: wall time.
        others: text and features of the middles that were less likely, for fitting a calibrator.
        rivals: of these, those that came to their end and say something else, the likeliest first.
    """

    text: str
    confidence: float
    probability: float
    features: Features
    token_ids: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]
    confidences: tuple[float, ...]
    finish: Finish
    proposal: int | None
    cost: Cost
    elapsed_ms: float
    others: tuple[tuple[str, Features], ...] = field(default=())
    rivals: tuple[Middle, ...] = field(default=())
