"""The language of a text whose client does not tell it: most completion requests over HTTP name no file. Pure."""

from __future__ import annotations

import re

from midspan_lsp.syntax.languages import canonical_id, language_id_of

_HEAD_LENGTH = 4000
"""Code points around the cursor that are looked at, on each side."""
_LEAST_SIGNS, _LEAST_LEAD = 2, 2.0

# statements that hardly any other of these languages has, at the start of a line
_SIGNS: dict[str, str] = {
    "python": r"(?:async )?def \w+\(.*\).*:$|class \w+.*:$|from [\w.]+ import |import \w[\w.]*(?: as \w+)?$|"
    r"(?:el)?if .+:$|for .+ in .+:$|@\w[\w.]*$|return self\b|self\.\w+ = |except .*:$|with .+:$",
    "javascript": r"(?:export )?(?:async )?function\*? ?\w*\([^:]*\) ?\{$|const .+ = require\(|module\.exports\b|"
    r"(?:const|let|var) \w+ = |import .+ from ['\"]|\}\);?$|.+ => \{$|console\.log\(",
    "typescript": r"(?:export )?(?:interface|type|enum) \w+.*[{=]|"
    r"(?:const|let|public|private|readonly) \w+\??: \w+|"
    r"(?:export )?(?:async )?function \w+\(.*\w\??: .*\).*\{$|.*\): (?:Promise<.*>|\w+(?:\[\])?) \{$|"
    r"import type |\w+\??: (?:string|number|boolean)\b",
    "go": r"package \w+$|func (?:\(\w+ \*?\w+\) )?\w+\(.*\{$|import \($|.*\w :?= .*\bmake\(|"
    r"\w+(?:, \w+)* := |if err != nil \{$|type \w+ (?:struct|interface) \{$|defer |fmt\.",
    "rust": r"(?:pub(?:\(\w+\))? )?(?:async )?fn \w+.*[{,(]$|let (?:mut )?\w+.*=|impl\b.* \{$|"
    r"use (?:crate|std|super|\w+)::|(?:pub )?(?:struct|enum|trait|mod) \w+.*[{;]$|#!?\[\w+|"
    r"match .+ \{$|.*println!\(",
    "java": r"(?:public|private|protected) (?:static |final |abstract )*[\w<>\[\], ]+[\w)] ?[({=;]|"
    r"package [\w.]+;$|import (?:static )?[\w.]+(?:\.\*)?;$|@Override$|.*\bSystem\.out\.|"
    r".* = new \w+(?:<.*>)?\(.*;$",
    "c": r"#include <\w+\.h>|#(?:define|ifdef|ifndef|endif)\b|"
    r"(?:static |const |unsigned )*(?:int|void|char|size_t|double) \*?\w+\(.*|typedef struct|"
    r".*\w->\w|.*\b(?:printf|malloc|sizeof|free)\(|struct \w+ \*?\w+",
    "cpp": r"#include <\w+>$|.*\bstd::|template ?<|namespace \w+|using namespace |"
    r"(?:public|private|protected):$|.*\bcout <<",
    "ruby": r"def \w+[?!]?(?:\(.*\))?$|class \w+(?: < [\w:]+)?$|module \w+$|require(?:_relative)? ['\"]|"
    r".* do(?: \|.*\|)?$|end$|attr_\w+ :|@\w+ = ",
    "php": r"<\?php|.*\$\w+(?:->\w+|\[.*\])? = .*;$|.*\$this->|namespace [\w\\]+;$|use [\w\\]+;$|"
    r"(?:public |private )function ",
    "shellscript": r"if \[\[? .* \]\]?; then$|fi$|done$|esac$|\w+=\$?[\w\"'(].*|for \w+ in .*; do$|echo [\"$]|"
    r"export \w+=|then$",
    "lua": r"local (?:function )?\w+|function [\w.:]+\(.*\)$|.* then$|end,?$|return require\(",
    "html": r"<!DOCTYPE html|</?(?:html|head|body|div|span|p|a|ul|li|script|link|meta|h[1-6])\b",
}
_PATTERNS = {name: re.compile(rf"^[ \t]*(?:{signs})", re.MULTILINE) for name, signs in _SIGNS.items()}


def language_of(prefix: str, suffix: str, path: str = "", told: str = "") -> str:
    """The editor's id of a language: as told, by the path, by a shebang, or by its look; "" where nothing is clear.

    A wrong guess would have the syntax gate drop good middles, so a look must be clearly that of one language.
    """
    if told:
        return canonical_id(told.lower()) or told
    first_line = (prefix or suffix).split("\n", 1)[0]
    if found := language_id_of(path, first_line):
        return found
    return "" if path else _by_look(prefix[-_HEAD_LENGTH:] + suffix[:_HEAD_LENGTH])


def _by_look(text: str) -> str:
    counts = {name: len(pattern.findall(text)) for name, pattern in _PATTERNS.items()}
    if counts["cpp"]:
        counts["cpp"] += counts["c"]
        counts["c"] = 0
    if counts["typescript"]:
        counts["typescript"] += counts["javascript"]
        counts["javascript"] = 0
    best, second = sorted(counts.items(), key=lambda one: one[1], reverse=True)[:2]
    return best[0] if best[1] >= max(_LEAST_SIGNS, _LEAST_LEAD * second[1]) else ""
