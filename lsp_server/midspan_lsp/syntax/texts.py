"""Comments and strings: which nodes are one, and whether a middle moves the bounds of those around it.

A middle may begin and end as many as it likes, but what stands behind it must not become text by it that was code, nor
may the text that it stands in end elsewhere. No parser need stumble over that: what is swallowed parses, and a closer
with nothing to close may pass for an operator.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tree_sitter import Node

from midspan_lsp.syntax.languages import comment_closers
from midspan_lsp.syntax.parsing import encode
from midspan_lsp.syntax.trees import ByteRange, Filled

_COMMENTS = ("comment", "marginalia", "haddock", "pragma")
_CODE_IN_STRINGS = {
    *("interpolation", "template_substitution", "string_interpolation", "interpolated_expression"),
    *("command_substitution", "expansion", "simple_expansion", "subshell"),
}
_STRINGS = {
    *("char_literal", "character_literal", "rune_literal", "character", "heredoc", "heredoc_body", "nowdoc_body"),
    *("double_quote_scalar", "single_quote_scalar", "quoted_attribute_value", "regex_pattern", "text_block"),
}
_STRING_ENDINGS = ("string", "string_literal", "string_content")
_REGEXES = {"regex", "regex_literal"}
_OF_SEVERAL = {"concatenated_string", "chained_string"}
_NO_SPACE = re.compile(rb"\S")


def is_comment(node: Node) -> bool:
    """Whether a node is a comment, or part of one."""
    return any(word in node.type for word in _COMMENTS)


def is_string(node: Node, source: bytes) -> bool:
    """Whether a node is a string, or part of one."""
    if node.type == "literal":  # SQL's, of numbers too
        return source[node.start_byte : node.start_byte + 1] in (b"'", b'"')
    return node.is_named and (node.type in _STRINGS or node.type.endswith(_STRING_ENDINGS))


def is_code_in_string(node: Node) -> bool:
    """Whether a node is code that a string holds."""
    return node.type in _CODE_IN_STRINGS


def stray_closers(language_id: str, after: Filled) -> list[ByteRange]:
    """Where a middle ends a comment that nobody has begun."""
    return _stray(comment_closers(language_id), after)


def moved_texts(language_id: str, before: Filled, after: Filled) -> list[ByteRange]:
    """Where a comment or string begins or ends that holds another part of what is behind the middle than before."""
    closers = comment_closers(language_id)
    openers = [closer[::-1] for closer in closers if closer != "-->"]
    return swallowed(language_id, before, after) or _broken_off(closers, before, after) or _stray(openers, after)


def swallowed(language_id: str, before: Filled, after: Filled) -> list[ByteRange]:
    """Where the comment begins that has taken in the code behind the middle; strings end at a quote, and stumble."""
    place = _behind(before)
    if place is None or _texts_at(before, place):
        return []
    now = place - before.middle.end + after.middle.end
    texts = _texts_at(after, now)
    if not texts or texts[-1].start_byte == now or not is_comment(texts[-1]):
        return []
    last = _end(texts[-1], after) - 1 - after.middle.end + before.middle.end
    is_closed = any(before.source.endswith(encode(closer), 0, last + 1) for closer in comment_closers(language_id))
    if is_closed and not _texts_at(before, last):
        return []  # it has found an end that had no beginning
    start = min(max(texts[-1].start_byte, after.middle.start), after.middle.end)
    return [ByteRange(start, after.middle.end)]


def _broken_off(closers: Sequence[str], before: Filled, after: Filled) -> list[ByteRange]:
    """Where the comment or string ends or goes on that ended elsewhere before."""
    place = _behind(before)
    texts = _texts_at(before, place) if place is not None else []
    if place is None or not texts or _is_open(texts[-1], closers, before):
        return []
    if is_string(texts[-1], before.source) and b"\n" in before.source[before.middle.end : place]:
        return []  # some grammars have strings go on to the next line for want of an end
    end = _end(texts[-1], before) - before.middle.end + after.middle.end
    if any(_end(text, after) == end for text in _texts_at(after, end - 1)):
        return []
    ends = [_end(text, after) for text in _texts_at(after, max(0, after.middle.start - 1))]
    end = next((end for end in ends if after.middle.start < end <= after.middle.end), None)
    if end is None:
        return [ByteRange(after.middle.end, after.middle.end)]
    length = next((len(closer) for closer in closers if after.source.endswith(encode(closer), 0, end)), 1)
    return [ByteRange(max(end - length, after.middle.start), end)]


def _end(text: Node, filled: Filled) -> int:
    """Without white space that some grammars count in."""
    return text.start_byte + len(filled.source[text.start_byte : text.end_byte].rstrip())


def _is_open(text: Node, closers: Sequence[str], filled: Filled) -> bool:
    """Whether a comment goes on to the end of all for want of its own."""
    end = len(filled.source.rstrip())
    is_closed = any(filled.source.endswith(encode(closer), 0, end) for closer in closers)
    return is_comment(text) and text.end_byte >= end and not is_closed


def _stray(marks: Sequence[str], after: Filled) -> list[ByteRange]:
    """Where a middle has such a mark outside of all comments and strings."""
    found: list[ByteRange] = []
    for mark in map(encode, marks):
        first = max(0, after.middle.start - len(mark) + 1)  # of it may stand before the middle
        for match in re.compile(re.escape(mark)).finditer(after.source, first, after.middle.end):
            start, end = match.span()
            if not (_texts_at(after, start) or _texts_at(after, end - 1)):
                found.append(ByteRange(max(start, after.middle.start), end))
    return sorted(found)


def _behind(filled: Filled) -> int | None:
    """The first byte behind the middle that is no white space."""
    found = _NO_SPACE.search(filled.source, filled.middle.end)
    return found.start() if found else None


def _texts_at(filled: Filled, byte: int) -> list[Node]:
    """The comments and strings that hold a byte, from within, up to code that a string holds."""
    found: list[Node] = []
    node: Node | None = filled.tree.root_node.descendant_for_byte_range(byte, byte + 1)
    while node is not None and not is_code_in_string(node):
        is_text = is_comment(node) or is_string(node, filled.source) or node.type in _REGEXES
        if is_text and node.type not in _OF_SEVERAL:
            found.append(node)
        node = node.parent
    return found
