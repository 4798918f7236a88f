"""One question while it is answered."""

from __future__ import annotations

from dataclasses import dataclass, field

from midspan_model.canvas import Canvas
from midspan_model.context_encoding import Cost
from midspan_model.denoising.loop import StopSignal
from midspan_model.ending import find_end
from midspan_model.kv_cache import ContextCache
from midspan_model.questions import OnDraft, Question


@dataclass(frozen=True)
class Task:
    """What goes through all stages.

    Attributes:
        question: what is asked.
        stop: asked before each forward.
        on_draft: told of each forward.
        canvas: the known tokens around the middle.
        cache: of the context.
        floor: no confidence below it is wanted.
        cost: so far.
    """

    question: Question
    stop: StopSignal
    on_draft: OnDraft | None
    canvas: Canvas
    cache: ContextCache
    floor: float
    cost: Cost = field(default_factory=Cost)

    def ends(self, text: str) -> bool:
        """Whether the middle is complete with this text."""
        return find_end(text, self.question.max_lines, self.question.min_indent) is not None

    def cut(self, text: str) -> str:
        """The text up to its end."""
        return text[: find_end(text, self.question.max_lines, self.question.min_indent)]

    def stopped(self) -> bool:
        """Whether no forward is to follow."""
        return self.stop.cancelled() or self.stop.expired()
