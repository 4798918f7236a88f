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
        repeats: whether it is the next line once more.
        names_block: whether it begins with a word that names something new, as `def`.
        same_step: whether the line there is indented against the one above as the cursor's is.
        at_line_start: whether the cursor stands before the line's first character.
        n_heal: characters of the unfinished word, which all candidates agree with.
        n_text: characters of it.
        n_words: names and numbers in it.
        n_unknown: those of them that do not stand around the cursor.
        stands_near: whether the line that it would make already stands around the cursor.
        distance: lines between the cursor and its best place, in the same file.
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
    repeats: bool
    names_block: bool
    same_step: bool
    at_line_start: bool
    n_heal: int
    n_text: int
    n_words: int
    n_unknown: int
    stands_near: bool
    distance: int


_WEIGHTS = (-4.6, 0.068, 0.203, -0.284, -0.086, 0.03, 1.142, 2.211, 0.286, 0.515, 0.018, 0.696, -0.09, 0.041, -0.644, 0.0, -0.4, -0.2, 0.2, 0.0, 0.0, 0.0, 0.0, -5.024, -0.592, -0.301, 1.021, -0.115, 0.114)


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
        math.log1p(evidence.n_words),
        math.log1p(evidence.n_unknown),
        evidence.n_unknown / max(1, evidence.n_words),
        float(evidence.n_unknown == 0),
        float(evidence.stands_near),
        float(evidence.stands_near and evidence.at_line_start),
        1 / (1 + evidence.distance) if evidence.same_file else 0.0,
        math.log1p(min(evidence.distance, 1000)) if evidence.same_file else 0.0,
        float(evidence.repeats),
        float(evidence.names_block and evidence.same_file),
        math.log1p(evidence.behind),
        evidence.share * math.log1p(evidence.n_agreeing),
        math.sqrt(min(evidence.depth, 18) * min(evidence.n_suffix, 12)),
        float(evidence.n_suffix >= 6),
    )


def score(evidence: Evidence) -> float:
    """About the chance that the text is what was wanted, 0 to 1."""
    weighed = sum(weight * value for weight, value in zip(_WEIGHTS, features(evidence), strict=True))
    return 1 / (1 + math.exp(-weighed))
