"""Documents in which nothing is ever suggested."""

from __future__ import annotations

from functools import lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING
from urllib.parse import unquote

from midspan_lsp.documents import path_of
from midspan_lsp.lsp.settings import compile_patterns
from midspan_lsp.memory.secrets import is_secret_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from midspan_lsp.config import Settings
    from midspan_lsp.documents import DocumentSnapshot


_NO_TEXT_OF_THE_USER = frozenset({"output", "term", "vscode-terminal", "debug", "chat-editing-snapshot-text-model"})
"""Schemes of what editors show in documents though nobody writes there."""

_NO_CODE = frozenset({"scminput", "telescopeprompt", "dap-repl", "snacks_picker_input", "alpha", "dashboard", "lazy"})
"""Language ids of prompts and dashboards."""

_MOST_KNOWN = 128


class Exclusions:
    """Languages that are switched off, ignored files, files that look like secrets, and what is no document at all.

    Args:
        settings: a pattern that begins with `!` lets a secret-looking file in.
        folders: the workspace folders, which patterns start from.
    """

    def __init__(self, settings: Settings, folders: Sequence[str]) -> None:
        self._disabled = frozenset(settings.languages.disabled)
        self._ignored = compile_patterns(settings.completion.ignore)
        self._folders = sorted((PurePath(folder) for folder in folders), key=lambda one: len(one.parts), reverse=True)
        # asked at every key, and each path made interns its names: 20,000 of them double Python's table, by 1 MB
        self._known = lru_cache(_MOST_KNOWN)(self._reason)

    def reason(self, snapshot: DocumentSnapshot) -> str | None:
        """Why a document is one of them, in words for the user; None if it is none."""
        return self._known(snapshot.uri, snapshot.language_id)

    def _reason(self, uri: str, language_id: str) -> str | None:
        if language_id in self._disabled:
            return f"{language_id} is switched off"
        scheme = uri.partition(":")[0].lower()
        if language_id.lower() in _NO_CODE or scheme in _NO_TEXT_OF_THE_USER:
            return "nobody writes code here"
        name = self._name(uri)
        is_ignored = self._ignored.check_file(name).include
        if is_ignored:
            return "the file is ignored"
        return "the file looks as if it held secrets" if is_ignored is None and is_secret_file(name) else None

    def _name(self, uri: str) -> str:
        """The path below the workspace folder, or all there is."""
        name = path_of(uri)
        if name is None:
            return unquote(uri)
        path = PurePath(name)
        folder = next((folder for folder in self._folders if path.is_relative_to(folder)), PurePath(path.anchor))
        return path.relative_to(folder).as_posix()
