"""A server's key: from the environment or the keyring, never from the settings, and never told to anybody else."""

from __future__ import annotations

import os
import re
from typing import Protocol, cast

from midspan_lsp.backend_settings import BackendSettings
from midspan_lsp.errors import ConfigError

KEYRING_USER = "midspan"
_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,60}")


class _Keyring(Protocol):
    def get_password(self, service_name: str, username: str) -> str | None: ...


def read_key(settings: BackendSettings, usual_variable: str, *, is_needed: bool) -> str:
    """The key; "" if the settings name none and no usual one is needed. May ask the keyring, which takes its time.

    Raises:
        ConfigError: the settings name one that is not there, or that is none.
    """
    if settings.key_service:
        key = _from_keyring(settings.key_service)
    else:
        key = os.environ.get(settings.key_variable or usual_variable or "-", "").strip()
        if not key and (settings.key_variable or is_needed):
            raise ConfigError(
                "the key of the remote server is not there",
                hint=f"Set {_told(settings.key_variable or usual_variable)} in the environment that starts the editor, "
                "or name another one in `backend.key_variable`.",
            )
    if not key.isascii() or any(ord(one) <= 32 or ord(one) == 127 for one in key):
        raise ConfigError("the key of the remote server has characters that no key has")
    return key


def key_source(settings: BackendSettings, usual_variable: str) -> str:
    """Where the key is from, for people."""
    if settings.key_service:
        return f"the keyring's `{settings.key_service:.60}`, user `{KEYRING_USER}`"
    variable = settings.key_variable or usual_variable
    return _told(variable) if variable else "none"


def _told(variable: str) -> str:
    """A variable's name; whoever has put the key itself there does not see it in a message."""
    return f"the variable {variable}" if _NAME.fullmatch(variable) else "the variable named in `backend.key_variable`"


def _from_keyring(service: str) -> str:
    try:
        import keyring  # noqa: PLC0415  (an extra)
        from keyring.errors import KeyringError  # noqa: PLC0415
    except ImportError as error:
        raise ConfigError(
            "the keyring cannot be asked: its package is not installed", hint="pip install 'midspan[keyring]'"
        ) from error
    try:
        key = cast("_Keyring", keyring).get_password(service, KEYRING_USER)
    except (KeyringError, OSError) as error:
        raise ConfigError("the keyring does not answer", hint=f"It says: {type(error).__name__}") from error
    if not key:
        raise ConfigError(
            "the key of the remote server is not in the keyring",
            hint=f"Put it there: keyring set SERVICE {KEYRING_USER}, with the service of `backend.key_service`.",
        )
    return key.strip()
