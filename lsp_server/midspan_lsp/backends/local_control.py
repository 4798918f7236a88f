"""The control of a benchmark: the embedded model's trunk in this process, typing from left to right."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from midspan_lsp.backends.base import ReportProgress, report_changes
from midspan_lsp.backends.local import LocalBackend
from midspan_lsp.config import Settings
from midspan_lsp.errors import BackendUnavailable


@dataclass(frozen=True)
class TypedLine:
    """A rest of a line as somebody else types it.

    Attributes:
        text: it.
        ms: from the question to its last token, the text before it being encoded.
        n_tokens: tokens typed.
    """

    text: str
    ms: float
    n_tokens: int


class Control:
    """The trunk by itself: it sees the text before the cursor only, and types one token a forward.

    Raises:
        InfillError: the model cannot be had.
    """

    def __init__(self, settings: Settings, report: ReportProgress) -> None:
        self._infiller = LocalBackend(settings).load_here(report)

    @property
    def n_threads(self) -> int:
        """Threads it computes on."""
        import torch  # noqa: PLC0415

        return torch.get_num_threads()

    def type_line(self, prefix: str) -> TypedLine:
        """Type to the end of the line; asked twice, so that the second time the text before is encoded."""
        from midspan_model.evaluation.typewriter import type_lines  # noqa: PLC0415

        type_lines(self._infiller, prefix)
        began_s = time.perf_counter()
        text, _, n_forwards = type_lines(self._infiller, prefix)
        return TypedLine(text, 1e3 * (time.perf_counter() - began_s), n_forwards)

    def seen(self, prefix: str) -> str:
        """As much of the text before the cursor as the model is shown."""
        from midspan_model.canvas import build_canvas  # noqa: PLC0415

        infiller = self._infiller
        canvas = build_canvas(prefix, "", infiller.tokenizer, infiller.trunk.config, infiller.config)
        pieces = (infiller.tokenizer.token_bytes(token_id) for token_id in canvas.prefix_ids)
        return (b"".join(pieces) + canvas.healed).decode("utf-8", "ignore")

    def n_tokens(self, text: str) -> int:
        """The model's tokens of a text."""
        return len(self._infiller.tokenizer.encode(text))


def fetch_gguf(report: ReportProgress) -> Path:
    """The trunk's weights as llama.cpp reads them, kept in the cache folder.

    Raises:
        InfillError: they cannot be had.
    """
    from midspan_model.cache_folder import cache_folder  # noqa: PLC0415
    from midspan_model.errors import ModelError  # noqa: PLC0415
    from midspan_model.trunk_download import GGUF_NAME, download_gguf  # noqa: PLC0415

    folder = cache_folder() / "benchmark"
    if (folder / GGUF_NAME).is_file():
        return folder / GGUF_NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return download_gguf(folder, report_changes(report))
    except ModelError as error:
        raise BackendUnavailable(str(error), hint=error.hint, retryable=error.retryable) from error
