"""Rules of languages: each says of a node whether the language refuses it although its grammar takes it. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

from tree_sitter import Node

Rule = Callable[[Node, bytes], Node | None]
"""(node, source) -> the node that is at fault, if the language refuses this one. `Node.text` would crash here."""


def either(*rules: Rule) -> Rule:
    """Refuses what one of these refuses."""

    def rule(node: Node, source: bytes) -> Node | None:
        return next((culprit for one in rules if (culprit := one(node, source)) is not None), None)

    return rule


def reserved(*words: bytes) -> Rule:
    """Refuses words that end or divide a block, where the grammar takes them for names."""

    def rule(node: Node, source: bytes) -> Node | None:
        return node if source[node.start_byte : node.end_byte] in words else None

    return rule


def not_first(node: Node, _source: bytes) -> Node | None:
    """Refuses what must stand before all else at the top of a file, if something stands before it."""
    before = node.prev_named_sibling
    while before is not None and "comment" in before.type:
        before = before.prev_named_sibling
    return None if before is None else node


def not_last(node: Node, _source: bytes) -> Node | None:
    """Refuses what must end its block, if something stands behind it."""
    behind = node.next_named_sibling
    return node if behind is not None and behind.type != "comment" else None


def of_nothing(node: Node, _source: bytes) -> Node | None:
    """Refuses an attribute behind which nothing stands that could have it."""
    behind = node.next_named_sibling
    while behind is not None and (behind.type == node.type or "comment" in behind.type):
        behind = behind.next_named_sibling
    return node if behind is None else None


def always(node: Node, _source: bytes) -> Node:
    """Refuses it wherever it stands."""
    return node


def without(*kinds: str) -> Rule:
    """Refuses a node that has no child of these kinds."""

    def rule(node: Node, _source: bytes) -> Node | None:
        return None if node.has_error or any(child.type in kinds for child in node.named_children) else node

    return rule


def outside(*kinds: str, within: tuple[str, ...] = ()) -> Rule:
    """Refuses a node that is in none of these kinds; one of `within` ends the search."""

    def rule(node: Node, _source: bytes) -> Node | None:
        above = node.parent
        while above is not None and above.type not in kinds:
            if above.is_error or above.type in within:
                return None if above.is_error else node
            above = above.parent
        return node if above is None else None

    return rule


def at_top(node: Node, _source: bytes) -> Node | None:
    """Refuses a statement that stands in no function; a lone call or macro may make a declaration."""
    parent = node.parent
    if parent is None or parent.parent is not None or parent.is_error or node.has_error:
        return None
    parts = [child.type for child in node.named_children]
    return (
        None if node.type == "expression_statement" and parts in (["call_expression"], ["macro_invocation"]) else node
    )


def at_top_of_package(node: Node, _source: bytes) -> Node | None:
    """Refuses an expression that stands in no definition, but not in a script: that has no package."""
    parent = node.parent
    if parent is None or parent.type != "compilation_unit" or node.has_error:
        return None
    return node if any(child.type == "package_clause" for child in parent.named_children) else None


def empty(node: Node, _source: bytes) -> Node | None:
    """Refuses what holds nothing but comments."""
    return node if all(child.type == "comment" for child in node.named_children) and not node.has_error else None


def bare_after_keyword(node: Node, _source: bytes) -> Node | None:
    """The first plain argument or parameter behind one with a keyword or default."""
    with_keyword = {"keyword_argument", "dictionary_splat", "default_parameter", "typed_default_parameter"}
    keyword = False
    for child in node.named_children:
        kind = child.named_children[0].type if child.type == "typed_parameter" and child.named_children else child.type
        if kind in {"list_splat_pattern", "keyword_separator"}:
            return None  # parameters behind a star are keywords all
        if keyword and kind not in {*with_keyword, *_SPLATS}:
            return child
        keyword = keyword or child.type in with_keyword
    return None


_SPLATS = {"list_splat", "dictionary_splat_pattern", "comment", "positional_separator", "parenthesized_list_splat"}


def end_tag_of_another(node: Node, source: bytes) -> Node | None:
    """The name of an end tag that is not that of its start tag."""
    tags = [child for child in node.named_children if child.type in {"jsx_opening_element", "jsx_closing_element"}]
    for opening, closing in pairwise(tags):
        names = [tag.child_by_field_name("name") for tag in (opening, closing)]
        texts = [source[name.start_byte : name.end_byte] if name is not None else b"" for name in names]
        if texts[0] != texts[1]:
            return names[1] or closing
    return None


def brace_on_next_line(node: Node, _source: bytes) -> Node | None:
    """A block whose brace does not stand on the line on which its head ends, where a line end ends a statement."""
    head = node.prev_sibling
    if head is None or node.parent is None or node.parent.type in _HOLD_STATEMENTS:
        return None  # a block by itself
    return node if node.start_point.row > head.end_point.row else None


_HOLD_STATEMENTS = {"block", "statement_list", "expression_case", "default_case", "type_case", "communication_case"}


def in_a_body(node: Node, _source: bytes) -> Node | None:
    """Refuses a constructor's initialisers where its definition stands in a function's body."""
    above = node.parent.parent if node.parent is not None else None
    return node if above is not None and above.type == "compound_statement" else None


def in_marked_class(node: Node, _source: bytes) -> Node | None:
    """Refuses a statement among members, where a macro before a class's name has the grammar see a function."""
    above = node.parent
    while above is not None and above.type == "labeled_statement":  # `public:`
        above = above.parent
    whole = above.parent if above is not None and above.type == "compound_statement" else None
    if whole is None or whole.type != "function_definition" or not whole.named_children:
        return None
    return node if whole.named_children[0].type in _CLASSES else None


_CLASSES = {"class_specifier", "struct_specifier", "union_specifier"}


def plain_expression(node: Node, source: bytes) -> Node | None:
    """Refuses an expression in the place of a declaration, unless it looks like Template Haskell."""
    text = source[node.start_byte : node.end_byte]
    return None if node.has_error or any(sign in text for sign in b"'$[") else node


def select_twice(node: Node, source: bytes) -> Node | None:
    """Refuses a column that is called select behind the keyword, where its own begins with a comment or line."""
    before = source[max(0, node.start_byte - _MOST_BETWEEN) : node.start_byte]
    is_word = source[node.start_byte : node.end_byte].lower() == b"select"
    return node if is_word and _BEHIND_SELECT.search(before) else None


_MOST_BETWEEN = 400
_BEHIND_SELECT = re.compile(rb"\bselect(?:\s|--[^\n]*\n)+$", re.IGNORECASE)


def access_within(*kinds: str) -> Rule:
    """Refuses private, public and the like in front of what stands in one of these kinds."""

    def rule(node: Node, source: bytes) -> Node | None:
        is_access = _ACCESS & {*source[node.start_byte : node.end_byte].split()}
        above = [node.parent]
        while above[-1] is not None and len(above) < _MOST_ABOVE:
            above.append(above[-1].parent)
        return node if is_access and any(one is not None and one.type in kinds for one in above) else None

    return rule


_ACCESS = {b"private", b"public", b"protected", b"internal"}
_MOST_ABOVE = 3
