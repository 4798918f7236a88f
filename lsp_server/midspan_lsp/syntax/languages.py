"""The languages the gate can judge: one table from ids, file endings and shebangs to grammars, loaded when needed."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import PurePath

from tree_sitter import Language, Parser

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Entry:
    """One language.

    Attributes:
        module: the grammar's wheel.
        endings: of file names, in lower case.
        interpreters: names after `#!`, without a version.
        closers: what ends a string or comment in which a cursor may stand.
        function: gives the grammar.
    """

    module: str
    endings: tuple[str, ...]
    interpreters: tuple[str, ...] = ()
    closers: tuple[str, ...] = ('"', "'", "`", "*/")
    function: str = "language"


_LANGUAGES: dict[str, _Entry] = {
    "python": _Entry("tree_sitter_python", (".py", ".pyi"), ("python",), ('"', "'", '"""', "'''")),
    "javascript": _Entry("tree_sitter_javascript", (".js", ".mjs", ".cjs"), ("node",)),
    "javascriptreact": _Entry("tree_sitter_javascript", (".jsx",)),
    "typescript": _Entry("tree_sitter_typescript", (".ts", ".mts", ".cts"), function="language_typescript"),
    "typescriptreact": _Entry("tree_sitter_typescript", (".tsx",), function="language_tsx"),
    "go": _Entry("tree_sitter_go", (".go",), closers=('"', "`", "*/")),
    "rust": _Entry("tree_sitter_rust", (".rs",), closers=('"', '"#', "*/")),
}

_OF_ENDING = {ending: name for name, entry in _LANGUAGES.items() for ending in entry.endings}
_OF_INTERPRETER = {word: name for name, entry in _LANGUAGES.items() for word in entry.interpreters}
# the interpreter of "#!/usr/bin/python3.11 -u" and of "#!/usr/bin/env -S A=1 node --flag"
_SHEBANG = re.compile(r"\ufeff?#!\s*(?:\S*/env(?:\s+(?:-\S+|\w+=\S*))*\s+)?(?:\S*/)?([a-z]+)[\d.]*(?:\s|$)")


def language_id_of(path: str | PurePath, first_line: str) -> str:
    """The LSP language id of a file, by its name or else by its shebang; "" where unknown."""
    by_ending = _OF_ENDING.get(PurePath(path).suffix.lower())
    if by_ending is not None:
        return by_ending
    shebang = _SHEBANG.match(first_line)
    return _OF_INTERPRETER.get(shebang[1], "") if shebang else ""


def parser_for(language_id: str) -> Parser | None:
    """A new parser; None means no opinion: an unknown language, or a grammar that is not installed.

    Grammars are shared between threads; a parser is its caller's alone.
    """
    grammar = _grammar(language_id)
    return None if grammar is None else Parser(grammar)


def text_closers(language_id: str) -> tuple[str, ...]:
    """What may end a string or comment of the language; none where it is unknown."""
    entry = _LANGUAGES.get(language_id)
    return () if entry is None else entry.closers


def validated_languages() -> list[str]:
    """Ids of the languages whose grammar is installed here."""
    return [language_id for language_id in _LANGUAGES if _grammar(language_id) is not None]


@cache
def _grammar(language_id: str) -> Language | None:
    entry = _LANGUAGES.get(language_id)
    if entry is None:
        return None
    try:
        grammar: object = getattr(import_module(entry.module), entry.function)()
        return Language(grammar)
    except (ImportError, AttributeError, ValueError) as error:  # missing, or of another ABI
        _logger.warning("no syntax check for %s: %s", language_id, error)
        return None
