"""Where settings come from: the editor, and the project's own file, which may not choose what runs."""

from __future__ import annotations

import logging
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, cast

from pathspec import GitIgnoreSpec

from midspan_lsp.config import Settings, nested, read_settings

logger = logging.getLogger(__name__)

FILE_NAMES = ("midspan.toml", "pyproject.toml")
"""The first that a folder has counts."""

MAX_BYTES = 1 << 20
PROJECT_KEYS = frozenset(
    {
        "completion.eagerness",
        "completion.ignore",
        "completion.in_comments",
        "completion.in_strings",
        "completion.max_lines",
        "languages.disabled",
        "memory.enabled",
        "memory.ignore",
    }
)
"""What a project may say: nothing that names a file to load, or lets more be read than the user does."""


@dataclass(frozen=True)
class ProjectFile:
    """What a workspace folder's file says.

    Attributes:
        name: of the file.
        values: nested mappings.
        problem: why it cannot be read; empty if it can.
    """

    name: str
    values: object = None
    problem: str = ""


@dataclass(frozen=True)
class Sources:
    """All that was told; what comes later counts over what came before.

    Attributes:
        options: of the `initialize` request.
        told: the editor's configuration since.
        files: the workspace folders' own.
    """

    options: object = None
    told: object = None
    files: tuple[ProjectFile, ...] = ()

    def read(self) -> tuple[Settings, list[str]]:
        """The settings, and a line for each key that cannot be used, with its path."""
        settings, problems = read_settings(self.options)
        told, refused = _without_backend(_server_groups(nested(self.told)), settings)
        settings, more = read_settings(told, settings)
        problems += refused + more
        for file in self.files:
            settings, more = _read_project(file, settings)
            problems += [f"{file.name}: {line}" for line in more]
        return _without_bad_patterns(settings, problems), list(dict.fromkeys(problems))


def read_project_files(folders: Sequence[str]) -> tuple[ProjectFile, ...]:
    """What the folders' files say; reads the disk."""
    return tuple(file for folder in folders if (file := _read_file(Path(folder))) is not None)


def needs_restart(old: Settings, new: Settings) -> list[str]:
    """Keys that count only from the next start on."""
    before: dict[str, dict[str, object]] = asdict(old)
    after: dict[str, dict[str, object]] = asdict(new)
    late = [
        ("completion", "menu"),
        *((group, name) for group in ("backend", "context", "model") for name in after[group]),
    ]
    return [f"{group}.{name}" for group, name in late if before[group][name] != after[group][name]]


def compile_patterns(patterns: Sequence[str]) -> GitIgnoreSpec:
    """Patterns of a `.gitignore`.

    Raises:
        ValueError: one of them is none.
    """
    return GitIgnoreSpec.from_lines(patterns)


def _server_groups(told: object) -> object:
    """Without what an editor's own part of Midspan keeps in the same place."""
    if not isinstance(told, Mapping):
        return told
    groups = {field.name for field in fields(Settings)}
    return {key: value for key, value in cast("Mapping[str, object]", told).items() if key in groups}


def _without_backend(told: object, settings: Settings) -> tuple[object, list[str]]:
    """Without where middles come from: editors mix a workspace's settings into these, and it may not say so.

    Also a line if something else was said than the options of the start say.
    """
    if not isinstance(told, Mapping):
        return told, []
    rest = dict(cast("Mapping[str, object]", told))
    wanted, _ = read_settings({"backend": rest.pop("backend", None)}, settings)
    line = "backend: counts only as a part of the initialization options"
    return rest, [] if wanted == settings else [line]


def _read_file(folder: Path) -> ProjectFile | None:
    path = folder / FILE_NAMES[0]
    try:
        if not path.is_file():
            path = folder / FILE_NAMES[1]
            if not path.is_file():
                return None
        with path.open("rb") as file:
            text = file.read(MAX_BYTES + 1)
        if len(text) > MAX_BYTES:
            raise ValueError(f"longer than {MAX_BYTES} bytes")
        values: Any = tomllib.loads(text.decode())
    except (OSError, ValueError, RecursionError) as error:
        logger.info("%s cannot be read: %s", path, error)
        # another tool's file may be broken for reasons of its own
        return ProjectFile(path.name, problem=f"cannot be read: {error}") if path.name == FILE_NAMES[0] else None
    if path.name != FILE_NAMES[0]:
        tool = values.get("tool")
        values = cast("dict[str, Any]", tool).get("midspan") if isinstance(tool, dict) else None
    return ProjectFile(path.name, values)


def _read_project(file: ProjectFile, base: Settings) -> tuple[Settings, list[str]]:
    """Lists are joined with the user's own; what the user has switched off stays off."""
    if file.problem:
        return base, [file.problem]
    allowed, problems = _split(nested(file.values))
    new, bad = read_settings(allowed, base)
    completion, memory = new.completion, new.memory
    languages = replace(new.languages, disabled=_joined(base.languages.disabled, new.languages.disabled))
    completion = replace(
        completion,
        ignore=_joined(base.completion.ignore, completion.ignore),
        in_comments=base.completion.in_comments and completion.in_comments,
        in_strings=base.completion.in_strings and completion.in_strings,
    )
    ignore = _joined(base.memory.ignore, memory.ignore)
    memory = replace(memory, ignore=ignore, enabled=base.memory.enabled and memory.enabled)
    return replace(new, completion=completion, languages=languages, memory=memory), problems + bad


def _split(values: object) -> tuple[object, list[str]]:
    """What a project may say of what it says; a line for each key that it may not."""
    if not isinstance(values, Mapping):
        return values, []
    allowed: dict[object, object] = {}
    problems: list[str] = []
    for group, keys in cast("Mapping[object, object]", values).items():
        if not isinstance(keys, Mapping):
            allowed[group] = keys
            continue
        own: dict[object, object] = {}
        for key, value in cast("Mapping[object, object]", keys).items():
            if f"{group}.{key}" in PROJECT_KEYS:
                own[key] = value
            else:
                problems.append(f"{group}.{key!s:.60}: only the editor sets this")
        allowed[group] = own
    return allowed, problems


def _joined(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(first + second))


def _without_bad_patterns(settings: Settings, problems: list[str]) -> Settings:
    for group in ("completion", "memory"):
        good: list[str] = []
        for pattern in getattr(settings, group).ignore:
            try:
                compile_patterns([pattern])
            except ValueError:
                problems.append(f"{group}.ignore: not a pattern: {pattern!r:.60}")
            else:
                good.append(pattern)
        settings = replace(settings, **{group: replace(getattr(settings, group), ignore=tuple(good))})
    return settings
