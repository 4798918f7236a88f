"""`midspan fetch [NAME]`: get the embedded model's weights, or a published checkpoint, ahead of time."""

from __future__ import annotations

from midspan_lsp.backends.local import fetch_published, fetch_weights
from midspan_lsp.cli.progress import ProgressLine


def run(name: str = "", *, again: bool) -> int:
    """Fetch, with a progress bar, and say where the weights are and whose licence they have."""
    progress = ProgressLine()
    try:
        if name:
            folder, licence = fetch_published(name, progress, again=again)
        else:
            folder, licence = fetch_weights(progress, again=again), ""
    finally:
        progress.close()
    if not name:
        print(f"The weights are in {folder}. Midspan will not need the network again.")
        return 0
    print(f"The weights are in {folder}. Their licence: {licence}.")
    print(f"To use them, set model.path to {name!r}; to try them: midspan infill FILE:LINE:COL --model {name}")
    return 0
