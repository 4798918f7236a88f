"""What a language refuses although its grammar takes it: its rules, asked around the middle only.

A rule's fault is `unfinished` where more text could mend it, so that it counts only in a document that was whole, or
`wrong`. As everywhere, only faults that the document did not have before count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tree_sitter import Tree

from midspan_lsp.syntax.layout import misplaced
from midspan_lsp.syntax.parsing import TimeLimit
from midspan_lsp.syntax.refusal_table import RULES
from midspan_lsp.syntax.trees import ByteRange, Filled, Hole, walk

# up to the end of the next line that is neither blank nor a comment
_UP_TO_NEXT_CODE = re.compile(rb"[^\n]*(?:\n\s*(?:#|//|--)[^\n]*|\n[ \t\r\f]*(?=\n))*(?:\n[^\n]*)?")


@dataclass
class RuleFaults:
    """What was found.

    Attributes:
        wrong: whatever follows.
        unfinished: if nothing more follows.
    """

    wrong: list[ByteRange] = field(default_factory=list[ByteRange])
    unfinished: list[ByteRange] = field(default_factory=list[ByteRange])


def new_rule_faults(hole: Hole, after: Filled, limit: TimeLimit) -> RuleFaults:
    """The faults around the middle that the document did not have."""
    if hole.language_id not in RULES:
        return RuleFaults()
    found, old = _rule_faults(hole.language_id, after.source, after.tree, after.middle, limit), hole.old
    closers = RULES[hole.language_id].closers
    if not found.wrong and any(closer in after.source[after.middle.start : after.middle.end] for closer in closers):
        # what it has ended wrongly may show at the very end; but something else may be missing there
        old = ByteRange(after.changed.start, max(after.changed.end - after.middle.end + old.end, old.end))
        far = _rule_faults(hole.language_id, after.source, after.tree, after.changed, limit)
        found.unfinished += far.wrong
    if not (found.wrong or found.unfinished):
        return found
    before = _rule_faults(hole.language_id, hole.source, hole.tree, old, limit)

    def new(now: list[ByteRange], then: list[ByteRange]) -> list[ByteRange]:
        starts = {hole.carried(fault, after.middle).start for fault in then}
        found = [fault for fault in now if fault.start not in starts]
        own = [fault for fault in found if fault.start < after.middle.end and fault.end > after.middle.start]
        return own or found  # what is wrong elsewhere is so for the middle's sake

    return RuleFaults(new(found.wrong, before.wrong), new(found.unfinished, before.wrong + before.unfinished))


def unfinished_before(hole: Hole, limit: TimeLimit) -> list[ByteRange]:
    """What waits for its end around the place."""
    return _rule_faults(hole.language_id, hole.source, hole.tree, hole.old, limit).unfinished


def _rule_faults(language_id: str, source: bytes, tree: Tree, place: ByteRange, limit: TimeLimit) -> RuleFaults:
    rules, found = RULES.get(language_id), RuleFaults()
    if rules is None:
        return found
    line_start = source.rfind(b"\n", 0, place.start) + 1
    behind = _UP_TO_NEXT_CODE.match(source, place.end)
    for node, _ in walk(tree, limit, ByteRange(line_start, behind.end() if behind else place.end)):
        if node.is_error:
            continue
        for where, rule in ((found.wrong, rules.wrong), (found.unfinished, rules.unfinished)):
            culprit = rule[node.type](node, source) if node.type in rule else None
            if culprit is not None:
                where.append(ByteRange(culprit.start_byte, culprit.end_byte))
        if language_id == "python" and misplaced(node, source):
            found.wrong.append(ByteRange(node.start_byte, node.end_byte))
    return found
