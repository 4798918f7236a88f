"""How likely a retrieved text is the wanted one: a logistic function of a handful of figures. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Evidence:
    """What speaks for one text.

    Attributes:
        depth: tokens before the cursor that agree at its best place, names renamed.
        literal: those that agree as they are.
        n_names: names that were renamed.
        behind: by how many tokens another text's match is longer.
        n_suffix: tokens behind it that agree with those behind the cursor.
        share: of the places with as long a match, those that go on with it.
        n_agreeing: their number.
        same_file: whether one of its places is in the cursor's document.
        renamed: whether the text has renamed names.
        same_step: whether the line there is indented against the one above as the cursor's is.
        at_line_start: whether the cursor stands before the line's first character.
        n_heal: characters of the unfinished word, which all candidates agree with.
        n_text: characters of it.
        meets: whether it ends exactly where the rest of the cursor's line begins.
        rest: whether there is such a rest.
    """

    depth: int
    literal: int
    n_names: int
    behind: int
    n_suffix: int
    share: float
    n_agreeing: int
    same_file: bool
    renamed: bool
    same_step: bool
    at_line_start: bool
    n_heal: int
    n_text: int
    meets: bool
    rest: bool


_WEIGHTS = (-3.0, 0.2, 0.6, -0.3, -0.3, 0.2, 0.6, 1.5, 0.3, 0.5, -0.3, 0.3, 0.0, 0.1, -0.2, 0.3, 0.0)


def features(evidence: Evidence) -> tuple[float, ...]:
    """What is weighed: one number a weight."""
    return (
        1.0,
        min(evidence.depth, 18),
        math.log1p(evidence.literal),
        min(evidence.n_names, 4),
        min(evidence.behind, 8),
        min(evidence.n_suffix, 12),
        math.log1p(evidence.n_suffix),
        evidence.share,
        math.log1p(evidence.n_agreeing),
        float(evidence.same_file),
        float(evidence.renamed),
        float(evidence.same_step),
        float(evidence.at_line_start),
        min(evidence.n_heal, 8),
        math.log1p(evidence.n_text),
        float(evidence.meets),
        float(evidence.rest),
    )


def score(evidence: Evidence) -> float:
    """About the chance that the text is what was wanted, 0 to 1."""
    weighed = sum(weight * value for weight, value in zip(_WEIGHTS, features(evidence), strict=True))
    return 1 / (1 + math.exp(-weighed))
