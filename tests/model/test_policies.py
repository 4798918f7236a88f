"""Policies on hand-made confidences and logits."""

from __future__ import annotations

import pytest
import torch
from midspan_model.denoising.choosing import Klass, Outlook, PolicyName, Remdm, Wino, policy_of
from midspan_model.denoising.policies import (
    confident,
    divergence,
    draft_wide,
    entropy_bounded,
    factor,
    klass,
    margin,
    remask_chances,
    remask_rate,
    threshold,
    verify,
)


@pytest.mark.parametrize(
    ("confidences", "commit"),
    [
        ([0.2, 0.95, 0.3], [True, True, False]),
        ([0.2, 0.3, 0.4], [True, False, False]),
        ([0.9, 0.9, 0.8999], [True, True, False]),
        ([0.1], [True]),
    ],
)
def test_the_sure_and_the_leftmost_are_committed(confidences: list[float], commit: list[bool]) -> None:
    assert threshold(torch.tensor(confidences), threshold=0.9).tolist() == commit


@pytest.mark.parametrize(
    ("confidences", "commit"),
    [
        ([0.2, 0.95, 0.9], [False, True, True]),
        ([0.2, 0.4, 0.3], [False, True, False]),
        ([0.9], [True]),
    ],
)
def test_the_sure_or_the_best_are_committed(confidences: list[float], commit: list[bool]) -> None:
    assert confident(torch.tensor(confidences), threshold=0.9).tolist() == commit


@pytest.mark.parametrize(
    ("confidences", "commit"),
    [
        ([0.1, 0.2], [False, True]),  # the best always
        ([0.99, 0.67, 0.7], [True, False, True]),  # the second needs 1 - 1/3, the third 1 - 1/4
        ([0.99, 0.6, 0.66], [True, False, False]),
        ([0.76, 0.99, 0.8], [True, True, True]),  # 1 - 1/2, 1 - 1/3, 1 - 1/4
        ([0.74, 0.99, 0.8], [False, True, True]),  # the third falls short by itself
        ([0.3, 0.9, 0.9, 0.8], [False, True, True, True]),
    ],
)
def test_the_more_at_once_the_surer_each(confidences: list[float], commit: list[bool]) -> None:
    assert factor(torch.tensor(confidences), 1.0).tolist() == commit


def entropies(*wanted: float) -> torch.Tensor:
    """probability_MV over two tokens whose entropies are about these."""
    rows = []
    for value in wanted:
        low, high = 0.0, 0.5
        for _ in range(60):
            half = (low + high) / 2
            pair = torch.tensor([half, 1 - half])
            low, high = (half, high) if float(-torch.special.xlogy(pair, pair).sum()) < value else (low, half)
        rows.append([low, 1 - low])
    return torch.tensor(rows)


@pytest.mark.parametrize(
    ("bound", "commit"),
    [
        (0.0, [False, True, False]),  # the least uncertain always: the sum without the largest is 0
        (0.15, [True, True, False]),
        (0.35, [True, True, True]),
    ],
)
def test_entropies_add_up_to_the_bound(bound: float, commit: list[bool]) -> None:
    assert entropy_bounded(entropies(0.2, 0.1, 0.6), bound).tolist() == commit


def test_a_certain_slot_has_no_entropy() -> None:
    assert entropy_bounded(torch.tensor([[1.0, 0.0], [1.0, 0.0]]), 0.0).tolist() == [True, True]


def test_the_margin_is_the_lead_over_the_second() -> None:
    probabilities = torch.tensor([[0.5, 0.45, 0.05], [0.5, 0.1, 0.4], [0.45, 0.05, 0.05]])
    assert margin(probabilities, 0.35).tolist() == [False, False, True]
    assert margin(probabilities, 0.9).tolist() == [False, False, True]
    assert margin(probabilities, 0.06).tolist() == [False, True, True]


def test_divergence_is_kullback_and_leiblers() -> None:
    now, before = torch.tensor([[0.5, 0.5], [0.2, 0.8]]), torch.tensor([[0.25, 0.75], [0.2, 0.8]])
    assert divergence(now, before).tolist() == pytest.approx([0.5 * (0.6931 - 0.4055), 0.0], abs=1e-3)
    assert torch.isfinite(divergence(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]]))).all()


