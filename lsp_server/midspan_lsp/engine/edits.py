"""Where a document was edited, from its two texts. Pure."""

from __future__ import annotations

from collections.abc import Callable


def end_of_edit(before: str, after: str) -> int:
    """Offset in `after` where what was changed ends: the cursor is most likely there."""
    most = min(len(before), len(after))
    n_head = _last(most, lambda n: before.startswith(after[:n]))
    n_tail = _last(most - n_head, lambda n: before.endswith(after[len(after) - n :]))
    return len(after) - n_tail


def _last(most: int, holds: Callable[[int], bool]) -> int:
    """The largest number up to `most` for which it holds, as it does for all smaller ones.

    By halves, with whole strings compared: a document can have megabytes, and this is done at every key.
    """
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low
