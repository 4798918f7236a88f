"""A published checkpoint, ready to fill."""

from __future__ import annotations

from pathlib import Path

from midspan_model.config import DenoiseConfig
from midspan_model.families.fetching import licence_notice
from midspan_model.families.infiller import FamilyInfiller, FamilyOptions
from midspan_model.families.opening import open_checkpoint
from midspan_model.families.weights import best_placement
from midspan_model.trunk_download import OnProgress


def load_published(
    folder: Path,
    config: DenoiseConfig,
    options: FamilyOptions,
    on_progress: OnProgress,
    *,
    device: str = "",
    weights: str = "",
) -> FamilyInfiller:
    """The infiller of a checkpoint folder in its published form; its licence is told before the first use.

    Args:
        folder: with `config.json`, safetensors and a tokenizer.
        config: budgets, threshold and policy.
        options: length and cache.
        on_progress: told what is being done.
        device: see `best_placement`.
        weights: see `best_placement`.

    Raises:
        WeightsError: it cannot be opened.
    """
    placement = best_placement(device, weights)
    if notice := licence_notice(folder):
        on_progress(notice, 0, 0)
    on_progress(f"loading the model ({placement})", 0, 0)
    return FamilyInfiller(open_checkpoint(folder, placement), config, options)
