"""Neighbours: which lines of the project are shown to the model, and that they stay while one types."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest
from midspan_lsp.config import MemorySettings
from midspan_lsp.documents import DocumentSnapshot
from midspan_lsp.memory.index import TokenIndex
from midspan_lsp.memory.memory import ProjectMemory
from midspan_lsp.memory.neighbours import N_LINES_ALIKE, N_LINES_SHOWN, find_neighbour
from midspan_lsp.memory.segments import Document
from midspan_lsp.memory.tokens import WORD, kind_of, lex

URI = "file:///p/cursor.py"
ALIKE = """class Ledger:
    def add(self, account, amount):
        balance = self.balances[account]
        self.balances[account] = balance + amount
        self.journal.append((account, amount))

    def total(self):
        return sum(self.balances.values())

    def close(self):
        self.journal.clear()
"""
OTHER = "\n".join(f"def plain_{n}(left, right):\n    return left - right\n" for n in range(30))
PREFIX = "def move(ledger, account, amount):\n    balance = ledger.balances[account]\n    ledger.balances[account] = "


def memory_of(
    texts: dict[str, str], prefix: str = PREFIX, suffix: str = "\n"
) -> tuple[ProjectMemory, DocumentSnapshot]:
    memory = ProjectMemory(MemorySettings(), keep=False)
    for name, text in texts.items():
        memory.open(f"file:///p/{name}", f"/p/{name}", "python", text)
    memory.open(URI, "/p/cursor.py", "python", prefix + suffix)
    return memory, DocumentSnapshot(URI, "python", 0, prefix + suffix)


def test_the_lines_that_share_the_rarest_names_are_shown() -> None:
    memory, snapshot = memory_of({"a.py": OTHER + ALIKE + OTHER, "b.py": OTHER})
    shown = memory.neighbour(snapshot, len(PREFIX))
    assert "balance = self.balances[account]" in shown
    assert sum(1 for line in shown.splitlines() if line.strip()) <= N_LINES_SHOWN


def test_nothing_is_shown_where_nothing_is_alike() -> None:
    memory, snapshot = memory_of({"b.py": OTHER})
    assert memory.neighbour(snapshot, len(PREFIX)) == ""
    memory, snapshot = memory_of({"a.go": ALIKE})
    assert memory_of({})[0].neighbour(snapshot, len(PREFIX)) == ""
    off = ProjectMemory(MemorySettings(enabled=False), keep=False)
    assert off.neighbour(snapshot, len(PREFIX)) == ""


def test_what_stands_around_the_cursor_is_not_shown_again_but_what_is_far_off_is() -> None:
    near, snapshot = memory_of({}, ALIKE + PREFIX, "\n" + ALIKE)
    assert near.neighbour(snapshot, len(ALIKE + PREFIX)) == ""
    far = ALIKE + OTHER * 2 + PREFIX
    memory, snapshot = memory_of({}, far)
    assert "balance = self.balances[account]" in memory.neighbour(snapshot, len(far))


def test_it_stays_while_one_types_and_goes_with_the_document() -> None:
    memory, snapshot = memory_of({"a.py": ALIKE, "c.py": OTHER})
    first = memory.neighbour(snapshot, len(PREFIX))
    assert first
    typed = PREFIX + "balance\n" + "plain_1(left, right)\n" * 6
    here = DocumentSnapshot(URI, "python", 1, typed)
    assert memory.neighbour(here, len(typed)) == first
    further = typed + "plain_2(left, right)\n" * 12
    assert "plain_" in memory.neighbour(DocumentSnapshot(URI, "python", 2, further), len(further))
    memory.close(URI)
    again = "\n" * 16 + PREFIX  # the cursor is on about the same line
    memory.open(URI, "/p/cursor.py", "python", again)
    assert memory.neighbour(DocumentSnapshot(URI, "python", 0, again), len(again)) == first


def test_secrets_are_never_shown() -> None:
    secret = 'API_TOKEN = "abcdef1234567890"'
    memory, snapshot = memory_of({"a.py": ALIKE.replace("    def total", f"    {secret}\n\n    def total")})
    shown = memory.neighbour(snapshot, len(PREFIX))
    assert "journal" in shown
    assert "abcdef1234567890" not in shown


@pytest.mark.parametrize("seed", range(12))
def test_no_window_is_better_than_the_one_that_is_found(seed: int) -> None:
    chance = random.Random(seed)
    names = [f"name_{n}" for n in range(30)]
    lines = [" ".join(chance.choices(names, k=3)) for _ in range(120)]
    prefix = "\n".join(" ".join(chance.choices(names, k=2)) for _ in range(6))
    index = TokenIndex()
    text = "\n".join(lines)
    index.put_open(Document("u", "/u.py", "python", 0, text))
    found = find_neighbour(index, None, "python", len(prefix), prefix)
    assert found is not None
    counts = {name: lex(text).count(name) for name in names}
    wanted = {
        token: math.log((index.n_tokens + 1) / counts[token])
        for token in lex(prefix)
        if kind_of(token) == WORD and counts.get(token)
    }
    firsts = [max(0, line) for line in range(-1, len(lines), N_LINES_ALIKE // 2)]
    ends = range(N_LINES_ALIKE - 1, len(lines) + N_LINES_ALIKE, N_LINES_ALIKE // 2)
    scores = [
        sum(weight for name, weight in wanted.items() if name in " ".join(lines[first:end]).split())
        for first, end in zip(firsts, ends, strict=False)
    ]
    best = max(scores)
    assert found.score == pytest.approx(best / sum(wanted.values()))
    first = firsts[scores.index(best)]
    assert found.text.startswith("\n".join(lines[first : first + 3]))
    assert Path(found.source_path) == Path("/u.py")
