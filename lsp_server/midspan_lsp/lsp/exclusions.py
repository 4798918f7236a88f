"""Documents in which nothing is ever suggested."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING
from urllib.parse import unquote

from midspan_lsp.lsp.settings import compile_patterns
from midspan_lsp.memory.secrets import is_secret_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from midspan_lsp.config import Settings
    from midspan_lsp.documents import DocumentSnapshot


class Exclusions:
    """Languages that are switched off, ignored files, and files that look like secrets.

    Args:
        settings: a pattern that begins with `!` lets a secret-looking file in.
        folders: the workspace folders, which patterns start from.
    """

    def __init__(self, settings: Settings, folders: Sequence[str]) -> None:
        self._disabled = frozenset(settings.languages.disabled)
        self._ignored = compile_patterns(settings.completion.ignore)
        self._folders = sorted((PurePath(folder) for folder in folders), key=lambda one: len(one.parts), reverse=True)

    def exclude(self, snapshot: DocumentSnapshot) -> bool:
        """Whether a document is one of them."""
        if snapshot.language_id in self._disabled:
            return True
        name = self._name(snapshot)
        is_ignored = self._ignored.check_file(name).include
        return is_secret_file(name) if is_ignored is None else is_ignored

    def _name(self, snapshot: DocumentSnapshot) -> str:
        """The path below the workspace folder, or all there is."""
        if snapshot.path is None:
            return unquote(snapshot.uri)
        path = PurePath(snapshot.path)
        folder = next((folder for folder in self._folders if path.is_relative_to(folder)), PurePath(path.anchor))
        return path.relative_to(folder).as_posix()
