"""Published checkpoints from a Hugging Face hub into the user's cache folder: weights and tokenizers, never code."""

from __future__ import annotations

import logging
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from midspan_model.cache_folder import cache_folder
from midspan_model.errors import WeightsError
from midspan_model.families.opening import family_of
from midspan_model.trunk_download import OnProgress

if TYPE_CHECKING:
    from midspan_model.families.spec import Family

KNOWN = {
    "dreamon": "Dream-org/DreamOn-v0-7B",
    "dream-coder": "Dream-org/Dream-Coder-v0-Base-7B",
    "dream": "Dream-org/Dream-v0-Base-7B",
    "diffucoder": "apple/DiffuCoder-7B-Base",
    "open-dcoder": "fredzzp/open-dcoder-0.5B",
    "qwen-mdlm": "dllm-hub/Qwen2.5-Coder-0.5B-Instruct-diffusion-mdlm-v0.1",
    "qwen-bd3lm": "dllm-hub/Qwen2.5-Coder-0.5B-Instruct-diffusion-bd3lm-v0.1",
    "llada": "GSAI-ML/LLaDA-8B-Base",
    "llada2-mini": "inclusionAI/LLaDA2.0-mini",
    "fast-dllm": "Efficient-Large-Model/Fast_dLLM_v2_7B",
    "sdar": "JetLM/SDAR-4B-Chat",
    "stable-diffcoder": "ByteDance-Seed/Stable-DiffCoder-8B-Base",
}
"""Short names of published checkpoints; any other is named OWNER/NAME."""

_WANTED = ("*.safetensors", "*.json", "merges.txt", "README.md", "LICENSE*", "NOTICE*")
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_FRONT_LICENCE = re.compile(r"^license(?:_name)?:\s*(\S+)\s*$", re.MULTILINE)
_SHOWN = "licences-shown.txt"
_LOGGER = logging.getLogger(__name__)


def repository_of(name: str) -> str:
    """The repository of a short name, or the name itself if it is OWNER/NAME.

    Raises:
        WeightsError: it is neither.
    """
    if name.lower() in KNOWN:
        return KNOWN[name.lower()]
    if _REPOSITORY.fullmatch(name):
        return name
    raise WeightsError(f"no checkpoint is called {name}", hint=f"There are {', '.join(KNOWN)}, or name OWNER/NAME.")


def folder_of(name: str) -> Path:
    """Where a checkpoint lies once it is fetched."""
    return cache_folder() / "models" / repository_of(name).replace("/", "--")


def resolve(path: str) -> Path:
    """The folder that a setting means: a folder, or what was fetched under that name."""
    folder = Path(os.path.expanduser(path))
    if folder.is_dir() or not (path.lower() in KNOWN or _REPOSITORY.fullmatch(path)):
        return folder
    fetched = folder_of(path)
    if fetched.is_dir():
        return fetched
    raise WeightsError(f"there is no folder {path}", hint=f"If a published checkpoint is meant: midspan fetch {path}")


def fetch_checkpoint(name: str, on_progress: OnProgress, *, again: bool = False) -> Path:
    """The folder of a published checkpoint, after its download if it is not there yet.

    The folder appears whole or not at all; a download that broke off is gone on with. `HF_ENDPOINT` and `HF_TOKEN`
    choose another hub and an account, as everywhere.

    Raises:
        WeightsError: it cannot be had, or no family knows it.
    """
    repository, folder = repository_of(name), folder_of(name)
    if folder.is_dir() and not again:
        return folder
    try:
        from huggingface_hub import snapshot_download  # noqa: PLC0415  (heavy, and in an extra of its own)
    except ImportError as error:
        raise WeightsError(
            f"fetching a checkpoint needs huggingface_hub: {error}",
            hint="Install Midspan with its extra: pip install 'midspan[families]'",
        ) from error
    part = folder.with_name(f"{folder.name}.part")
    on_progress(f"fetching {repository}", 0, 0)
    try:
        part.mkdir(parents=True, exist_ok=True)
        endpoint = os.environ.get("HF_ENDPOINT") or None
        snapshot_download(repository, local_dir=part, allow_patterns=list(_WANTED), endpoint=endpoint)
    except Exception as error:  # the hub's errors, those of its HTTP library, and the disk's
        raise WeightsError(
            f"{repository} cannot be fetched: {_first_line(error)}",
            hint="Are the name, the network and the room right? HF_ENDPOINT names another hub, HF_TOKEN an account.",
            retryable=True,
        ) from error
    try:
        family_of(part)
    except WeightsError:
        shutil.rmtree(part, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)
    return folder


def licence_of(folder: Path, family: Family) -> str:
    """The licence of a checkpoint: as its own README names it, else its family's."""
    path = folder / "README.md"
    head = path.read_text(encoding="utf-8", errors="replace")[:4000] if path.is_file() else ""
    found = _FRONT_LICENCE.findall(head)
    return found[-1] if found else family.licence


def licence_notice(folder: Path) -> str:
    """What is to be said of a checkpoint's licence before its first use here; empty if it was said."""
    shown = cache_folder() / _SHOWN
    known = shown.read_text(encoding="utf-8").splitlines() if shown.is_file() else []
    if str(folder.resolve()) in known:
        return ""
    try:
        shown.parent.mkdir(parents=True, exist_ok=True)
        with shown.open("a", encoding="utf-8") as file:
            file.write(f"{folder.resolve()}\n")
    except OSError as error:  # then it is said again next time
        _LOGGER.debug("%s cannot be written: %s", shown, error)
    family = family_of(folder)
    return f"{family.name} weights, licence: {licence_of(folder, family)}. They are others' work: see {folder.name}"


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), repr(error))
