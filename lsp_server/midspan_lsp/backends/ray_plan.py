"""What replicas are to be, and whether those that are there are that already. Pure but for reading files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from midspan_lsp import __version__
from midspan_lsp.config import Settings, read_settings

_SAMPLE_BYTES = 1 << 16


@dataclass(frozen=True)
class Scale:
    """How many replicas.

    Attributes:
        least: so many at all times.
        most: so many while there is that much to do.
        grow_after_s: there must be more to do for so long before there are more.
        shrink_after_s: there must be less to do for so long before there are fewer; a model takes a while to load.
    """

    least: int = 1
    most: int = 1
    grow_after_s: float = 5.0
    shrink_after_s: float = 120.0

    @property
    def is_fixed(self) -> bool:
        """Whether there are always as many."""
        return self.least == self.most


@dataclass(frozen=True)
class Plan:
    """What replicas are told: those with the same plan answer alike.

    Attributes:
        settings: those of the model and its context, as an editor would give them.
        n_together: requests that each works on at a time.
        scale: how many of them there are.
        checkpoint: tells the model's files from others at the same place; "": there are none here.
        version: Midspan's.
    """

    settings: dict[str, Any]
    n_together: int
    scale: Scale
    checkpoint: str = ""
    version: str = __version__

    @property
    def text(self) -> str:
        """As JSON, the same for the same plan."""
        return json.dumps(asdict(self), sort_keys=True)


def read_plan(text: str) -> tuple[Settings, int]:
    """From a plan's text the settings, and how many requests a replica works on at a time."""
    told = json.loads(text)
    return read_settings(told["settings"])[0], told["n_together"]


def plan_of(settings: Settings, scale: Scale, n_together: int) -> Plan:
    """The plan for now; another one once the checkpoint's folder has other files."""
    told = {"model": asdict(settings.model), "context": asdict(settings.context)}
    folder = Path(settings.model.path)
    checkpoint = fingerprint(folder) if settings.model.path and folder.is_dir() else ""
    return Plan(told, n_together, scale, checkpoint)


def fingerprint(folder: Path) -> str:
    """Names, sizes, beginnings and ends of the files in a folder: weights that were trained on differ in all of them.

    Raises:
        OSError: one cannot be read.
    """
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(str(path.relative_to(folder)).encode("utf-8", "surrogateescape"))
        digest.update(str(path.stat().st_size).encode())
        for sample in _samples(path):
            digest.update(sample)
    return digest.hexdigest()


def _samples(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield file.read(_SAMPLE_BYTES)
        file.seek(max(0, path.stat().st_size - _SAMPLE_BYTES))
        yield file.read()