def test_klass_wants_what_is_sure_and_stable() -> None:
    confidence = torch.tensor([0.95, 0.95, 0.5, 0.6])
    changes = torch.tensor([[0.001, 0.002], [0.001, 0.5], [0.0, 0.0], [torch.inf, torch.inf]])
    assert klass(confidence, changes, 0.9, 0.01).tolist() == [True, False, False, False]
    assert klass(confidence[1:], changes[1:], 0.9, 0.01).tolist() == [True, False, False]


def look(*confidences: float, written: dict[int, float] | None = None, slots: list[int] | None = None) -> Outlook:
    best = torch.tensor(confidences)
    slots = slots or list(range(1, 1 + len(confidences)))
    written = written or {}
    return Outlook(slots, torch.stack([best, 1 - best], 1), best, list(written), torch.tensor(list(written.values())))


def test_klass_remembers_the_slots_it_saw() -> None:
    policy = Klass(0.9, bound=0.01, n_forwards=1)
    assert policy(look(0.95, 0.96, 0.97))[0].tolist() == [False, False, True], "nothing is known to be stable"
    assert policy(look(0.95, 0.99, slots=[1, 2]))[0].tolist() == [True, False], "slot 2 has changed"
    assert policy(look(0.99, slots=[2]))[0].tolist() == [True]


def test_wino_drafts_wide_but_not_all() -> None:
    sure = torch.linspace(0.7, 0.99, 20)
    assert int(draft_wide(sure, 0.6).sum()) == 14
    assert draft_wide(sure, 0.6).tolist() == [False] * 6 + [True] * 14
    assert int(draft_wide(sure[:6], 0.6).sum()) == 5
    assert draft_wide(torch.tensor([0.1, 0.3]), 0.6).tolist() == [False, True]


@pytest.mark.parametrize(("most", "again"), [(3, [True, False, True]), (1, [True, False, False]), (0, [False] * 3)])
def test_what_the_blind_doubt_is_masked_again(most: int, again: list[bool]) -> None:
    assert verify(torch.tensor([0.1, 0.95, 0.5]), 0.9, most).tolist() == again


def test_wino_takes_back_fewer_than_it_wrote() -> None:
    policy = Wino(threshold=0.6, doubt=0.9)
    commit, again = policy(look(0.7, 0.8, 0.1))
    assert (commit.tolist(), again) == ([True, True, False], [])
    commit, again = policy(look(0.7, 0.8, slots=[3, 4], written={1: 0.2, 2: 0.3}))
    assert (commit.tolist(), again) == ([True, True], [1])
    _, again = policy(look(0.7, slots=[5], written={1: 0.2, 2: 0.3}))
    assert again == [], "a step of one slot does not go back"


@pytest.mark.parametrize(
    ("alpha_t", "alpha_s", "eta", "rescale", "rate"),
    [
        (0.5, 0.75, 0.1, False, 0.1),
        (0.5, 0.75, 0.8, False, 0.5),
        (0.5, 0.75, 0.4, True, 0.2),
        (0.0, 0.3, 0.7, False, 0.7),
    ],
)
def test_remdms_rate_is_capped_or_rescaled(
    alpha_t: float, alpha_s: float, eta: float, rescale: bool, rate: float
) -> None:
    assert remask_rate(alpha_t, alpha_s, eta, rescale=rescale) == pytest.approx(rate)


def test_what_was_unsure_is_masked_again_more_often() -> None:
    chances = remask_chances(torch.tensor([0.2, 0.9, 0.9]), 0.1)
    assert chances[0] > chances[1] == chances[2]
    assert float(chances.mean()) == pytest.approx(0.1)
    assert remask_chances(torch.tensor([0.0, 9.0]), 1.0).max() <= 1


def test_remdm_stops_masking_again() -> None:
    policy = Remdm(0.9, eta=1.0, n_forwards=2)
    again = [policy(look(0.5, 0.5, slots=[3, 4], written={1: 0.1, 2: 0.1}))[1] for _ in range(4)]
    assert any(again[:2])
    assert again[2:] == [(), ()]


@pytest.mark.parametrize("name", list(PolicyName))
def test_every_policy_has_a_name_and_commits_something(name: str) -> None:
    commit, _ = policy_of(name, 0.9, leftmost=False)(look(0.2, 0.3, 0.25))
    assert commit.any()
    with pytest.raises(ValueError, match="luck"):
        policy_of("luck", 0.9, leftmost=False)
