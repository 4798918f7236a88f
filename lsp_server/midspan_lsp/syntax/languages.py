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
        aliases: other ids that editors use.
        closers: what ends a string or comment in which a cursor may stand.
        function: gives the grammar.
    """

    module: str
    endings: tuple[str, ...]
    interpreters: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    closers: tuple[str, ...] = ('"', "'", "`", "*/")
    function: str = "language"


_ONLY_OF_COMMENTS = frozenset({"*/", "-->", "-}"})
_C_CLOSERS = ('"', "'", "*/")

_LANGUAGES: dict[str, _Entry] = {
    "python": _Entry("tree_sitter_python", (".py", ".pyi"), ("python",), closers=('"', "'", '"""', "'''")),
    "javascript": _Entry("tree_sitter_javascript", (".js", ".mjs", ".cjs"), ("node",)),
    "javascriptreact": _Entry("tree_sitter_javascript", (".jsx",)),
    "typescript": _Entry("tree_sitter_typescript", (".ts", ".mts", ".cts"), function="language_typescript"),
    "typescriptreact": _Entry("tree_sitter_typescript", (".tsx",), function="language_tsx"),
    "go": _Entry("tree_sitter_go", (".go",), closers=('"', "`", "*/")),
    "rust": _Entry("tree_sitter_rust", (".rs",), closers=('"', '"#', "*/")),
    "java": _Entry("tree_sitter_java", (".java",), closers=('"', "'", '"""', "*/")),
    "c": _Entry("tree_sitter_c", (".c",), closers=_C_CLOSERS),
    "cpp": _Entry("tree_sitter_cpp", (".cpp", ".cc", ".cxx", ".hpp", ".hh", ".hxx", ".h"), closers=_C_CLOSERS),
    "csharp": _Entry("tree_sitter_c_sharp", (".cs", ".csx"), aliases=("cs", "c_sharp"), closers=('"', "'", "*/")),
    "ruby": _Entry("tree_sitter_ruby", (".rb", ".rake", ".gemspec"), ("ruby",), closers=('"', "'", "`")),
    "php": _Entry("tree_sitter_php", (".php",), ("php",), closers=('"', "'", "*/"), function="language_php"),
    "shellscript": _Entry(
        "tree_sitter_bash", (".sh", ".bash"), ("sh", "bash", "dash", "ksh"), ("sh", "bash"), closers=('"', "'", "`")
    ),
    "lua": _Entry("tree_sitter_lua", (".lua",), ("lua", "luajit"), closers=('"', "'", "]]")),
    "kotlin": _Entry("tree_sitter_kotlin", (".kt", ".kts"), closers=('"', "'", '"""', "*/")),
    "scala": _Entry("tree_sitter_scala", (".scala", ".sc", ".sbt"), ("scala",), closers=('"', "'", '"""', "*/")),
    "swift": _Entry("tree_sitter_swift", (".swift",), ("swift",), closers=('"', '"""', "*/")),
    "haskell": _Entry("tree_sitter_haskell", (".hs",), ("runhaskell", "runghc"), closers=('"', "'", "-}")),
    "html": _Entry("tree_sitter_html", (".html", ".htm"), closers=('"', "'", "-->")),
    "css": _Entry("tree_sitter_css", (".css",), closers=('"', "'", "*/")),
    "json": _Entry("tree_sitter_json", (".json",), closers=('"',)),
    "yaml": _Entry("tree_sitter_yaml", (".yaml", ".yml"), aliases=("dockercompose",), closers=('"', "'")),
    "toml": _Entry("tree_sitter_toml", (".toml",), closers=('"', "'", '"""', "'''")),
    "sql": _Entry("tree_sitter_sql", (".sql",), closers=('"', "'", "*/")),
    "markdown": _Entry("tree_sitter_markdown", (".md", ".markdown"), closers=()),
}

_OF_ID = {alias: name for name, entry in _LANGUAGES.items() for alias in (name, *entry.aliases)}
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
    grammar = _grammar(canonical_id(language_id))
    return None if grammar is None else Parser(grammar)


def canonical_id(language_id: str) -> str:
    """The id under which the gate knows a language that editors name in several ways; "" where it is unknown."""
    return _OF_ID.get(language_id, "")


def text_closers(language_id: str) -> tuple[str, ...]:
    """What may end a string or comment of the language; none where it is unknown."""
    entry = _LANGUAGES.get(canonical_id(language_id))
    return () if entry is None else entry.closers


def comment_closers(language_id: str) -> tuple[str, ...]:
    """What ends a comment of the language, and means nothing else; none where it is unknown."""
    return tuple(closer for closer in text_closers(language_id) if closer in _ONLY_OF_COMMENTS)


def validated_languages() -> list[str]:
    """Ids of the languages whose grammar is installed here."""
    return [language_id for language_id in _LANGUAGES if _grammar(language_id) is not None]


def missing_grammars() -> dict[str, str]:
    """The wheel of each language that the gate could judge, were its grammar installed."""
    missing = _LANGUAGES.keys() - set(validated_languages())
    return {name: entry.module.replace("_", "-") for name, entry in _LANGUAGES.items() if name in missing}


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
