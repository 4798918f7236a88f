"""Drafts that are mended, and middles to choose from, with real classes at tiny size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from midspan_model.branching import likeliest_branches
from midspan_model.calibration import Calibrator
from midspan_model.denoising.block import Finish
from midspan_model.denoising.constraints import Constraints
from midspan_model.growth import Draft
from midspan_model.infilling import Infiller
from midspan_model.questions import Middle, Proposal, Question
from midspan_model.tokenizer import Tokenizer
from midspan_model.typewriter import Typewriter
from tiny_model import MODEL, Stop, tiny_infiller

PREFIX = "def first(a, b):\n    return a\n\n\ndef second(x):\n    return fi"
SUFFIX = "(x)\n\nprint(second(3))\n"
END = MODEL.end_id


@lru_cache
def shared(folder: Path) -> Infiller:
    """Random weights are sure of nothing: by this calibrator all their middles are about as likely."""
    infiller = tiny_infiller(folder)
    infiller.calibrator = Calibrator(0.0, {"log_confidence": 0.01, "typed": 0.2})
    return infiller


def ask(infiller: Infiller, question: Question) -> Middle:
    middle = infiller.infill(question, Stop())
    assert middle is not None
    return middle


def draft_of(infiller: Infiller, text: str) -> Draft:
    """A draft as if the model had given it, with what is healed in front."""
    healed = infiller.canvas(Question(PREFIX, SUFFIX)).healed.decode()
    ids = tuple(infiller.tokenizer.encode(healed + text))
    return Draft(ids, (0.5,) * len(ids), frozenset())


def places(draft: Draft, *wanted: int) -> frozenset[int]:
    """Counted from the end: -1 is the last token, 0 the end itself."""
    return frozenset(len(draft.token_ids) + place for place in wanted)


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(0, 255)), max_size=12), st.integers(1, 50))
@settings(deadline=None, max_examples=40)
def test_what_is_banned_is_not_taken_in_its_place(
    tiny_checkpoint: Path, bans: list[tuple[int, int]], max_lines: int
) -> None:
    infiller = shared(tiny_checkpoint)
    draft = draft_of(infiller, "rst+x")
    banned: dict[int, frozenset[int]] = {}
    for back, token in bans:
        place = len(draft.token_ids) - back
        if place >= 0:
            banned[place] = banned.get(place, frozenset()) | {MODEL.n_special + token}
    draft = replace(draft, remask=frozenset(range(2, len(draft.token_ids) + 1)), banned=banned)
    mended = ask(infiller, Question(PREFIX, SUFFIX, max_lines=max_lines, draft=draft))
    there = dict(enumerate(mended.token_ids))
    assert all(there.get(place) not in ids for place, ids in banned.items() if place >= 2)
    assert mended.token_ids[:2] == draft.token_ids[:2]


def test_bans_of_all_rounds_hold_and_each_gives_another_token(tiny_checkpoint: Path) -> None:
    infiller = shared(tiny_checkpoint)
    draft = draft_of(infiller, "rst")
    place = len(draft.token_ids) - 1
    seen: list[int] = []
    for _ in range(4):
        banned = {place: frozenset(seen)}
        mended = ask(infiller, Question(PREFIX, SUFFIX, draft=replace(draft, remask=places(draft, -1), banned=banned)))
        token_id = mended.token_ids[place] if place < len(mended.token_ids) else END
        assert token_id not in seen
        seen.append(token_id)
    assert len(set(seen)) == 4


def test_the_end_stays_unless_it_is_masked(tiny_checkpoint: Path) -> None:
    infiller = shared(tiny_checkpoint)
    draft = draft_of(infiller, "rst+x")
    kept = ask(infiller, Question(PREFIX, SUFFIX, max_lines=50, draft=replace(draft, remask=places(draft, -2))))
    assert len(kept.token_ids) <= len(draft.token_ids)
    open_end = replace(draft, remask=places(draft, 0), unfinished=places(draft, 0))
    longer = ask(infiller, Question(PREFIX, SUFFIX, max_lines=50, draft=open_end))
    assert len(longer.token_ids) > len(draft.token_ids)
    assert longer.token_ids[: len(draft.token_ids)] == draft.token_ids


def test_a_middle_that_may_not_end_there_does_not_end_its_line_there_either(tiny_checkpoint: Path) -> None:
    infiller = shared(tiny_checkpoint)
    draft = draft_of(infiller, "rst")
    draft = replace(draft, remask=places(draft, 0), unfinished=places(draft, 0))
    mended = ask(infiller, Question(PREFIX, SUFFIX, draft=draft))
    piece = infiller.tokenizer.token_bytes(mended.token_ids[len(draft.token_ids)])
    assert piece.strip(b" \t")[:1] not in {b"\n", b"\r"}


def test_a_long_draft_is_mended_in_its_second_block(tiny_checkpoint: Path) -> None:
    infiller = shared(tiny_checkpoint)
    draft = draft_of(infiller, "rst+xyz")
    assert len(draft.token_ids) > infiller.width
    place = len(draft.token_ids) - 2
    banned = {place: frozenset({draft.token_ids[place]})}
    mended = ask(
        infiller, Question(PREFIX, SUFFIX, max_lines=50, draft=replace(draft, remask=places(draft, -2), banned=banned))
    )
    assert mended.token_ids[:place] == draft.token_ids[:place]
    assert len(mended.token_ids) <= place or mended.token_ids[place] != draft.token_ids[place]


def test_a_mended_middle_is_as_likely_as_if_it_was_typed(tiny_checkpoint: Path) -> None:
    infiller = tiny_infiller(tiny_checkpoint)
    infiller.calibrator = Calibrator(0.0, {"typed": 1.0, "typed_log_confidence": 0.1, "rival_odds": -0.5})
    draft = draft_of(infiller, "rst")
    draft = replace(draft, remask=places(draft, -1))
    alone = ask(infiller, Question(PREFIX, SUFFIX, draft=draft))
    beside = ask(infiller, Question(PREFIX, SUFFIX, draft=draft, proposals=(Proposal("zzz", 0.9),)))
    assert alone.features["typed"] == 1.0
    assert alone.token_ids == beside.token_ids
    assert beside.probability < alone.probability, "it competes with a proposal"


def test_a_draft_of_which_nothing_is_masked_is_only_scored(tiny_checkpoint: Path) -> None:
    """So a middle that was cut has the probability of one that ends there: what the model has of its typing."""
    infiller = tiny_infiller(tiny_checkpoint)
    infiller.calibrator = Calibrator(0.0, {"log_confidence": 0.1, "log_length": -0.3})
    question = Question(PREFIX, SUFFIX)
    whole = draft_of(infiller, "rst+x")
    for n_kept in (len(whole.token_ids), len(whole.token_ids) - 2):
        ids = whole.token_ids[:n_kept]
        scored = ask(infiller, replace(question, draft=Draft(ids, (0.9,) * n_kept, frozenset())))
        assert (scored.token_ids, scored.cost.n_read) == (ids, 1)
        read = ask(infiller, replace(question, proposals=(Proposal(scored.text, 0.5),)))
        same = next(one for one in (read, *read.rivals) if one.text == scored.text)
        assert scored.probability == pytest.approx(same.probability, rel=1e-3), "as of a proposal"


def test_several_to_choose_from_are_different_and_the_best_stays(tiny_checkpoint: Path) -> None:
    infiller = shared(tiny_checkpoint)
    for end in range(12, len(PREFIX), 9):
        question = Question(PREFIX[:end], SUFFIX)
        one, several = ask(infiller, question), ask(infiller, replace(question, n_candidates=3))
        texts = [several.text, *(rival.text for rival in several.rivals)]
        assert one.rivals == ()
        assert one.text in texts
        assert len(set(texts)) == len(texts) >= 2
        assert [rival.probability for rival in several.rivals] == sorted(
            (rival.probability for rival in several.rivals), reverse=True
        )
        assert several.probability >= several.rivals[0].probability


def test_a_choice_of_one_costs_no_forward_more(tiny_checkpoint: Path) -> None:
    infiller = shared(tiny_checkpoint)
    question = Question(PREFIX, SUFFIX, proposals=(Proposal("rst", 0.3), Proposal("nd", 0.2)))
    typed = ask(infiller, question)
    assert typed.cost.n_read == ask(infiller, replace(question, n_candidates=1)).cost.n_read
    assert typed.cost.n_read < ask(infiller, replace(question, n_candidates=2)).cost.n_read
    assert {rival.text for rival in typed.rivals} | {typed.text} >= {"rst", "nd"}, "what was read anyway is told"


def test_what_was_given_up_may_have_gone_another_way(tiny_checkpoint: Path) -> None:
    infiller = tiny_infiller(tiny_checkpoint)
    infiller.calibrator = Calibrator(0.0, {"typed_log_confidence": 1.0})
    question = Question(PREFIX, SUFFIX, least=0.3)
    alone, several = ask(infiller, question), ask(infiller, replace(question, n_candidates=3))
    assert alone.finish is Finish.UNSURE
    assert alone.cost.n_forwards < several.cost.n_forwards


@pytest.mark.parametrize("n_asked", range(6))
def test_choosing_stops_within_a_forward(tiny_checkpoint: Path, n_asked: int) -> None:
    infiller = shared(tiny_checkpoint)
    question = Question(PREFIX, SUFFIX, n_candidates=3)
    whole = ask(infiller, question)
    n_until = len(whole.token_ids) + n_asked
    found = infiller.infill(question, Stop(expire_after=n_until))
    assert found is not None
    assert found.cost.n_forwards <= n_until + 1


def test_each_branch_is_typed_as_if_it_came_alone(tiny_checkpoint: Path) -> None:
    """What one branch leaves in the cache does not reach another."""
    infiller = shared(tiny_checkpoint)
    several = ask(infiller, Question(PREFIX, SUFFIX, n_candidates=4))
    canvas = infiller.canvas(Question(PREFIX, SUFFIX))
    for rival in several.rivals:
        again = tiny_infiller(tiny_checkpoint)
        with torch.inference_mode():
            cache = again.contexts.take(canvas.prefix_ids)
            again.trunk.encode_suffix(list(canvas.suffix_ids), cache)
            again.trunk.encode_prefix(list(canvas.prefix_ids[:-1]), cache)
            ids = [canvas.prefix_ids[-1], *rival.token_ids]
            logits_TV = again.denoiser.logits(again.denoiser.forward_block(ids, cache, causal=True))
            typed = Typewriter(no_forward, again.constraints, ids[0], canvas.healed).score(logits_TV, rival.token_ids)
        assert rival.confidences == pytest.approx(typed.confidences, rel=1e-3)


def no_forward(_path: Sequence[int], _n_new: int) -> torch.Tensor:
    raise AssertionError("nothing is to be typed")


def test_branches_leave_the_path_where_it_was_least_sure(tiny_checkpoint: Path) -> None:
    constraints = Constraints(Tokenizer(tiny_checkpoint / "tokenizer.json", MODEL.n_special), MODEL)
    path = [101, 102, 103, END]

    def branches(rows: Sequence[dict[int, float]], most: int) -> list[list[int]]:
        logits_TV = torch.full((len(rows), MODEL.vocab_size), -30.0)
        for row, wanted in enumerate(rows):
            for token_id, logit in wanted.items():
                logits_TV[row, token_id] = logit
        return likeliest_branches(logits_TV, path, constraints, b"", 1, most)

    rows = [{101: 9.0, 120: 3.0}, {102: 9.0, 121: 8.0, END: 7.0}, {103: 9.0, END: 5.0}, {END: 9.0, 122: 4.0}]
    assert branches(rows, 1) == [[101, 121]]
    assert branches(rows, 2) == [[101, 121], [101, END]]
    assert branches(rows, 3) == [[101, 102, END], [101, 121], [101, END]]
    assert branches([{101: 9.0, END: 8.0}, *rows[1:]], 1) == [[101, 121]], "an empty middle is none"
    path.pop()
    certain = [{101: 90.0}, {102: 90.0}, {103: 9.0, END: 5.0}, {END: 9.0, 122: 8.0}]
    assert branches(certain, 1) == [[101, 102, END]], "what is behind an unfinished path is no branch"
