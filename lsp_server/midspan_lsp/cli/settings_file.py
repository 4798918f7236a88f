"""The user's settings from a file, for commands that no editor starts."""

from __future__ import annotations

import tomllib
from pathlib import Path

from midspan_lsp.config import Settings, read_settings
from midspan_lsp.errors import ConfigError


def read_settings_file(path: str | None) -> Settings:
    """The settings of a TOML file that the user has named; the defaults without one.

    Raises:
        ConfigError: it cannot be read, or says what cannot be used.
    """
    if path is None:
        return Settings()
    try:
        values = tomllib.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: cannot be read", hint=str(error)) from error
    settings, problems = read_settings(values)
    if problems:
        raise ConfigError(f"{path}: cannot use these settings", hint="\n".join(problems))
    return settings
