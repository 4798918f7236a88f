"""Code text as language-agnostic tokens. Pure; any text goes in, and joining the tokens gives it back.

A line break, the blank lines behind it and the next line's indent are one token. So a line break always begins a token
where the character before it is no white space: an edit need not be lexed beyond the lines it touches.
"""

from __future__ import annotations

import re

SEPARATOR, WORD, KEYWORD, NUMBER, SIGN, BLANK, LINE = range(7)
"""Kinds of tokens; a separator stands between documents and is no text."""

KIND_BITS = 3
KIND_MASK = (1 << KIND_BITS) - 1

LINE_SPACE = " \t\r\n"
"""What a line break token may consist of."""

_TOKEN = re.compile(r"[^\W\d]\w*|\d\w*|(?:\r\n?|\n)[ \t\r\n]*|[ \t]+|.", re.DOTALL)

# words that are never names: a match that renames identifiers has to keep them
_KEYWORDS_TEXT = """
    and as assert async await auto bool boolean break case catch char class const constructor continue def default
    defer del delete do double elif else enum except export extends extern false False final finally float fn for from
    func function get go goto global if impl implements import in instanceof int interface is lambda let long loop
    match mod mut namespace new nil None nonlocal not null nullptr number of or override package pass private protected
    pub public raise range readonly return select self Self set short signed sizeof static str string struct super
    switch template this throw throws trait true True try type typedef typeof undefined union unsafe unsigned use using
    var virtual void where while with yield
"""
_KEYWORDS = frozenset(_KEYWORDS_TEXT.split())


def lex(text: str) -> list[str]:
    """The tokens of a text, in linear time; joined they are the text."""
    return _TOKEN.findall(text)


def kind_of(token: str) -> int:
    """Kind of a token that `lex` gave."""
    first = token[0]
    if first in "\r\n":
        return LINE
    if first in " \t":
        return BLANK
    if token in _KEYWORDS:
        return KEYWORD
    if first == "_" or (len(token) > 1 and not first.isdecimal()):
        return WORD
    if first.isdecimal():
        return NUMBER
    return WORD if first.isalnum() else SIGN


def is_word(token: str) -> bool:
    """Whether a token is one that typing may have left unfinished: a name, a keyword or a number."""
    return kind_of(token) in (WORD, KEYWORD, NUMBER)


def last_line(text: str) -> str:
    """What stands behind the last line break."""
    return text[max(text.rfind("\n"), text.rfind("\r")) + 1 :]


def first_line(text: str) -> str:
    """What stands before the first line break."""
    return re.split(r"[\r\n]", text, maxsplit=1)[0]
