"""The backend that the settings name."""

from __future__ import annotations

from collections.abc import Callable

from midspan_lsp.backend_settings import BackendKind
from midspan_lsp.backends.base import InfillBackend
from midspan_lsp.backends.local import LocalBackend
from midspan_lsp.backends.notices import Notices
from midspan_lsp.config import Settings
from midspan_lsp.errors import ConfigError


def open_backend(
    settings: Settings,
    notices: Notices | None = None,
    *,
    build_local: Callable[[Settings], InfillBackend] = LocalBackend,
) -> InfillBackend:
    """The embedded model, unless the user has chosen otherwise; nothing is loaded or connected to yet.

    Args:
        settings: whose group `backend` says which.
        notices: told what happens to a server between answers.
        build_local: makes the embedded model's backend.

    Raises:
        ConfigError: the settings of a server lack something, and there is nothing beside it.
    """
    kind = BackendKind(settings.backend.kind)
    if kind is BackendKind.LOCAL:
        return build_local(settings)
    # only now: nothing that could reach a network is even imported before
    from midspan_lsp.backends.cascade import CascadeBackend  # noqa: PLC0415
    from midspan_lsp.backends.guarded import GuardedBackend  # noqa: PLC0415
    from midspan_lsp.backends.http_fim import HttpFimBackend  # noqa: PLC0415

    notices = notices or Notices()
    try:
        remote = GuardedBackend(HttpFimBackend(settings.backend, notices), notices)
    except ConfigError as error:
        if kind is BackendKind.HTTP:
            raise
        notices.tell(f"{error}\nThe embedded model answers alone.")
        return build_local(settings)
    if kind is BackendKind.HTTP:
        return remote
    return CascadeBackend(build_local(settings), remote, notices, settings.backend.patience_ms / 1e3)
