"""What is answered of the middles that competed."""

from __future__ import annotations

from dataclasses import replace

from midspan_model.candidates import Candidate, Candidates
from midspan_model.questions import Middle
from midspan_model.task import Task


def answer_of(task: Task, candidates: Candidates, best: Candidate, elapsed_ms: float) -> Middle:
    """The best one, and those that it was likelier than."""
    others = [one for one in candidates.found if one is not best]
    ranked = [one for one in candidates.ranked() if one is not best and one.growth.is_healed]
    middle, *rivals = (_middle(task, candidates, one, elapsed_ms) for one in (best, *ranked))
    texts, different = {middle.text, ""}, list[Middle]()
    for rival in rivals:  # the same may be said in other tokens
        if rival.text not in texts:
            texts.add(rival.text)
            different.append(rival)
    features = ((one.growth.spell()[0], candidates.features(one)) for one in others)
    return replace(middle, others=tuple(features), rivals=tuple(different))


def _middle(task: Task, candidates: Candidates, one: Candidate, elapsed_ms: float) -> Middle:
    growth = one.growth
    text, spans = growth.spell()
    end = len(task.cut(text))
    return Middle(
        text=text[:end],
        confidence=growth.confidence,
        probability=candidates.probability(one),
        features=candidates.features(one),
        token_ids=tuple(growth.token_ids),
        spans=tuple((min(a, end), min(b, end)) for a, b in spans),
        confidences=tuple(growth.confidences),
        finish=one.finish,
        proposal=one.proposal,
        cost=task.cost,
        elapsed_ms=elapsed_ms,
    )
