"""From a place where the tokens before the cursor stand too, to a text that could stand at the cursor."""

from __future__ import annotations

import re
from dataclasses import dataclass

from midspan_lsp.memory.tokens import KEYWORD, NUMBER, WORD, first_line, kind_of, last_line, lex

_OPENERS, _CLOSERS = ("(", "[", "{"), (")", "]", "}")
_TAB_COLUMNS = 8
_LINE_TOKENS = 80
_MAX_TOKENS = 400
_SUFFIX_TOKENS = 16
_NEAR = 4000  # characters on each side of the cursor that are its neighbourhood
N_BEHIND = 32
"""Tokens behind a draft's end that are looked at, white space counted."""


@dataclass(frozen=True)
class Cursor:
    """What a draft has to fit.

    Attributes:
        tail: tokens before the cursor, the word's part before it left out.
        heal: that part; "" if there is none.
        rest: text behind the cursor on its line, without white space at its end.
        following: the tokens of the lines below, without white space.
        near_words: the names and numbers in the text around.
        next_line: the next line that is not blank, without white space around it.
        indent: white space in front of the cursor's line.
        step: whether that line is indented deeper (1), less (-1) or as the one above.
        line_end: the document's.
        max_lines: most line breaks of a draft, plus one.
        min_indent: columns; a draft ends before a line that is indented less.
    """

    tail: tuple[str, ...]
    heal: str
    rest: str
    following: tuple[str, ...]
    near_words: frozenset[str]
    next_line: str
    indent: str
    step: int
    line_end: str
    max_lines: int
    min_indent: int | None


def cursor_of(prefix: str, suffix: str, max_lines: int, min_indent: int | None) -> Cursor:
    """What stands around a cursor."""
    near = prefix[-_NEAR:]
    tail = lex(near)
    heal = ""
    if tail and kind_of(tail[-1]) in (WORD, KEYWORD, NUMBER):
        heal = tail.pop()
    rest = first_line(suffix[:_NEAR]).rstrip()
    line = last_line(near)
    indent = line[: len(line) - len(line.lstrip(" \t"))]
    step = indent_step([last_line(token) for token in tail if token[0] in "\r\n"][-2:])
    line_end = "\r\n" if "\r\n" in near[-2000:] else "\n"
    after = suffix[len(first_line(suffix[:_NEAR])) :][:_NEAR]
    tokens_after = lex(after)
    next_line = first_line(after.lstrip()).rstrip()
    following = tuple(token for token in tokens_after[: 4 * _SUFFIX_TOKENS] if not token.isspace())[:_SUFFIX_TOKENS]
    words = frozenset(token for token in (*tail, *tokens_after) if kind_of(token) in (WORD, NUMBER))
    if rest:
        max_lines = 1
    return Cursor(tuple(tail), heal, rest, following, words, next_line, indent, step, line_end, max_lines, min_indent)


def indent_step(indents: list[str]) -> int:
    """How the last of two lines' white space compares with the first's: 1 deeper, -1 less, 0 as deep or not known."""
    if len(indents) < 2:
        return 0
    first, second = _columns(indents[0]), _columns(indents[1])
    return (second > first) - (second < first)


def n_needed(cursor: Cursor) -> int:
    """How many tokens behind a place are looked at."""
    return min(_MAX_TOKENS, _LINE_TOKENS * cursor.max_lines)


@dataclass(frozen=True)
class Continuation:
    """What stands behind a place.

    Attributes:
        text: as it would be inserted.
        n_suffix: tokens behind it, white space not counted, that agree with those behind the cursor.
        to_end: whether it goes to the end of its line, there as here.
    """

    text: str
    n_suffix: int
    to_end: bool


def continuation(tokens: list[str], there: str, names: dict[str, str], cursor: Cursor) -> Continuation | None:
    """The text that the tokens behind a place would be at the cursor; None if nothing fits.

    Args:
        tokens: behind the place.
        there: white space in front of the line there.
        names: names there that are others here.
        cursor: what it has to fit.
    """
    end = _end(tokens, there, cursor)
    parts = [names.get(token, token) for token in tokens[:end]] if names else tokens[:end]
    if cursor.max_lines > 1:
        parts = [_line_break(part, there, cursor) if part[0] in "\r\n" else part for part in parts]
    text = "".join(parts)
    if not text.startswith(cursor.heal):
        return None
    text = text[len(cursor.heal) :].rstrip()
    if not cursor.rest:
        after = [token for token in tokens[end : end + N_BEHIND] if not token.isspace()]
        return Continuation(text, _n_common(after, cursor.following, names), True) if text else None
    cut = _meeting(text, cursor.rest)
    if cut is None or not text[:cut].strip():
        return None
    n_met = _n_common(lex(text[cut:].lstrip()), lex(cursor.rest.lstrip()), {})
    return Continuation(text[:cut], n_met, text[cut:] == cursor.rest)


def _end(tokens: list[str], there: str, cursor: Cursor) -> int:
    """How many of the tokens the draft takes."""
    n_lines = 1
    for index, token in enumerate(tokens):
        if token[0] not in "\r\n":
            continue
        n_lines += len(re.findall(r"\r\n|\n|\r", token))
        if n_lines > cursor.max_lines:
            return index
        if cursor.min_indent is not None:
            shift = _columns(cursor.indent) - _columns(there)
            if _columns(last_line(token)) + shift < cursor.min_indent:
                return index
    return len(tokens)


def _line_break(token: str, there: str, cursor: Cursor) -> str:
    """A line break with its line's indent, as deep against the cursor's line as it was against its own."""
    breaks, indent = len(re.findall(r"\r\n|\n|\r", token)) * cursor.line_end, last_line(token)
    if indent.startswith(there):
        deeper = indent[len(there) :]
        if "\t" in cursor.indent and deeper.strip("\t"):
            deeper = "\t" * max(1, _columns(deeper) // 4)
        elif cursor.indent and "\t" not in cursor.indent:
            deeper = deeper.replace("\t", "    ")
        return breaks + cursor.indent + deeper
    return breaks + cursor.indent[: max(0, len(cursor.indent) - (len(there) - len(indent)))]


def _meeting(text: str, rest: str) -> int | None:
    """Where a text comes to what already stands behind the cursor; None if it does not."""
    if text.endswith(rest):
        return len(text) - len(rest)
    wanted = lex(rest.lstrip())
    tokens = lex(text)
    best, most, offset, depth = None, 0, 0, 0
    for index, token in enumerate(tokens):
        if depth <= 0 and (n_common := _n_common(tokens[index:], wanted, {})) > most:
            # white space that stands before the rest already is not repeated
            blank = index > 0 and rest[0].isspace() and tokens[index - 1].isspace()
            best, most = offset - (len(tokens[index - 1]) if blank else 0), n_common
        depth += (token in _OPENERS) - (token in _CLOSERS)
        offset += len(token)
    return best


def _n_common(tokens: list[str], wanted: list[str] | tuple[str, ...], names: dict[str, str]) -> int:
    """How many tokens two begin with alike."""
    n_common = 0
    for token, other in zip(tokens, wanted, strict=False):
        if names.get(token, token) != other:
            break
        n_common += 1
    return n_common


def _columns(indent: str) -> int:
    return len(indent.expandtabs(_TAB_COLUMNS))
