"""A corpus on disk: folders of JSON lines, one document a line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from midspan_model.errors import ModelError

SHARD_CHARACTERS = 32_000_000


@dataclass(frozen=True)
class Document:
    """One file of a corpus.

    Attributes:
        text: with line feeds as line ends.
        path: inside its repository.
        repository: its name.
        language: by its extension.
    """

    text: str
    path: str
    repository: str
    language: str


def write_shards(documents: Iterable[Document], folder: Path) -> int:
    """Write documents in the order given; how many there were."""
    n_documents, n_characters, number = 0, 0, 0
    lines: list[str] = []

    def flush() -> None:
        (folder / f"{number:05}.jsonl").write_text("".join(lines), encoding="utf-8")
        lines.clear()

    for document in documents:
        lines.append(json.dumps(asdict(document)) + "\n")
        n_documents += 1
        n_characters += len(document.text)
        if n_characters >= SHARD_CHARACTERS:
            flush()
            number, n_characters = number + 1, 0
    if lines:
        flush()
    return n_documents


def read_shards(folder: Path) -> list[Document]:
    """All documents of a folder, in the order they were written.

    Raises:
        ModelError: there are none, or a line is of another form.
    """
    try:
        documents = list(_read(sorted(folder.glob("*.jsonl"))))
    except (ValueError, TypeError) as error:
        raise ModelError(f"{folder} is no corpus: {error}") from error
    if not documents:
        raise ModelError(f"{folder} has no documents", hint="python -m midspan_model.training.corpus --help")
    return documents


def _read(shards: Iterable[Path]) -> Iterator[Document]:
    for shard in shards:
        with shard.open(encoding="utf-8") as lines:
            for line in lines:
                yield Document(**json.loads(line))
