"""What is cut from the end of a middle, or all of it: each gives back the middle or a beginning of it. Pure."""

from __future__ import annotations

import re

from midspan_lsp.engine.text_lines import (
    LINE_BREAK,
    columns,
    first_line,
    indent_of,
    last_line,
    line_above,
    line_below,
    line_starts,
    says_something,
)

_CLOSERS = {")": "(", "]": "[", "}": "{"}
_DOUBLED = re.compile(r"([;,:]|/>)\s*\1")
_WORD = re.compile(r"[^\W\d]{3}")
_ARTEFACT = re.compile(
    r"<\|[\w▁]+\|>|<｜[\w▁]+｜>|</?(?:fim_\w+|file_sep|repo_name|think|COMPLETION|s|PRE|SUF|MID|EOT)>"
    r"|(?:^|(?<=[\r\n]))(?:diff --git .|# End of file\.|<<<<<<< |>>>>>>> )",
)
_FENCE = re.compile(r"(?:^|(?<=[\r\n]))[ \t]*```")
_REPEATED_END = re.compile(r"(.{10,}?)\1{3,}$|(.{3,}?)\2{5,}$", re.DOTALL)
_CLOSING_LINE = re.compile(r"\s*(?:[)\]}]+[;,)]*|end|fi|done|esac|</\w+>)\s*")
_MOST_EQUAL_LINES = 3


def cut_artefacts(middle: str, prefix: str, _suffix: str) -> str:
    """Nothing from the first token on that is none of the language: special tokens, a fence outside Markdown."""
    found = _ARTEFACT.search(middle)
    middle = middle[: found.start()] if found else middle
    fence = None if "```" in prefix else _FENCE.search(middle)
    return middle[: fence.start()] if fence else middle


def drop_within_word(middle: str, prefix: str, suffix: str) -> str:
    """Nothing in the midst of a word, nor what would run into the word behind."""
    if not _is_word(suffix[:1]):
        return middle
    return "" if _is_word(prefix[-1:]) or _is_word(middle[-1:]) else middle


def keep_to_line(middle: str, _prefix: str, suffix: str) -> str:
    """One line where more of the line follows than closes what is open."""
    return first_line(middle) if re.search(r"\w", first_line(suffix)) else middle


def keep_to_block(middle: str, prefix: str, _suffix: str) -> str:
    """Up to the first line that is indented less than the cursor's, as the block has ended there."""
    here = last_line(prefix)
    own = first_line(middle)
    least = columns(indent_of(here if here.strip() else here + own))
    for start in line_starts(middle)[1:]:
        line = first_line(middle[start:])
        if line.strip() and columns(indent_of(line)) < least:
            return middle[:start].rstrip()
    return middle


def cut_repetition(middle: str, _prefix: str, _suffix: str) -> str:
    """A line comes at most three times in a row, an end that is said over and over once."""
    starts = line_starts(middle)
    lines = [first_line(middle[start:]) for start in starts]
    for index in range(_MOST_EQUAL_LINES, len(lines)):
        row = {line.strip() for line in lines[index - _MOST_EQUAL_LINES : index + 1]}
        if len(row) == 1 and row != {""}:
            return middle[: starts[index - _MOST_EQUAL_LINES + 1]].rstrip()
    found = _REPEATED_END.search(middle)
    return middle[: found.start() + len(found[1] or found[2])] if found and (found[1] or found[2]).strip() else middle


def trim_trailing_space(middle: str, _prefix: str, suffix: str) -> str:
    """No white space at the end of a line, unless more of the line follows."""
    return middle if first_line(suffix).strip() else middle.rstrip()


def cut_overlap_with_suffix(middle: str, prefix: str, suffix: str) -> str:
    """Cut the end of a middle that repeats what already stands behind the cursor on its line.

    Of all overlaps the one is cut that leaves the line with the fewest flaws: brackets and quotes without a partner,
    doubled separators. Of `f(` and `)`, the middle `x)` loses its bracket; between `f(g(` and `)` it keeps it. A
    repeated word is cut where that adds no flaw.
    """
    before, rest = last_line(prefix), first_line(suffix).rstrip()
    while (cut := _without_overlap(middle, before, rest)) != middle:
        middle = cut
    return middle


def cut_lines_of_suffix(middle: str, prefix: str, suffix: str) -> str:
    """Cut the last lines that are the next lines once more, at the same indent.

    A lone closing line goes only if the middle closes more than it opens, as nested blocks end alike.
    """
    if first_line(suffix).strip():
        return middle
    following = [line.rstrip() for line in LINE_BREAK.split(suffix)[1:] if line.strip()]
    starts = line_starts(middle)
    for start in starts[1:]:
        lines = [line.rstrip() for line in LINE_BREAK.split(middle[start:]) if line.strip()]
        if not lines or lines != following[: len(lines)]:
            continue
        lone = len(lines) == 1 and _CLOSING_LINE.fullmatch(lines[0]) is not None
        if any(map(says_something, lines)) or (lone and _n_unmatched_closers(last_line(prefix) + middle)):
            return middle[:start].rstrip()
    return middle


def drop_repeated_line(middle: str, prefix: str, suffix: str) -> str:
    """Drop a line that is the next line once more, or the one above, at the same indent."""
    line = last_line(prefix) + middle
    if first_line(suffix).strip() or not says_something(line):
        return middle
    return "" if line.rstrip() in {line_below(suffix).rstrip(), line_above(prefix).rstrip()} else middle


def _without_overlap(middle: str, before: str, rest: str) -> str:
    """The same, as far as one overlap goes."""
    wanted, head = middle.rstrip(), rest.lstrip()
    overlaps = [n for n in range(1, min(len(head), len(wanted)) + 1) if wanted.endswith(head[:n])]
    best, fewest = middle, _n_flaws(before + middle + rest)
    for n in overlaps:
        cut = wanted[:-n] if rest == head else wanted[:-n].rstrip()
        n_flaws = _n_flaws(before + cut + rest)
        repeats_word = _WORD.search(head[:n]) is not None
        if n_flaws < fewest or (n_flaws == fewest and (repeats_word or best != middle)):
            best, fewest = cut, n_flaws
    return best


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _unmatched(text: str) -> tuple[int, int]:
    """How many brackets are not closed, and how many closers have no partner; strings and comments are not known."""
    n_open: list[str] = []
    n_unmatched = 0
    for character in text:
        if character in _CLOSERS.values():
            n_open.append(character)
        elif character in _CLOSERS:
            if n_open and n_open[-1] == _CLOSERS[character]:
                n_open.pop()
            else:
                n_unmatched += 1
    return len(n_open), n_unmatched


def _n_unmatched_closers(text: str) -> int:
    return _unmatched(text)[1]


def _n_flaws(line: str) -> int:
    """Brackets and quotes of a line without a partner, and doubled separators."""
    n_odd_quotes = sum(line.count(quote) % 2 for quote in "\"'`")
    return sum(_unmatched(line)) + n_odd_quotes + len(_DOUBLED.findall(line))
