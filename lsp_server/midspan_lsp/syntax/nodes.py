"""Where a syntax tree's nodes stand: training cuts holes there (`--nodes midspan_lsp.syntax.nodes:nodes`)."""

from __future__ import annotations

from midspan_lsp.syntax.languages import parser_for

_LEAST, _MOST = 2, 400


def nodes(text: str, language_id: str) -> list[tuple[int, int]]:
    """Code points (from, to) of the named nodes of some size, errors left out; none of unknown languages."""
    parser = parser_for(language_id)
    if parser is None:
        return []
    code = text.encode("utf-8", "replace")
    spans: set[tuple[int, int]] = set()
    open_nodes = [parser.parse(code).root_node]
    while open_nodes:
        node = open_nodes.pop()
        open_nodes += node.children
        if node.is_named and not node.is_error and _LEAST <= node.end_byte - node.start_byte <= _MOST:
            spans.add((node.start_byte, node.end_byte))
    if text.isascii():
        return sorted(spans)
    begins = [index for index, byte in enumerate(code) if byte & 0xC0 != 0x80]
    number = {byte: index for index, byte in enumerate([*begins, len(code)])}
    return sorted((number[start], number[end]) for start, end in spans)
