"""From a file to its tokens in small steps, by way of the store."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from midspan_lsp.memory.index import TokenIndex
from midspan_lsp.memory.secrets import without_keys, without_secrets
from midspan_lsp.memory.segments import Document
from midspan_lsp.memory.stats import Pause
from midspan_lsp.memory.store import Store
from midspan_lsp.memory.tokens import LINE_SPACE, lex
from midspan_lsp.memory.vocabulary import Ids
from midspan_lsp.memory.workspace import SourceFile, Workspace

_CHUNK = 8192  # characters lexed in one step: a millisecond or two


def add_file(
    index: TokenIndex, workspace: Workspace, store: Store | None, file: SourceFile, recency: int
) -> Iterator[None]:
    """Puts a file into the index and the store, or takes it out of both if it cannot be read; yields between steps."""
    kept = store.load(file.path, file.size, file.mtime_ns) if store else None
    if kept is not None:
        strings, numbers = kept
        ids = index.vocabulary.take(strings)
        document = Document(file.path, file.path, file.family, recency)
        chosen = ids[numbers]
        index.vocabulary.take_ids(chosen)
        index.put_file(document, chosen)
        index.vocabulary.release(ids)
        return
    text = workspace.read(file)
    if text is None:
        index.remove(file.path)
        if store:
            store.delete(file.path)
        return
    yield
    text = without_keys(text)
    taken: list[Ids] = []
    index.n_readers += 1
    try:
        for chunk in _chunks(text):
            taken.append(index.vocabulary.take(lex(without_secrets(chunk))))
            yield
    except GeneratorExit:
        for ids in taken:
            index.vocabulary.release(ids)
        raise
    finally:
        index.n_readers -= 1
    # a chunk whose last lines were emptied may end in a line break, as the next begins: two tokens, no harm
    ids = np.concatenate(taken) if taken else np.zeros(0, np.int32)
    index.put_file(Document(file.path, file.path, file.family, recency), ids)
    if store:
        distinct, numbers = np.unique(ids, return_inverse=True)
        strings = [index.vocabulary.string(token) for token in distinct.tolist()]
        store.save(file.path, file.size, file.mtime_ns, strings, numbers.astype(np.int32))


def _chunks(text: str) -> Iterator[str]:
    """A text in pieces that can be lexed alone: each begins with a line break behind a line's text."""
    start = 0
    while start < len(text):
        end = text.find("\n", start + _CHUNK)
        while end >= 0 and text[end - 1] in LINE_SPACE:
            end = text.find("\n", end + 1)
        end = len(text) if end < 0 else end
        yield text[start:end]
        start = end


def forget_missing(
    index: TokenIndex, workspace: Workspace, store: Store | None, there: set[str], pause: Pause
) -> Iterator[None]:
    """Forgets files that are gone or ignored by now."""
    known = {document.key for document in index.documents() if document.text is None}
    for path in [*known, *(store.paths() if store else [])]:
        if path not in there and workspace.holds(path):
            index.remove(path)
            if store is not None:
                store.delete(path)
        if pause.due():
            yield
    if store is not None:
        store.flush()
