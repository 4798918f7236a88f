"""What stands in a text for code that is yet to come: `...`, lone `pass`, `TODO`, `todo!()` and their like."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from midspan_lsp.syntax.parsing import OutOfTimeError, TimeLimit, encode
from midspan_lsp.syntax.trees import ByteRange, children_touching, walk
from midspan_lsp.syntax.validate import TIME_LIMIT_S, parsed
from midspan_lsp.types import Span

MOST = 8
"""Placeholders of one function; what has more is no function to be filled but a template."""

_FUNCTIONS = frozenset(
    [
        "function_definition",
        "function_declaration",
        "generator_function_declaration",
        "function_expression",
        "arrow_function",
        "method_definition",
        "method_declaration",
        "constructor_declaration",
        "init_declaration",
        "function_item",
        "func_literal",
        "local_function_statement",
        "method",
        "singleton_method",
        "lambda_expression",
        "closure_expression",
    ]
)
_MARK = re.compile(
    r"(?:todo|unimplemented)!\s*\(.*\)|TODO(?:\s*\(.*\))?|\?\?\?|raise NotImplementedError(?:\(.*\))?", re.S
)
_TODO_COMMENT = re.compile(r"\s*(?:#+|/[/*]+|--|<!--|;+|%+)!?\s*(?:TODO|FIXME)\b")
_NO_CODE = re.compile("string|comment|text|type|char")
_MOST_BYTES = 400
_ELLIPSIS_IN = frozenset(
    [
        "expression_statement",
        "assignment",
        "return_statement",
        "argument_list",
        "keyword_argument",
        "pair",
        "list",
        "tuple",
        "block",
    ]
)
_PASS_IN = frozenset(
    [
        "function_definition",
        "if_statement",
        "elif_clause",
        "else_clause",
        "for_statement",
        "while_statement",
        "with_statement",
        "try_statement",
    ]
)


@dataclass(frozen=True)
class Placeholder:
    """One of them.

    Attributes:
        span: what is to be replaced, in code points; empty behind a comment that stays.
        lead: what goes in front of what is written there.
        is_body: whether it is all the code that its block has, so that several lines may take its place.
    """

    span: Span
    lead: str = ""
    is_body: bool = False


def placeholders(text: str, language_id: str, place: Span, uri: str = "") -> tuple[Placeholder, ...]:
    """Those of the innermost function around a place that has any; outside of functions those on the place's lines.

    Args:
        text: the document.
        language_id: as an editor names it; of a language without a grammar nothing is known.
        place: a cursor or a selection.
        uri: whose tree is kept for the next time.
    """
    found = parsed(text, language_id, uri)
    if found is None:
        return ()
    tree, source = found
    limit = TimeLimit(TIME_LIMIT_S)
    start, end = (len(encode(text[:edge])) for edge in (place.start, place.end))
    try:
        for function in _functions_around(tree.root_node, ByteRange(start, end)):
            if nodes := list(_marked(function, source, limit)):
                break
        else:
            line = ByteRange(source.rfind(b"\n", 0, start) + 1, (source.find(b"\n", end) + 1 or len(source) + 1) - 1)
            touched = [node for node, _ in walk(tree, limit, line) if _is_mark(node, source)]
            nodes = _outermost(
                [node for node in touched if node.start_byte >= line.start and node.end_byte <= line.end]
            )
    except OutOfTimeError:
        return ()
    return tuple(_placeholder(node, source) for node in nodes) if len(nodes) <= MOST else ()


def first_placeholder(text: str, language_id: str, uri: str = "") -> Placeholder | None:
    """The first one of a document; None if it has none, or is of a language without a grammar."""
    found = parsed(text, language_id, uri)
    if found is None:
        return None
    try:
        nodes = _marked(found[0].root_node, found[1], TimeLimit(TIME_LIMIT_S))
        return next((_placeholder(node, found[1]) for node in nodes), None)
    except OutOfTimeError:
        return None


def function_spans(text: str, language_id: str, uri: str = "") -> list[Span]:
    """The functions of a document, in order, those within others too; for measurements."""
    found = parsed(text, language_id, uri)
    if found is None:
        return []
    nodes = [node for node, _ in walk(found[0], TimeLimit(60)) if node.type in _FUNCTIONS]
    edges = [(len(found[1][: node.start_byte].decode()), len(found[1][: node.end_byte].decode())) for node in nodes]
    return [Span(*one) for one in edges]


def _functions_around(root: Node, place: ByteRange) -> list[Node]:
    """The innermost first; one counts from the start of its first line, as a cursor often stands there."""
    found, node = list[Node](), root
    while True:
        inner = [
            child
            for child in children_touching(node, place)
            if child.start_byte - child.start_point.column <= place.start and child.end_byte >= place.end
        ]
        if not inner:
            return found[::-1]
        node = max(inner, key=lambda child: (child.start_byte <= place.start, child.child_count > 0, child.end_byte))
        if node.type in _FUNCTIONS:
            found.append(node)


def _marked(function: Node, source: bytes, limit: TimeLimit) -> Iterator[Node]:
    """The placeholders within a node, in order, none within another."""
    waiting = [function]
    while waiting:
        limit.check()
        node = waiting.pop()
        if node is not function and _is_mark(node, source):
            yield node
        else:
            waiting += reversed(node.children)


def _outermost(nodes: list[Node]) -> list[Node]:
    kept = list[Node]()
    for node in nodes:
        if not kept or node.start_byte >= kept[-1].end_byte:
            kept.append(node)
    return kept


def _is_mark(node: Node, source: bytes) -> bool:
    parent = node.parent
    if parent is None or node.end_byte - node.start_byte > _MOST_BYTES:
        return False
    if node.type == "ellipsis":
        return parent.type in _ELLIPSIS_IN
    if node.type == "pass_statement":
        return parent.parent is not None and parent.parent.type in _PASS_IN and _is_alone(node)
    if "comment" in node.type:
        return _TODO_COMMENT.match(_text(node, source)) is not None and (
            _is_alone(node, with_braces=True) or _is_inline(node)
        )
    if not node.is_named or _NO_CODE.search(node.type) or _MARK.fullmatch(_text(node, source)) is None:
        return False
    inner = node.named_children[:1]  # a block of one statement is that statement
    return not inner or (inner[0].start_byte, inner[0].end_byte) != (node.start_byte, node.end_byte)


def _is_alone(node: Node, *, with_braces: bool = False) -> bool:
    """Whether its block has no other code; what stands between braces is a block."""
    parent = node.parent
    if parent is None or parent.parent is None:
        return False
    if with_braces and not (parent.children[0].type == "{" and parent.children[-1].type == "}"):
        return False
    others = [child for child in parent.named_children if child.id != node.id]
    return all("comment" in child.type or _is_docstring(child) for child in others) and all(
        child.start_byte < node.start_byte or not with_braces for child in others
    )


def _is_docstring(node: Node) -> bool:
    return node.type == "expression_statement" and [child.type for child in node.children] == ["string"]


def _is_inline(node: Node) -> bool:
    """Whether code stands on both sides of a comment on its line, as in `x = /* TODO */;`."""
    before, after = node.prev_sibling, node.next_sibling
    return (
        before is not None
        and after is not None
        and before.end_point.row == node.start_point.row
        and after.start_point.row == node.end_point.row
        and before.type not in {"{", ";"}
    )


def _placeholder(node: Node, source: bytes) -> Placeholder:
    start, end = (len(source[:edge].decode()) for edge in (node.start_byte, node.end_byte))
    if "comment" in node.type and not _is_inline(node):
        line_start = source.rfind(b"\n", 0, node.start_byte) + 1
        before = source[line_start : node.start_byte]
        is_crlf = source[source.find(b"\n", node.start_byte) - 1 :][:1] == b"\r"
        indent = before.decode() if not before.strip() else ""
        return Placeholder(Span(end, end), ("\r\n" if is_crlf else "\n") + indent, is_body=True)
    statement = node.parent if node.parent is not None and node.parent.type == "expression_statement" else node
    return Placeholder(Span(start, end), is_body=_has_line(statement, source) and _is_alone(statement))


def _has_line(node: Node, source: bytes) -> bool:
    """Whether nothing else stands on its lines."""
    start, end = source.rfind(b"\n", 0, node.start_byte) + 1, source.find(b"\n", node.end_byte)
    behind = source[node.end_byte : end if end >= 0 else None]
    return not source[start : node.start_byte].strip() and not behind.strip(b" \t\r;")


def _text(node: Node, source: bytes) -> str:
    return source[node.start_byte : node.end_byte].decode(errors="replace")  # `Node.text` would crash here
