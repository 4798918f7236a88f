"""Names made of words: what the words of some names are called here tells what other names are called. Pure."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|.", re.DOTALL)
_LEAST_WORD = 3  # characters: shorter ones stand in too many names by chance


def by_words(names: Mapping[str, str], tokens: Iterable[str], known: Container[str]) -> dict[str, str]:
    """Other names for tokens that share a word with a renamed name: `get_user` is `get_order` where `user` is `order`.

    Args:
        names: names, and what they are called here.
        tokens: what is to be renamed likewise; `names` themselves are left alone.
        known: names that there are; none other is made up.
    """
    words = _words(names)
    found: dict[str, str] = {}
    for token in set(tokens).difference(names) if words else ():
        parts: list[str] = _PART.findall(token)
        renamed = "".join(_like(part, words.get(part.lower(), part)) for part in parts)
        if renamed != token and renamed in known:
            found[token] = renamed
    return found


def _words(names: Mapping[str, str]) -> dict[str, str]:
    """Words, in lower case, and what they are called; those that are called this here and that there are left out."""
    called: dict[str, set[str]] = {}
    for there, here in names.items():
        old, new = _PART.findall(there), _PART.findall(here)
        if len(old) == len(new):
            for word, other in zip(old, new, strict=True):
                called.setdefault(word.lower(), set()).add(other.lower())
    return {
        word: other
        for word, (other, *more) in called.items()
        if not more and word != other and len(word) >= _LEAST_WORD and (word + other).isalpha()
    }


def _like(part: str, word: str) -> str:
    """A word in upper and lower case as a part has it."""
    if part.islower() or part.lower() == word.lower():
        return word
    return word.upper() if part.isupper() else word.capitalize()
