"""The loop on hand-made logits."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from midspan_model.denoising.block import Block, Finish
from midspan_model.denoising.choosing import policy_of
from midspan_model.denoising.constraints import Constraints
from midspan_model.denoising.loop import denoise
from midspan_model.tokenizer import Tokenizer
from tiny_model import MODEL, Stop

MASK, END = MODEL.mask_id, MODEL.end_id
SURE, UNSURE = 20.0, 7.0  # as a logit over zeros: about 1.0 and 0.8


@pytest.fixture(scope="module")
def tokenizer(tiny_checkpoint: Path) -> Tokenizer:
    return Tokenizer(tiny_checkpoint / "tokenizer.json", MODEL.n_special)


@pytest.fixture(scope="module")
def constraints(tokenizer: Tokenizer) -> Constraints:
    return Constraints(tokenizer, MODEL)


class Script:
    """A forward that wants the same tokens whatever it sees, and remembers what it saw."""

    def __init__(self, wanted: dict[int, tuple[int, float]]) -> None:
        self.wanted, self.seen = wanted, list[list[int]]()

    def __call__(self, ids: list[int], slots: list[int]) -> torch.Tensor:
        self.seen.append(list(ids))
        logits_MV = torch.zeros(len(slots), MODEL.vocab_size)
        for row, slot in enumerate(slots):
            token_id, logit = self.wanted[slot]
            logits_MV[row, token_id] = logit
        return logits_MV


def block_of(constraints: Constraints, n_slots: int, **changes: object) -> Block:
    return Block([99] + [MASK] * n_slots, [1.0] * (n_slots + 1), constraints, **changes)  # type: ignore[arg-type]  # fields by name


def run(block: Block, script: Script, stop: Stop | None = None, at: float = 0.9) -> tuple[Finish, int]:
    return denoise(script, block, policy_of("threshold", at, leftmost=True), stop or Stop())


def ids(tokenizer: Tokenizer, text: str) -> list[int]:
    return [tokenizer.encode(character)[0] for character in text]


def test_sure_slots_are_committed_together(tokenizer: Tokenizer, constraints: Constraints) -> None:
    a, b, c = ids(tokenizer, "abc")
    script = Script({1: (a, SURE), 2: (b, SURE), 3: (c, SURE)})
    block = block_of(constraints, 3)
    assert run(block, script) == (Finish.LENGTH, 1)
    assert block.tokens == [99, a, b, c]


def test_unsure_slots_are_typed_from_the_left(tokenizer: Tokenizer, constraints: Constraints) -> None:
    a, b, c = ids(tokenizer, "abc")
    script = Script({1: (a, UNSURE), 2: (b, UNSURE), 3: (c, SURE)})
    block = block_of(constraints, 3)
    assert run(block, script) == (Finish.LENGTH, 2)
    assert script.seen == [[99, MASK, MASK, MASK], [99, a, MASK, c]]
    assert block.confidences[1] < 0.9 < block.confidences[3]


def test_the_end_token_drops_what_is_right_of_it(tokenizer: Tokenizer, constraints: Constraints) -> None:
    a, c = ids(tokenizer, "ac")
    script = Script({1: (a, UNSURE), 2: (END, SURE), 3: (c, SURE)})
    block = block_of(constraints, 3)
    assert run(block, script) == (Finish.END, 1)
    assert block.tokens[1 : block.end] == [a]
    assert block.end_confidence > 0.9


def test_nothing_behind_a_committed_end_is_seen(tokenizer: Tokenizer, constraints: Constraints) -> None:
    word, end = ids(tokenizer, "a")[0], constraints.end_id
    block = block_of(constraints, 6)
    block.commit([3], [end], [0.95])
    assert block.visible == [block.tokens[0], constraints.mask_id, constraints.mask_id, end]
    assert block.masked == [1, 2]
    other = block_of(constraints, 6)
    other.commit([1], [word], [0.95])
    assert other.visible == other.tokens


def test_an_earlier_end_found_later_counts(tokenizer: Tokenizer, constraints: Constraints) -> None:
    (a,) = ids(tokenizer, "a")
    script = Script({1: (a, UNSURE), 2: (END, UNSURE), 3: (END, SURE)})
    block = block_of(constraints, 3)
    assert run(block, script) == (Finish.END, 2)
    assert block.end == 2


@pytest.mark.parametrize(("max_lines", "end"), [(1, 3), (2, 5)])
def test_the_last_wanted_line_break_ends_the_middle(
    tokenizer: Tokenizer, constraints: Constraints, max_lines: int, end: int
) -> None:
    script = Script({slot: (token, SURE) for slot, token in enumerate(ids(tokenizer, "a\nb\nc"), start=1)})
    block = block_of(constraints, 5, max_lines=max_lines)
    assert run(block, script)[0] is Finish.LINE
    assert block.end == end


def test_a_line_break_that_only_heals_does_not_end_the_middle(tokenizer: Tokenizer, constraints: Constraints) -> None:
    script = Script({slot: (token, SURE) for slot, token in enumerate(ids(tokenizer, "\na"), start=1)})
    block = block_of(constraints, 2, heal=b"\n")
    assert run(block, script) == (Finish.LENGTH, 2)
    assert block.end == 3


def test_healing_binds_the_first_slots_and_holds_back_the_others(
    tokenizer: Tokenizer, constraints: Constraints
) -> None:
    (x,) = ids(tokenizer, "x")
    script = Script({1: (x, SURE), 2: (x, SURE), 3: (x, SURE)})
    block = block_of(constraints, 3, heal=b"de")
    run(block, script)
    text = b"".join(tokenizer.token_bytes(token) for token in block.tokens[1:])
    assert text.startswith(b"de")
    (whole,) = tokenizer.encode("def")
    script = Script({1: (whole, SURE), 2: (x, SURE), 3: (x, SURE)})
    block = block_of(constraints, 3, heal=b"de")
    assert run(block, script) == (Finish.LENGTH, 1)
    assert block.tokens == [99, whole, x, x]


def test_a_middle_does_not_end_before_it_has_begun(tokenizer: Tokenizer, constraints: Constraints) -> None:
    newline, a = ids(tokenizer, "\na")
    for first in (END, newline):
        script = Script({1: (first, SURE), 2: (END, SURE), 3: (END, SURE)})
        block = block_of(constraints, 3)
        assert run(block, script)[0] is Finish.END
        assert block.tokens[1] not in {END, newline}
        assert block.confidences[1] < 0.01, "what the end was worth is not given to others"
    block = block_of(constraints, 1, is_first=False)
    assert run(block, Script({1: (END, SURE)})) == (Finish.END, 1)
    script = Script({1: (a, SURE), 2: (END, SURE), 3: (END, SURE)})
    block = block_of(constraints, 3, heal=b"a")
    run(block, script)
    assert block.tokens[1] == a
    assert block.tokens[2] != END


def test_a_middle_below_the_floor_is_given_up(tokenizer: Tokenizer, constraints: Constraints) -> None:
    a, b, c = ids(tokenizer, "abc")
    script = Script({1: (a, UNSURE), 2: (b, UNSURE), 3: (c, UNSURE)})
    assert run(block_of(constraints, 3, floor=0.7), script) == (Finish.UNSURE, 2)
    assert run(block_of(constraints, 3, floor=0.1), script) == (Finish.LENGTH, 3)


def test_special_tokens_are_never_committed(constraints: Constraints) -> None:
    script = Script({1: (MODEL.prefix_id, SURE), 2: (MASK, SURE)})
    block = block_of(constraints, 2)
    run(block, script)
    assert all(token >= MODEL.n_special or token == END for token in block.tokens[1 : block.end])


def test_banned_tokens_are_not_taken_again_and_kept_slots_stay(tokenizer: Tokenizer, constraints: Constraints) -> None:
    a, b, c = ids(tokenizer, "abc")
    script = Script({1: (a, SURE), 2: (b, SURE), 3: (c, SURE)})
    block = Block([99, a, MASK, c], [1.0, 0.5, 1.0, 0.25], constraints, banned={2: frozenset({b})})
    assert run(block, script)[0] in {Finish.LENGTH, Finish.END}
    assert block.tokens[1] == a
    assert block.tokens[2] != b
    assert block.confidences[1] == 0.5


def test_cancelled_before_the_first_forward_runs_none(tokenizer: Tokenizer, constraints: Constraints) -> None:
    script = Script({1: (ids(tokenizer, "a")[0], SURE)})
    assert run(block_of(constraints, 1), script, Stop(cancel_after=0)) == (Finish.CANCELLED, 0)
    assert script.seen == []


def test_when_time_is_up_the_last_guesses_fill_the_masks(tokenizer: Tokenizer, constraints: Constraints) -> None:
    a, b, c = ids(tokenizer, "abc")
    script = Script({1: (a, UNSURE), 2: (b, UNSURE), 3: (c, UNSURE)})
    block = block_of(constraints, 3)
    assert run(block, script, Stop(expire_after=1)) == (Finish.DEADLINE, 1)
    assert block.tokens == [99, a, b, c]
    block = block_of(constraints, 3)
    assert run(block, script, Stop(expire_after=0)) == (Finish.DEADLINE, 0)
    assert block.masked == [1, 2, 3]


class BlindScript(Script):
    """The same, that doubts what it is told to doubt when it does not see it."""

    def __init__(self, wanted: dict[int, tuple[int, float]], doubted: set[int]) -> None:
        super().__init__(wanted)
        self.doubted, self.asked = doubted, list[list[int]]()

    def __call__(self, ids: list[int], slots: list[int]) -> torch.Tensor:
        self.asked.append(list(slots))
        logits_AV = super().__call__(ids, slots)
        for row, slot in enumerate(slots):
            if ids[slot] != MASK and slot in self.doubted:
                logits_AV[row] = 0
                self.doubted.discard(slot)
        return logits_AV


def test_wino_verifies_what_it_wrote_and_masks_it_again(tokenizer: Tokenizer, constraints: Constraints) -> None:
    wanted = {
        slot: (token, SURE if slot < 6 else 5.0) for slot, token in enumerate(ids(tokenizer, "abcdefgh"), start=1)
    }
    script, block = BlindScript(wanted, {2}), block_of(constraints, 8)
    finish, n_forwards = denoise(script, block, policy_of("wino", 0.9, leftmost=False), Stop())
    assert finish is Finish.LENGTH
    assert script.asked[1] == [6, 7, 8, 1, 2, 3, 4, 5], "masked slots first, then what was written"
    assert block.tokens[1:] == ids(tokenizer, "abcdefgh")
    assert n_forwards == len(script.asked) <= 5


def test_what_is_taken_back_is_masked_and_may_come_again(tokenizer: Tokenizer, constraints: Constraints) -> None:
    a, b, c = ids(tokenizer, "abc")
    block = block_of(constraints, 3)
    block.commit([1, 2], [a, b], [0.8, 0.7])
    assert block.written == [1, 2]
    block.mask_again([2])
    assert (block.tokens, block.confidences[2], block.masked) == ([99, a, MASK, MASK], 1.0, [2, 3])
    block.commit([2, 3], [c, b], [0.9, 0.9])
    assert block.tokens == [99, a, c, b]


def test_neither_healing_nor_the_last_line_is_taken_back(tokenizer: Tokenizer, constraints: Constraints) -> None:
    a, newline = ids(tokenizer, "a\n")
    block = block_of(constraints, 4, heal=b"a")
    block.commit([1, 2, 3], [a, a, newline], [0.5, 0.5, 0.5])
    assert block.finish is Finish.LINE
    assert block.written == [2]


@pytest.mark.parametrize("name", ["threshold", "factor", "entropy", "margin", "klass", "wino", "remdm"])
def test_every_policy_comes_to_its_end(name: str, tokenizer: Tokenizer, constraints: Constraints) -> None:
    wanted = {slot: (token, 5.0 + slot % 3 * 2) for slot, token in enumerate(ids(tokenizer, "abcdefgh"), start=1)}
    block = block_of(constraints, 8)
    finish, n_forwards = denoise(Script(wanted), block, policy_of(name, 0.9, leftmost=False), Stop())
    assert finish is Finish.LENGTH
    assert block.tokens[1:] == ids(tokenizer, "abcdefgh")
    assert n_forwards <= 8 + 16
