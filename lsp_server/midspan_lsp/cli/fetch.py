"""`midspan fetch`: get the embedded model's weights ahead of time."""

from __future__ import annotations

from midspan_lsp.backends.local import fetch_weights
from midspan_lsp.cli.progress import ProgressLine


def run(*, again: bool) -> int:
    """Fetch, with a progress bar, and say where the weights are."""
    progress = ProgressLine()
    try:
        folder = fetch_weights(progress, again=again)
    finally:
        progress.close()
    print(f"The weights are in {folder}. Midspan will not need the network again.")
    return 0
