"""Policies on hand-made confidences."""

from __future__ import annotations

import pytest
import torch
from midspan_model.denoising.policies import threshold


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
