"""A middle in the document's own style: line ends, indents, nothing twice that stands before the cursor. Pure."""

from __future__ import annotations

import re

from midspan_lsp.engine.text_lines import LINE_BREAK, columns, goes_on, indent_of, last_line, line_above

_LEAST_REPEATED = 4
_SPACE_INDENT = re.compile(r"(?:^|(?<=[\r\n]))(?: {2,})(?=\S)")
_TAB_INDENT = re.compile(r"(?:^|(?<=[\r\n]))\t")
_LEADING = re.compile(r"(?:^|(?<=[\r\n]))[ \t]+")


def keep_line_ends(middle: str, prefix: str, suffix: str) -> str:
    """The document's line ends; a document of one line has none to keep."""
    text = prefix + suffix
    n_windows = text.count("\r\n")
    n_unix = text.count("\n") - n_windows
    if not n_windows and not n_unix:
        return middle
    return LINE_BREAK.sub("\r\n" if n_windows > n_unix else "\n", middle)


def keep_indent_style(middle: str, prefix: str, suffix: str) -> str:
    """Tabs in a document that is indented with tabs, spaces in one with spaces; a mixed or flat one says nothing."""
    text = prefix + suffix
    n_tabs, n_spaces = len(_TAB_INDENT.findall(text)), len(_SPACE_INDENT.findall(text))
    if n_tabs == n_spaces or (n_tabs and n_spaces and max(n_tabs, n_spaces) < 4 * min(n_tabs, n_spaces)):
        return middle
    at_line_start = not last_line(prefix)
    unit = _unit(middle if n_tabs > n_spaces else text)

    def restyle(match: re.Match[str]) -> str:
        if match.start() == 0 and not at_line_start:
            return match[0]
        width = len(match[0].expandtabs(unit))
        return "\t" * (width // unit) + " " * (width % unit) if n_tabs > n_spaces else " " * width

    return _LEADING.sub(restyle, middle)


def drop_extra_indent(middle: str, prefix: str, _suffix: str) -> str:
    """No white space at the start where the cursor's line is indented already, unless a deeper line may stand there."""
    here = last_line(prefix)
    if not here or here.strip() or not middle[:1].isspace() or LINE_BREAK.match(middle):
        return middle
    above = line_above(prefix)
    if goes_on(above) and columns(here) <= columns(indent_of(above)):
        return middle
    return middle.lstrip(" \t")


def drop_repeated_start(middle: str, prefix: str, _suffix: str) -> str:
    """What the cursor's line begins with is not said again at the start."""
    here = last_line(prefix).strip()
    if len(here) < _LEAST_REPEATED or not re.search(r"[^\W\d]{3}", here) or not middle.startswith(here):
        return middle
    rest = middle[len(here) :]
    return rest if not rest[:1].isalnum() or not here[-1].isalnum() else middle


def _unit(text: str) -> int:
    """Columns of the least indent made of spaces, at most four, as the least may be of a block in a block."""
    widths = [len(match[0]) for match in re.finditer(r"(?:^|(?<=[\r\n])) {2,8}(?=\S)", text)]
    return min([4, *widths])
