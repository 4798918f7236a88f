"""`midspan host-model`: the process whose model several servers share. They start it; nobody else needs to."""

from __future__ import annotations

import json
import logging

from midspan_lsp.backends.local import LocalBackend
from midspan_lsp.backends.shared_folder import meeting_of
from midspan_lsp.backends.shared_host import host
from midspan_lsp.cli.backends import N_TOGETHER
from midspan_lsp.config import read_settings
from midspan_lsp.errors import ConfigError


def run(told: str) -> int:
    """Be the host until the last server has left; at once if there is one already.

    Raises:
        InfillError: the settings or the folder cannot be used.
    """
    try:
        settings, problems = read_settings(json.loads(told))
    except ValueError as error:
        raise ConfigError("the settings are no JSON") from error
    if problems:
        raise ConfigError("; ".join(problems))
    logging.basicConfig(level=logging.WARNING, format="midspan: %(levelname)s: %(message)s")
    host(lambda: LocalBackend(settings, N_TOGETHER), meeting_of(settings))
    return 0
