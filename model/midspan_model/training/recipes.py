"""Recipes: functions that return a whole run's configuration, sized by one argument, the documents of a forward."""

from __future__ import annotations

from collections.abc import Callable

from midspan_model.training.settings import BatchConfig, Recipe


def tiny(size: int = 2) -> Recipe:
    """Seconds, on any processor: to see that everything works."""
    batch = BatchConfig(documents=size, holes=4, cursors=2, prefix_tokens=64, suffix_tokens=24, widths=(4, 6))
    return Recipe(
        "tiny", batch, rank=4, steps=20, warmup_steps=2, anneal_steps=5, eval_every=10, eval_batches=2, save_every=5
    )


def cpu(size: int = 4) -> Recipe:
    """Hours on a few processors: an adapter, narrow blocks more often than wide ones."""
    batch = BatchConfig(
        documents=size, holes=16, cursors=2, prefix_tokens=256, suffix_tokens=40, widths=(4, 6, 8, 8, 12, 16)
    )
    return Recipe("cpu", batch, learning_rate=1.5e-3, steps=20_000, hours=4.0)


def gpu(size: int = 32) -> Recipe:
    """Minutes on a large GPU: longer contexts, wide blocks as often as narrow ones."""
    batch = BatchConfig(documents=size, holes=16, cursors=2, prefix_tokens=384, suffix_tokens=48, widths=(8, 16))
    return Recipe(
        "gpu", batch, learning_rate=1.5e-3, steps=100_000, hours=0.13, warmup_steps=50, device="cuda", workers=12
    )


RECIPES: dict[str, Callable[[int], Recipe]] = {"tiny": tiny, "cpu": cpu, "gpu": gpu}
"""By name."""
