"""The embedded model: the trunk in the user's cache, the adapter in this package."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from midspan_model.cache_folder import cache_folder
from midspan_model.errors import WeightsError
from midspan_model.trunk_conversion import convert_gguf
from midspan_model.trunk_download import GGUF_SHA256, HEARTBEAT_S, OnProgress, download_gguf

if TYPE_CHECKING:
    from filelock import FileLock

    from midspan_model.config import DenoiseConfig
    from midspan_model.infilling import Infiller

ADAPTER = Path(__file__).parent / "adapters" / "midspan-135m-r64.safetensors"
TRUNK_FILES = ("config.json", "tokenizer.json", "trunk.safetensors")
_LAYOUT = 1
"""Raised whenever converted files change, so that an older cache is not taken for a newer one."""


def trunk_folder() -> Path:
    """Where the converted trunk lies, or would."""
    return cache_folder() / f"smollm2-135m-{GGUF_SHA256[:12]}-v{_LAYOUT}"


def have_trunk() -> bool:
    """Whether the trunk is there; no network is needed then."""
    return all((trunk_folder() / name).is_file() for name in TRUNK_FILES)


def fetch_trunk(
    on_progress: OnProgress,
    *,
    again: bool = False,
    get: Callable[[Path, OnProgress], Path] = download_gguf,
    convert: Callable[[Path, Path, OnProgress], None] = convert_gguf,
) -> Path:
    """The trunk's folder, after download and conversion if it is not there yet.

    The folder appears whole or not at all; of two processes one works and the other waits.

    Args:
        on_progress: told what is being done.
        again: even if it is there already.
        get: downloads the GGUF file into a folder.
        convert: writes a checkpoint folder from it.

    Raises:
        WeightsError: no weights; nothing is left half-written.
    """
    from filelock import FileLock  # noqa: PLC0415  (a path of keystrokes never gets here)

    target = trunk_folder()
    if have_trunk() and not again:
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _waiting(FileLock(target.parent / "fetch.lock"), on_progress):
            if have_trunk() and not again:
                return target
            for stale in target.parent.glob("fetch-*/"):  # of a process that was killed: this one holds the lock
                shutil.rmtree(stale, ignore_errors=True)
            with tempfile.TemporaryDirectory(prefix="fetch-", dir=target.parent) as work:
                made = Path(work) / "made"
                made.mkdir()
                convert(get(Path(work), on_progress), made, on_progress)
                if target.exists():
                    target.rename(Path(work) / "old")  # goes with the work folder
                made.rename(target)
    except OSError as error:
        raise WeightsError(
            f"the weights cannot be written: {error}",
            hint=f"They need about 700 MB, for a moment, in {target.parent}. MIDSPAN_CACHE chooses another folder.",
        ) from error
    return target


@contextmanager
def _waiting(lock: FileLock, on_progress: OnProgress) -> Iterator[None]:
    """Holds a lock; tells that it waits, again and again, so that whoever is told can break it off."""
    from filelock import Timeout  # noqa: PLC0415

    while True:
        try:
            lock.acquire(timeout=HEARTBEAT_S)
            break
        except Timeout:
            on_progress("waiting for another Midspan that fetches the weights", 0, 0)
    try:
        yield
    finally:
        lock.release()


def load_embedded(config: DenoiseConfig, on_progress: OnProgress) -> Infiller:
    """The embedded model, ready to fill; its trunk is fetched first if need be.

    Raises:
        WeightsError: it cannot be had.
    """
    folder = fetch_trunk(on_progress)
    on_progress("loading the model", 0, 0)
    from midspan_model.checkpoints import load_infiller  # noqa: PLC0415  (imports torch)

    return load_infiller(folder, config, adapter=ADAPTER)
