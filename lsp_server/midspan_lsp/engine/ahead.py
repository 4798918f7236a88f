"""How a middle goes on that has begun, as the project has it: asked by the model, between two forwards."""

from __future__ import annotations

from midspan_lsp.context.shape import Shape
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.engine.memory_thread import MemoryThread

AHEAD_LIMIT_S = 0.03
"""About what a forward takes: an answer may save one."""


class Ahead:
    """For one cursor. Called on any thread but the memory's and the event loop's; it blocks.

    Args:
        thread: the memory's.
        snapshot: the document, by the name that the memory has for it.
        offset: of the cursor.
        shape: of the middle.
        limit_s: an answer that takes longer is none, and then nothing more is asked; None: it is waited for.
    """

    def __init__(
        self, thread: MemoryThread, snapshot: DocumentSnapshot, offset: int, shape: Shape, limit_s: float | None
    ) -> None:
        self._thread, self._snapshot, self._offset, self._shape = thread, snapshot, offset, shape
        self._limit_s, self._is_slow = limit_s, False

    def __call__(self, begun: str) -> str:
        """What may follow this beginning; "" where nothing is known."""
        if self._is_slow:
            return ""
        snapshot, offset, shape = self._snapshot, self._offset, self._shape
        call = self._thread.submit(
            lambda memory: memory.continuation(snapshot, offset, begun, shape.max_lines, shape.min_indent), ""
        )
        try:
            return call.result(self._limit_s)
        except TimeoutError:
            self._is_slow = True
            call.cancel()
            return ""
