"""Parts of a document that are to be written anew, and how a backend is asked for them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from midspan_lsp.config import Settings
from midspan_lsp.context.shape import Shape
from midspan_lsp.context.window import window
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine.text_lines import LINE_BREAK, columns, indent_of, last_line
from midspan_lsp.types import InfillRequest, Span

MOST_OTHERS = 3
"""Ways to write a part that are offered."""
MOST_CHARACTERS = 1500
"""Of such a part; a longer one is more than the model can write."""
ANY = 1e-6
"""As the least probability: whoever asks for this very place gets the best there is."""


@dataclass(frozen=True)
class Gap:
    """One of them.

    Attributes:
        span: what goes, in code points.
        shape: of what comes.
        lead: what stands in front of it.
    """

    span: Span
    shape: Shape
    lead: str = ""

    def emptied(self, snapshot: DocumentSnapshot) -> tuple[DocumentSnapshot, int]:
        """The document with nothing there, and the offset at which it is to be filled."""
        text = snapshot.text
        text = text[: self.span.start] + self.lead + text[self.span.end :]
        return replace(snapshot, text=text), self.span.start + len(self.lead)

    def filled(self, text: str, middle: str) -> str:
        """The document's text with a middle in it."""
        return text[: self.span.start] + self.lead + middle + text[self.span.end :]


@dataclass(frozen=True)
class Rewrite:
    """A document's text with parts of it written anew.

    Attributes:
        before: as it was.
        after: as it would be.
        middles: what was written, in order.
        probability: that all of it is right, as far as the backend knows.
        n_gaps: how much there was to write; more than there are middles if some could not be.
    """

    before: str
    after: str
    middles: tuple[str, ...]
    probability: float
    n_gaps: int = 1


def stretch(text: str, span: Span, *, more_lines: int = 0) -> Gap:
    """A gap where a text stands, without the white space around it; what comes is indented as what goes.

    Args:
        text: the document.
        span: of the text.
        more_lines: so many may come beyond those that go.
    """
    part = text[span.start : span.end]
    start = span.start + len(part) - len(part.lstrip())
    inner = Span(start, max(start, span.start + len(part.rstrip())))
    lines = LINE_BREAK.split(last_line(text[:start]) + text[start : inner.end])
    least = min((columns(indent_of(line)) for line in lines if line.strip()), default=0)
    n_lines = len(lines) + (more_lines if len(lines) > 1 else 0)
    return Gap(inner, Shape(n_lines, least if n_lines > 1 else None))


def request_for(gap: Gap, snapshot: DocumentSnapshot, settings: Settings, n_candidates: int = 1) -> InfillRequest:
    """What a backend is asked for a gap."""
    emptied, offset = gap.emptied(snapshot)
    prefix, suffix = window(emptied.text, offset, settings.context)
    shape = gap.shape
    return InfillRequest(
        prefix, suffix, snapshot.language_id, shape.max_lines, shape.min_indent, ANY, n_candidates=n_candidates
    )


def says_the_same(one: str, other: str) -> bool:
    """Whether two middles differ in white space at most."""
    return "".join(one.split()) == "".join(other.split())
