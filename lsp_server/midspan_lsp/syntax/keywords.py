"""Reserved words, which most grammars take for names where the word itself cannot stand.

Where no rule of a grammar has a place for a keyword, tree-sitter's lexer falls back to a name, so `x = return` parses
unless the grammar lists its reserved words. The lists are the languages' own, less what their grammars call a name
where it is right (as Kotlin's `null`, and words that C's macros make a riddle), and less what only some versions
reserve.
"""

from __future__ import annotations

from tree_sitter import Node

from midspan_lsp.syntax.refusals import Rule

_MEMBER_SIGNS = (b".", b"->", b"::", b"@", b"#", b"$", b"&")
_NAMED_BY = (b"def", b"fun", b"func", b"function", b"const", b"case")
_NEAR = 16

_SCRIPT = """
    break case catch class const continue debugger default delete do else export extends finally for function if import
    in instanceof new return super switch throw try typeof var void while with
"""
_C = """
    break case continue default do else enum extern for goto if register return sizeof static struct switch typedef
    union volatile while
"""
_CPP = """
    break case catch class constexpr continue do else enum export extern for friend goto mutable namespace new noexcept
    private protected public register return static struct switch template thread_local throw try typedef typeid
    typename union virtual volatile while
"""
_CSHARP = """
    abstract break case catch checked class const continue default do else enum event explicit extern finally fixed for
    foreach goto if implicit in interface internal is lock namespace operator override params private protected public
    readonly return sealed stackalloc struct switch throw try typeof unchecked unsafe using virtual volatile while
"""
_JAVA = """
    abstract assert break case catch class const continue default do else enum extends final finally for goto if
    implements import instanceof interface native new package private protected public return static super switch
    synchronized throw throws transient try volatile while
"""
_RUST = """
    as await break continue enum extern fn for if impl let loop match mod move mut pub return struct trait type
    use where while
"""
_KOTLIN = "as do else for fun if in interface is object package return throw try typealias val var when while"
_SCALA = "catch else extends finally if import match object package return throw trait try val var while with"
_SWIFT = "break case catch continue else enum fallthrough func guard if let return switch throw var where while"
_HASKELL = (
    "class data default deriving else foreign import in infix infixl infixr instance module newtype of then where"
)
_LUA = "and break do else elseif end for if in local not or repeat return then until while"
_PHP = """
    and break catch continue do echo else elseif endfor endforeach endif endswitch endwhile extends finally for foreach
    global goto if implements instanceof insteadof or private protected public return switch throw try use while xor
"""
_RUBY = "alias and def do else elsif end ensure if in module not or rescue then undef unless until when while"

# kinds of names, and the words
_NAMES: dict[str, tuple[tuple[str, ...], str]] = {
    "typescript": (("identifier", "type_identifier"), _SCRIPT),
    "typescriptreact": (("identifier", "type_identifier"), _SCRIPT),
    "javascript": (("identifier",), _SCRIPT),
    "javascriptreact": (("identifier",), _SCRIPT),
    "c": (("identifier", "type_identifier", "field_identifier"), _C),
    "cpp": (("identifier", "type_identifier", "field_identifier"), _CPP),
    "csharp": (("identifier",), _CSHARP),
    "java": (("identifier", "type_identifier"), _JAVA),
    "rust": (("identifier", "type_identifier"), _RUST),
    "kotlin": (("identifier",), _KOTLIN),
    "scala": (("identifier", "type_identifier"), _SCALA),
    "swift": (("simple_identifier", "type_identifier"), _SWIFT),
    "haskell": (("variable",), _HASKELL),
    "lua": (("identifier",), _LUA),
    "php": (("name",), _PHP),
    "ruby": (("identifier",), _RUBY),
}
LANGUAGES_WITH_KEYWORDS = frozenset(_NAMES)


def no_names(language_id: str) -> dict[str, Rule]:
    """A rule for each kind of name that a language has: a reserved word is none."""
    kinds, words = _NAMES.get(language_id, ((), ""))
    rule = _no_name(frozenset(word.encode() for word in words.split()))
    return dict.fromkeys(kinds, rule)


def _no_name(words: frozenset[bytes]) -> Rule:
    def rule(node: Node, source: bytes) -> Node | None:
        if source[node.start_byte : node.end_byte] not in words or node.child_count:
            return None
        parent = node.parent
        if parent is None or parent.is_error or parent.has_error:
            return None  # while it mends an error the parser takes a keyword for a name, too
        before = source[max(0, node.start_byte - _NEAR) : node.start_byte]
        is_member = before.rstrip().endswith(_MEMBER_SIGNS) or before.split()[-1:] in [[word] for word in _NAMED_BY]
        is_label = source[node.end_byte : node.end_byte + _NEAR].lstrip()[:1] == b":"
        return None if is_member or is_label else node

    return rule
