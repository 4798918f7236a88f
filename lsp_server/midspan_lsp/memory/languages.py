"""Which texts are searched together: families of languages, by language id or file name. Pure."""

from __future__ import annotations

_FAMILIES = {
    "python": "python cython .py .pyi .pyx",
    "javascript": "javascript javascriptreact typescript typescriptreact vue svelte"
    " .js .mjs .cjs .jsx .ts .mts .cts .tsx .vue .svelte",
    "c": "c cpp objective-c objective-cpp cuda .c .h .cc .cpp .cxx .hh .hpp .hxx .m .mm .cu",
    "java": "java kotlin groovy scala .java .kt .kts .groovy .scala",
    "go": "go .go",
    "rust": "rust .rs",
    "csharp": "csharp fsharp .cs .fs",
    "ruby": "ruby .rb .rake",
    "php": "php .php",
    "swift": "swift .swift",
    "dart": "dart .dart",
    "lua": "lua .lua",
    "perl": "perl .pl .pm",
    "r": "r .r",
    "julia": "julia .jl",
    "elixir": "elixir .ex .exs",
    "erlang": "erlang .erl .hrl",
    "haskell": "haskell .hs",
    "ocaml": "ocaml .ml .mli",
    "zig": "zig .zig",
    "shell": "shellscript .sh .bash .zsh",
    "sql": "sql .sql",
    "css": "css scss less .css .scss .less",
    "html": "html .html .htm .jinja .j2",
    "markdown": "markdown restructuredtext .md .rst",
    "yaml": "yaml dockercompose .yaml .yml",
    "toml": "toml .toml",
    "cmake": "cmake .cmake",
    "protobuf": "proto proto3 .proto",
}
_OF = {word: family for family, words in _FAMILIES.items() for word in words.split()}
ENDINGS = tuple(word for word in _OF if word.startswith("."))
"""Of the names of files that hold code."""


def family_of(language_id: str, name: str = "") -> str:
    """The family of a document by its language id, or else by the ending of its name; the id itself where unknown."""
    known = _OF.get(language_id)
    return known or family_of_name(name) or language_id


def family_of_name(name: str) -> str:
    """The family of a file by the ending of its name; "" where it is not known to hold code."""
    dot = name.rfind(".")
    return _OF.get(name[dot:].lower(), "") if dot > 0 else ""
