"""The held-out repositories: named with commit and licence, never copied into this one.

The adapter's training saw none of them, and a later training has to leave them out; the trunk's training on public
code may have seen earlier commits of any. psf/requests is not here because pip, which was trained on, contains it.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from midspan_model.errors import ModelError
from midspan_model.evaluation.sources import SourceText, read_sources


@dataclass(frozen=True)
class Repository:
    """One public repository.

    Attributes:
        name: owner/name on GitHub.
        commit: the one that is measured.
        spdx: its licence.
        language_ids: whose files are taken.
        within: sub-folders they are taken from.
        leave_out: patterns of paths in it that come from elsewhere.
        languages: language ids to take instead of others.
    """

    name: str
    commit: str
    spdx: str
    language_ids: tuple[str, ...]
    within: tuple[str, ...] = ("",)
    leave_out: tuple[str, ...] = ()
    languages: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def folder(self) -> str:
        """Name of its sub-folder."""
        return self.name.split("/")[1]


MEASURED = (
    Repository("pallets/flask", "2ac89889f4cc330eabd50f295dcef02828522c69", "BSD-3-Clause", ("python",), ("src",)),
    Repository("falconry/falcon", "ce0a35b8fd02747cc72710202886874906b0d47a", "Apache-2.0", ("python",), ("falcon",)),
    Repository("expressjs/express", "a3714473feb3d2908add734d340e7755fd85e0a3", "MIT", ("javascript",)),
    Repository(
        "microsoft/vscode-languageserver-node",
        "0da5527ddf79ec7b10c953a1b1e6e007c9678326",
        "MIT",
        ("typescript",),
    ),
    Repository(
        "excalidraw/excalidraw",
        "4872083c044491b6d5c96ae134a75464f96d6831",
        "MIT",
        ("typescript", "typescriptreact"),
        ("packages", "excalidraw-app"),
    ),
    Repository("gin-gonic/gin", "dcaa4296d111981ffb31ac3eba90bb63e1eb5ab9", "MIT", ("go",)),
    Repository("BurntSushi/ripgrep", "3fce3b5bb0236da2df6d99672afb8a719642eca7", "Unlicense OR MIT", ("rust",)),
    Repository("google/gson", "9835b6f90192f79cdf5300c528fc6212455fb6c1", "Apache-2.0", ("java",), ("gson/src/main",)),
    Repository(
        "redis/hiredis", "29ea2791c102fdffff350f1ea6e04d1f71903d0d", "BSD-3-Clause", ("c",), leave_out=("ffc.h",)
    ),
    Repository(
        "fmtlib/fmt",
        "60ccad511fd680cb91d8b60a315759f71c67bef9",
        "MIT",
        ("cpp",),
        ("include", "src"),
        languages={"c": "cpp"},
    ),
)
"""What figures are given for."""

TUNING = (
    Repository(
        "marshmallow-code/marshmallow", "341b927f219205704728c05cd61f04d7e9727523", "MIT", ("python",), ("src",)
    ),
    Repository("bottlepy/bottle", "2a743a302a71460bfe4c0b8b7cb99a306b0328c6", "MIT", ("python",)),
    Repository("arrow-py/arrow", "b247ad073d4c350270528edb5afff8e7f4f7d9e4", "Apache-2.0", ("python",), ("arrow",)),
    Repository("tj/commander.js", "ba6d13ddb4243e5913367734f8c159089ffe7834", "MIT", ("javascript",), ("lib",)),
    Repository("reduxjs/redux", "3084fc33bb23ab4cab4796172eafe342da4e73d9", "MIT", ("typescript",), ("src",)),
    Repository("gorilla/mux", "db9d1d0073d27a0a2d9a8c1bc52aa0af4374d265", "BSD-3-Clause", ("go",)),
    Repository("sharkdp/fd", "ee20f426ddf338ac7ead5c5f00ea49258005caaf", "Apache-2.0 OR MIT", ("rust",), ("src",)),
    Repository("jhy/jsoup", "46b620860af930eedc193a705eaf7cea5aec89a6", "MIT", ("java",), ("src/main",)),
    Repository(
        "troydhanson/uthash", "6d8573997c21f24c7e4ec9e48734b44f384170a1", "BSD-1-Clause", ("c",), ("src", "tests")
    ),
)
"""What choices are made and the calibrator is fitted by; training leaves them out too."""


@dataclass(frozen=True)
class Checkout:
    """What of a repository was found.

    Attributes:
        repository: which.
        folder: where it should lie.
        commit: what is checked out there; None if there is nothing, "" if its commit is not known.
    """

    repository: Repository
    folder: Path
    commit: str | None

    @property
    def complaint(self) -> str:
        """What is wrong with it; "" if nothing is."""
        if self.commit is None:
            return f"{self.repository.name} is not there: its holes are left out"
        if self.commit != self.repository.commit:
            found = self.commit or "an unknown commit"
            return f"{self.repository.name} is at {found}, not at {self.repository.commit}: other holes"
        return ""


def find_checkouts(folder: Path, repositories: tuple[Repository, ...] = MEASURED) -> list[Checkout]:
    """The repositories' sub-folders of `folder`, and the commits that are checked out there."""
    return [
        Checkout(repository, path, _commit_of(path, repository.within) if path.is_dir() else None)
        for repository in repositories
        for path in (folder / repository.folder,)
    ]


def read_checkouts(checkouts: list[Checkout], language_ids: list[str]) -> list[SourceText]:
    """The sources of those that are there, in these languages (none: in all).

    Raises:
        ModelError: there are none.
    """
    found: list[SourceText] = []
    for checkout in checkouts:
        repository = checkout.repository
        wanted = [name for name in repository.language_ids if not language_ids or name in language_ids]
        if wanted and checkout.commit is not None:
            found += read_sources(
                checkout.folder, repository.within, repository.leave_out, wanted, repository.languages
            )
    if not found:
        raise ModelError(
            "none of the held-out repositories is in that folder",
            hint="`python -m midspan_model.evaluation repositories FOLDER` prints the commands that put them there.",
        )
    return found


def fetch_commands(folder: str, repositories: tuple[Repository, ...] = MEASURED) -> str:
    """Shell commands that put all of them into a folder."""
    lines: list[str] = []
    for repository in repositories:
        target = shlex.quote(f"{folder}/{repository.folder}")
        lines.append(
            f"git clone --quiet https://github.com/{repository.name} {target}"
            f" && git -C {target} checkout --quiet {repository.commit}"
            f"  # {repository.spdx}; {', '.join(repository.language_ids)}"
        )
    return "\n".join(lines)


def _commit_of(folder: Path, within: Sequence[str]) -> str:
    """The commit of a checkout, and whether what is read of it was changed; "" where that cannot be said."""
    git = shutil.which("git")
    if git is None or not (folder / ".git").exists():
        return ""
    said: list[str] = []
    for command in (["rev-parse", "HEAD"], ["status", "--porcelain", "--", *(part or "." for part in within)]):
        done = subprocess.run([git, "-C", str(folder), *command], check=False, capture_output=True, text=True)  # noqa: S603
        if done.returncode != 0:
            return ""
        said.append(done.stdout.strip())
    return said[0] + (" with changes" if said[1] else "")
