"""What a client asks and what it is answered, whatever its dialect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from midspan_lsp.types import InfillStats


def as_it_is(middle: str) -> str:
    """What most clients expect of a middle: the middle."""
    return middle


@dataclass(frozen=True)
class FimQuestion:
    """A middle that is asked for.

    Attributes:
        prefix: text before it.
        suffix: text behind it.
        path: the file's, as far as the client tells; "" where it does not.
        language_id: as an editor names it; "" where the client does not tell.
        max_tokens: longer middles are cut; None: no such bound.
        stop: the middle ends before the first of these.
        model: how the client calls the model; it is told the same name.
        streams: the client wants events.
        wants_drafts: with the drafts among them.
        fields: parts of the reply that are wanted; None: all.
        render: what the client expects in the place of a middle that is not empty.
    """

    prefix: str
    suffix: str
    path: str = ""
    language_id: str = ""
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    model: str = "midspan"
    streams: bool = False
    wants_drafts: bool = False
    fields: tuple[str, ...] | None = None
    render: Callable[[str], str] = field(default=as_it_is, compare=False)


@dataclass(frozen=True)
class FimAnswer:
    """What a client is answered.

    Attributes:
        text: as the client expects it; empty if there is nothing to insert.
        finish: why the middle ends.
        n_prompt_tokens: about how many tokens were asked.
        n_tokens: about how many the middle has.
        probability: of the middle's being right.
        stats: what it cost.
    """

    text: str
    finish: Literal["stop", "length"] = "stop"
    n_prompt_tokens: int = 0
    n_tokens: int = 0
    probability: float = 0.0
    stats: InfillStats = field(default_factory=InfillStats)
