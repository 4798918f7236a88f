"""Where a document was edited, from its two texts. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Callable

from midspan_lsp.types import Edit, Span


def end_of_edit(before: str, after: str) -> int:
    """Offset in `after` where what was changed ends: the cursor is most likely there."""
    return len(after) - _common_ends(before, after)[1]


def edits_between(before: str, after: str) -> tuple[Edit, ...]:
    """Edits of `before` that make `after` of it: one for each stretch of lines, no larger than what differs there."""
    n_head, n_tail = _common_ends(before, after)
    head = before.rfind("\n", 0, n_head) + 1
    tail = before.find("\n", len(before) - n_tail) + 1 or len(before)
    kept = len(before) - tail
    old, new = (text[head : len(text) - kept].splitlines(keepends=True) for text in (before, after))
    edits, place = list[Edit](), [head]
    for line in old:
        place.append(place[-1] + len(line))
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            text, stood = "".join(new[c:d]), before[place[a] : place[b]]
            n_head, n_tail = _common_ends(stood, text)
            edits.append(Edit(Span(place[a] + n_head, place[b] - n_tail), text[n_head : len(text) - n_tail]))
    return tuple(edits)


def _common_ends(before: str, after: str) -> tuple[int, int]:
    """How many characters both have in common at the start, and behind that at the end."""
    most = min(len(before), len(after))
    n_head = _last(most, lambda n: before.startswith(after[:n]))
    return n_head, _last(most - n_head, lambda n: before.endswith(after[len(after) - n :]))


def _last(most: int, holds: Callable[[int], bool]) -> int:
    """The largest number up to `most` for which it holds, as it does for all smaller ones.

    By halves, with whole strings compared: a document can have megabytes, and this is done at every key.
    """
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low
