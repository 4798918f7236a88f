"""The rules by language and kind of node: what a language refuses although its grammar takes it. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from tree_sitter import Node

Rule = Callable[[Node, bytes], Node | None]
"""(node, source) -> the node that is at fault, if the language refuses this one. `Node.text` would crash here."""


def _reserved(*words: bytes) -> Rule:
    """Refuses words that end or divide a block, where the grammar takes them for names."""

    def rule(node: Node, source: bytes) -> Node | None:
        return node if source[node.start_byte : node.end_byte] in words else None

    return rule


def _not_first(node: Node, _source: bytes) -> Node | None:
    """Refuses what must stand before all else at the top of a file, if something stands before it."""
    before = node.prev_named_sibling
    while before is not None and "comment" in before.type:
        before = before.prev_named_sibling
    return None if before is None else node


def _not_last(node: Node, _source: bytes) -> Node | None:
    """Refuses what must end its block, if something stands behind it."""
    behind = node.next_named_sibling
    return node if behind is not None and behind.type != "comment" else None


def _said_again(node: Node, source: bytes) -> Node | None:
    """Refuses a key or table whose name another one beside it has; each table of an array has its own."""
    parent = node.parent
    if parent is None or not node.named_children:
        return None
    name = _name(node, source)
    for child in parent.named_children:
        if child.type == "table_array_element" and name.startswith(_name(child, source) + b"."):
            return None
        if child.type == node.type and child.id != node.id and _name(child, source) == name:
            return node
    return None


def _name(node: Node, source: bytes) -> bytes:
    first = node.named_children[0] if node.named_children else node
    return source[first.start_byte : first.end_byte]


def _always(node: Node, _source: bytes) -> Node:
    return node


def _without(*kinds: str) -> Rule:
    """Refuses a node that has no child of these kinds."""

    def rule(node: Node, _source: bytes) -> Node | None:
        return None if node.has_error or any(child.type in kinds for child in node.named_children) else node

    return rule


def _outside(*kinds: str, within: tuple[str, ...] = ()) -> Rule:
    """Refuses a node that is in none of these kinds; one of `within` ends the search."""

    def rule(node: Node, _source: bytes) -> Node | None:
        above = node.parent
        while above is not None and above.type not in kinds:
            if above.is_error or above.type in within:
                return None if above.is_error else node
            above = above.parent
        return node if above is None else None

    return rule


def _at_top(node: Node, _source: bytes) -> Node | None:
    """Refuses a statement that stands in no function; a lone call may be a macro that makes a declaration."""
    parent = node.parent
    if parent is None or parent.parent is not None or parent.is_error or node.has_error:
        return None
    parts = [child.type for child in node.named_children]
    return None if node.type == "expression_statement" and parts == ["call_expression"] else node


def _at_top_of_package(node: Node, _source: bytes) -> Node | None:
    """Refuses an expression that stands in no definition, but not in a script: that has no package."""
    parent = node.parent
    if parent is None or parent.type != "compilation_unit" or node.has_error:
        return None
    return node if any(child.type == "package_clause" for child in parent.named_children) else None


def _empty(node: Node, _source: bytes) -> Node | None:
    return node if all(child.type == "comment" for child in node.named_children) and not node.has_error else None


def _bare_after_keyword(node: Node, _source: bytes) -> Node | None:
    """The first plain argument or parameter behind one with a keyword or default."""
    with_keyword = {"keyword_argument", "dictionary_splat", "default_parameter", "typed_default_parameter"}
    keyword = False
    for child in node.named_children:
        if child.type in {"list_splat_pattern", "keyword_separator"}:
            return None  # parameters behind a star are keywords all
        if keyword and child.type not in {*with_keyword, *_SPLATS}:
            return child
        keyword = keyword or child.type in with_keyword
    return None


_SPLATS = {"list_splat", "dictionary_splat_pattern", "comment", "positional_separator", "parenthesized_list_splat"}


def _end_tag_of_another(node: Node, source: bytes) -> Node | None:
    """The name of an end tag that is not that of its start tag."""
    tags = [child for child in node.named_children if child.type in {"jsx_opening_element", "jsx_closing_element"}]
    for opening, closing in pairwise(tags):
        names = [tag.child_by_field_name("name") for tag in (opening, closing)]
        texts = [source[name.start_byte : name.end_byte] if name is not None else b"" for name in names]
        if texts[0] != texts[1]:
            return names[1] or closing
    return None


def _brace_on_next_line(node: Node, _source: bytes) -> Node | None:
    """A block whose brace does not stand on the line on which its head ends, where a line end ends a statement."""
    head = node.prev_sibling
    return node if head is not None and node.start_point.row > head.end_point.row else None


def _in_a_body(node: Node, _source: bytes) -> Node | None:
    """Refuses a constructor's initialisers where its definition stands in a function's body."""
    above = node.parent.parent if node.parent is not None else None
    return node if above is not None and above.type == "compound_statement" else None


def _plain_expression(node: Node, source: bytes) -> Node | None:
    """Refuses an expression in the place of a declaration, unless it looks like Template Haskell."""
    text = source[node.start_byte : node.end_byte]
    return None if node.has_error or any(sign in text for sign in b"'$[") else node


def _select_twice(node: Node, source: bytes) -> Node | None:
    """Refuses a column that is called select behind the keyword, where its own begins with a comment or line."""
    before = source[max(0, node.start_byte - _MOST_BETWEEN) : node.start_byte]
    is_word = source[node.start_byte : node.end_byte].lower() == b"select"
    return node if is_word and _BEHIND_SELECT.search(before) else None


_MOST_BETWEEN = 400
_BEHIND_SELECT = re.compile(rb"\bselect(?:\s|--[^\n]*\n)+$", re.IGNORECASE)


@dataclass(frozen=True)
class Rules:
    """What a language refuses, by kind of node: whatever follows, or if nothing more follows."""

    wrong: Mapping[str, Rule] = field(default_factory=dict[str, Rule])
    unfinished: Mapping[str, Rule] = field(default_factory=dict[str, Rule])


_STATEMENTS = [f"{word}_statement" for word in ("expression", "if", "for", "while", "do", "return", "switch")]
_TOP = dict.fromkeys(_STATEMENTS, _at_top)
_EXPRESSIONS = [
    f"{word}_expression"
    for word in ("call", "field", "if", "for", "while", "match", "infix", "postfix", "prefix", "assignment", "instance")
]
_TRY = {"try_statement": _without("catch_clause", "finally_clause")}
_LOOPS = ("for_statement", "while_statement")
_SCRIPT = Rules(
    wrong={"jsx_element": _end_tag_of_another},
    unfinished=_TRY,
)
RULES: dict[str, Rules] = {
    "python": Rules(
        wrong={
            "print_statement": _always,
            "exec_statement": _always,
            "argument_list": _bare_after_keyword,
            "parameters": _bare_after_keyword,
            "lambda_parameters": _bare_after_keyword,
            "return_statement": _outside("function_definition", within=("class_definition",)),
            "break_statement": _outside(*_LOOPS, within=("function_definition", "class_definition")),
            "continue_statement": _outside(*_LOOPS, within=("function_definition", "class_definition")),
        },
        unfinished={
            "block": _empty,
            "try_statement": _without("except_clause", "except_group_clause", "finally_clause"),
        },
    ),
    "javascript": _SCRIPT,
    "javascriptreact": _SCRIPT,
    "typescript": _SCRIPT,
    "typescriptreact": _SCRIPT,
    "java": Rules(wrong=_TOP, unfinished=_TRY),
    "csharp": Rules(unfinished=_TRY),
    "c": Rules(wrong=_TOP),
    "cpp": Rules(wrong={**_TOP, "field_initializer_list": _in_a_body}),
    "haskell": Rules(unfinished={"top_splice": _plain_expression}),
    "go": Rules(
        wrong={
            "block": _brace_on_next_line,
            "package_clause": _not_first,
            **_TOP,
            **dict.fromkeys(
                ("short_var_declaration", "assignment_statement", "go_statement", "defer_statement"), _at_top
            ),
        }
    ),
    "shellscript": Rules(
        wrong={"command_name": _reserved(b"then", b"do", b"done", b"fi", b"esac", b"else", b"elif", b"}")}
    ),
    "ruby": Rules(wrong={"identifier": _reserved(b"end", b"else", b"elsif", b"when", b"rescue", b"ensure")}),
    "lua": Rules(
        wrong={
            "identifier": _reserved(b"local", b"end", b"then", b"do", b"else", b"elseif", b"until"),
            "return_statement": _not_last,
        }
    ),
    "sql": Rules(wrong={"identifier": _select_twice}),
    "toml": Rules(wrong={"pair": _said_again, "table": _said_again}),
    "html": Rules(wrong={"erroneous_end_tag": _always}),
    "scala": Rules(
        wrong=dict.fromkeys([*_EXPRESSIONS, "identifier", "operator_identifier", "string"], _at_top_of_package)
    ),
    "rust": Rules(wrong={"expression_statement": _at_top, "let_declaration": _at_top}),
}
