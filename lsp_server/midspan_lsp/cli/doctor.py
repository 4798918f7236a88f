"""`midspan doctor`: what is installed, where things are, whether a completion works."""

from __future__ import annotations

import asyncio
import platform
import sys
from dataclasses import replace
from importlib.metadata import version

from midspan_lsp import __version__
from midspan_lsp.backend_settings import BackendKind, BackendSettings
from midspan_lsp.backends.local import inspect_local
from midspan_lsp.cli.doctor_remote import check_remote
from midspan_lsp.cli.infill import infill_once
from midspan_lsp.cli.settings_file import read_settings_file
from midspan_lsp.config import Settings
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.errors import InfillError
from midspan_lsp.memory.place import memory_folder
from midspan_lsp.syntax.languages import missing_grammars, validated_languages
from midspan_lsp.types import InfillRequest

_BEFORE = "def area(width, height):\n    return width * "
_AFTER = "\n\n\nprint(area(width=2, height=3))\n"


def run(settings_file: str | None = None) -> int:
    """Print the report; 0 if a completion works, 1 if not.

    Args:
        settings_file: the user's settings; None: the defaults.

    Raises:
        ConfigError: they cannot be used.
    """
    settings = read_settings_file(settings_file)
    _print("midspan", f"{__version__}, Python {platform.python_version()}, {platform.platform()}")
    _print("program", sys.executable)
    _print("pygls, tree-sitter", f"{version('pygls')}, {version('tree-sitter')}")
    _print("validated languages", ", ".join(validated_languages()) or "none")
    missing = missing_grammars()
    if missing:
        _print("not validated", f"{', '.join(missing)}: pip install {' '.join(sorted(set(missing.values())))}")
    _print("project memory", describe_stores())
    kind = BackendKind(settings.backend.kind)
    _print("backend", kind.value)
    statuses = [] if kind is BackendKind.HTTP else [_check_local(settings)]
    if kind is not BackendKind.LOCAL:
        statuses.append(check_remote(settings.backend, _question(), _print))
    return max(statuses)


def _check_local(settings: Settings) -> int:
    local = inspect_local()
    for name, fact in local.facts:
        _print(name, fact)
    if local.trunk_folder is None:
        _print(
            "embedded model",
            f"not installed: {', '.join(local.missing)} missing; pip install 'midspan[local]'",
        )
        return 1
    _print("weights", f"{local.trunk_folder} ({'there' if local.have_trunk else 'not fetched yet'})")
    if not local.have_trunk:
        _print("completion", "not tried: run `midspan fetch` first")
        return 1
    return _try_completion(settings)


def describe_stores() -> str:
    """Where what is remembered of projects lies, and how much it is."""
    folder = memory_folder()
    try:
        sizes = [path.stat().st_size for path in folder.glob("*.sqlite")]
    except OSError as error:
        return f"{folder} (cannot be read: {error.strerror})"
    stores = f"{len(sizes)} {'project' if len(sizes) == 1 else 'projects'}"
    return f"{folder} ({stores}, {sum(sizes) / 1e6:.1f} MB)"


def _question() -> InfillRequest:
    return InfillRequest(_BEFORE, _AFTER, "python")


def _try_completion(settings: Settings) -> int:
    snapshot = DocumentSnapshot("midspan:doctor", "python", None, _BEFORE + _AFTER)
    settings = replace(settings, backend=BackendSettings())  # the embedded model by itself
    try:
        outcome = asyncio.run(infill_once(settings, snapshot, len(_BEFORE)))
    except InfillError as error:
        _print("completion", f"fails: {error}")
        return 1
    stats = outcome.stats
    cost = f"{stats.n_forwards} forwards, {stats.elapsed_ms:.0f} ms, syntax: {outcome.verdict.value}"
    _print("completion", f"works: {_BEFORE.splitlines()[-1].strip()} -> {outcome.text!r} ({cost})")
    return 0


def _print(name: str, fact: str) -> None:
    print(f"{name + ':':22}{fact}")
