"""Fast path equals slow path, with real classes at tiny size."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from midspan_model.calibration import Calibrator
from midspan_model.canvas import build_canvas
from midspan_model.checkpoints import build, read_state
from midspan_model.denoising.block import Finish
from midspan_model.growth import Draft
from midspan_model.infilling import Infiller
from midspan_model.kv_cache import ContextCache, common_length
from midspan_model.lora import adapt
from midspan_model.questions import Middle, Proposal, Question
from midspan_model.task import Task
from midspan_model.token_tree import TokenTree
from tiny_model import MODEL, Stop, tiny_infiller, write_tiny_checkpoint

PREFIX = "def first(a, b):\n    return a\n\n\ndef second(x):\n    return fi"
SUFFIX = "(x)\n\nprint(second(3))\n"


@pytest.fixture
def infiller(tiny_checkpoint: Path) -> Infiller:
    return tiny_infiller(tiny_checkpoint)


def ask(infiller: Infiller, prefix: str = PREFIX, suffix: str = SUFFIX) -> Middle:
    middle = infiller.infill(Question(prefix, suffix, max_lines=50), Stop())
    assert middle is not None
    return middle


def assert_same(one: Middle, other: Middle) -> None:
    assert one.token_ids == other.token_ids
    assert one.confidences == pytest.approx(other.confidences, rel=1e-4)
    assert (one.text, one.spans, one.finish) == (other.text, other.spans, other.finish)
    assert one.cost.n_forwards <= other.cost.n_forwards


def test_cached_equals_recomputed_while_typing(tiny_checkpoint: Path, infiller: Infiller) -> None:
    for end in range(len(PREFIX) - 12, len(PREFIX)):
        assert_same(ask(infiller, PREFIX[:end]), ask(tiny_infiller(tiny_checkpoint), PREFIX[:end]))


def test_cached_equals_recomputed_after_jumps_and_other_suffixes(tiny_checkpoint: Path, infiller: Infiller) -> None:
    jumps = [(PREFIX, SUFFIX), (PREFIX[:20], SUFFIX), (PREFIX, ""), ("x" + PREFIX, SUFFIX), ("", ""), (PREFIX, SUFFIX)]
    for prefix, suffix in jumps:
        assert_same(ask(infiller, prefix, suffix), ask(tiny_infiller(tiny_checkpoint), prefix, suffix))


def test_typing_encodes_only_what_is_new(tiny_checkpoint: Path) -> None:
    infiller = tiny_infiller(tiny_checkpoint, max_line_blocks=1)
    first = infiller.infill(Question(PREFIX, SUFFIX), Stop())
    again = infiller.infill(Question(PREFIX, SUFFIX), Stop())
    typed = infiller.infill(Question(PREFIX + "rst", SUFFIX), Stop())
    assert first is not None
    assert again is not None
    assert typed is not None
    assert first.cost.n_encoded > 60
    assert again.cost.n_encoded == 0
    assert typed.cost.n_encoded == 3


def test_the_chunk_size_changes_nothing(tiny_checkpoint: Path, infiller: Infiller) -> None:
    assert_same(ask(infiller), ask(tiny_infiller(tiny_checkpoint, encode_chunk=5)))


def test_an_encoding_cut_short_goes_on_where_it_stopped(tiny_checkpoint: Path) -> None:
    infiller = tiny_infiller(tiny_checkpoint, encode_chunk=8)
    assert infiller.infill(Question(PREFIX, SUFFIX), Stop(cancel_after=4)) is None
    canvas = build_canvas(PREFIX, SUFFIX, infiller.tokenizer, MODEL, infiller.config)
    assert 0 < len(infiller.contexts.take(canvas.prefix_ids).prefix_ids) < len(canvas.prefix_ids) - 1
    assert_same(ask(infiller), ask(tiny_infiller(tiny_checkpoint)))


def test_merged_equals_unmerged(tiny_checkpoint: Path, infiller: Infiller) -> None:
    unmerged = adapt(infiller.trunk, read_state(tiny_checkpoint / "adapter.safetensors"))
    cache = ContextCache(MODEL, 128, torch.float32)
    canvas = build_canvas(PREFIX, SUFFIX, infiller.tokenizer, MODEL, infiller.config)
    infiller.trunk.encode_suffix(list(canvas.suffix_ids), cache)
    infiller.trunk.encode_prefix(list(canvas.prefix_ids[:-1]), cache)
    block = [canvas.prefix_ids[-1], *[MODEL.mask_id] * 5]
    merged_TC = infiller.denoiser.forward_block(block, cache)
    assert torch.allclose(merged_TC, unmerged.forward_block(block, cache), atol=1e-5)
    assert not torch.allclose(merged_TC, infiller.trunk.forward_block(block, cache), atol=1e-2)


def test_the_context_is_what_a_plain_causal_pass_gives(infiller: Infiller) -> None:
    """Against full attention written out: no cache, no fused heads, no chunks."""
    tokens = infiller.tokenizer.encode(PREFIX)
    cache = ContextCache(MODEL, 256, torch.float32)
    infiller.trunk.encode_prefix(tokens[:10], cache)
    hidden_TC = infiller.trunk.encode_prefix(tokens[10:], cache)
    assert torch.allclose(hidden_TC, plain_causal(infiller, tokens)[10:], atol=1e-5)


def plain_causal(infiller: Infiller, tokens: list[int]) -> torch.Tensor:
    config, state = MODEL, infiller.trunk.state_dict()
    n, d = len(tokens), config.head_dim
    position = torch.arange(config.suffix_room, config.suffix_room + n, dtype=torch.float64)
    angle = position[:, None] * config.rope_theta ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)

    def norm(x: torch.Tensor, gain: torch.Tensor) -> torch.Tensor:
        return x / (x.pow(2).mean(-1, keepdim=True) + config.norm_eps).sqrt() * gain

    def turn(x: torch.Tensor) -> torch.Tensor:
        pairs = torch.complex(x[:, : d // 2].double(), x[:, d // 2 :].double()) * torch.polar(
            torch.ones_like(angle), angle
        )
        return torch.cat([pairs.real, pairs.imag], -1).float()

    x = state["embedding.weight"][tokens]
    for layer in range(config.n_layers):
        w = {
            name: state[f"layers.{layer}.{name}.weight"]
            for name in ("attention_norm", "qkv", "out", "ffn_norm", "gate_up", "down")
        }
        rows = (norm(x, w["attention_norm"]) @ w["qkv"].T).split(d, -1)
        heads = []
        for head in range(config.n_heads):
            kv = config.n_heads + head // (config.n_heads // config.n_kv_heads)
            scores = turn(rows[head]) @ turn(rows[kv]).T / d**0.5
            scores += torch.full_like(scores, float("-inf")).triu(1)
            heads.append(scores.softmax(-1) @ rows[kv + config.n_kv_heads])
        x = x + torch.cat(heads, -1) @ w["out"].T
        gate, up = (norm(x, w["ffn_norm"]) @ w["gate_up"].T).chunk(2, -1)
        x = x + (torch.nn.functional.silu(gate) * up) @ w["down"].T
    return norm(x, state["norm.weight"])


def test_several_blocks_equal_one_by_one(tiny_checkpoint: Path, infiller: Infiller) -> None:
    """A long middle is what single-block answers give when each one's tokens join the prefix of the next."""
    infiller = tiny_infiller(tiny_checkpoint, max_blocks=3, typing=False)
    whole = infiller.infill(Question(PREFIX, SUFFIX, max_lines=50), Stop())
    assert whole is not None
    assert len(whole.token_ids) > infiller.width, "the seed must give a middle of several blocks"
    canvas = build_canvas(PREFIX, SUFFIX, infiller.tokenizer, MODEL, infiller.config)
    one = tiny_infiller(tiny_checkpoint, max_blocks=1)
    got: list[int] = []
    for _ in range(3):
        growth = one_block(one, (*canvas.prefix_ids, *got), canvas.suffix_ids, canvas.healed if not got else b"")
        got += growth
        if len(growth) < one.width:
            break
    assert tuple(got) == whole.token_ids


def one_block(infiller: Infiller, prefix_ids: tuple[int, ...], suffix_ids: tuple[int, ...], heal: bytes) -> list[int]:
    from midspan_model.canvas import Canvas
    from midspan_model.growth import Growth

    growth = Growth(Canvas(suffix_ids, prefix_ids, heal), infiller.tokenizer, infiller.width)
    with torch.inference_mode():
        cache = infiller.contexts.take(prefix_ids)
        infiller._grow(Task(Question("", "", max_lines=50), Stop(), None, growth.canvas, cache, 0.0), growth)
    return growth.token_ids


@pytest.mark.parametrize("prefix", [PREFIX[:n] for n in range(8, len(PREFIX), 5)])
def test_the_surer_of_typed_and_denoised_is_taken(tiny_checkpoint: Path, prefix: str) -> None:
    question = Question(prefix, "\nprint(second(3))\n")
    typed = tiny_infiller(tiny_checkpoint, denoising=False).infill(question, Stop())
    denoised = tiny_infiller(tiny_checkpoint, typing=False).infill(question, Stop())
    infiller = tiny_infiller(tiny_checkpoint, sure=2.0, denoising=True)
    both = infiller.infill(question, Stop())
    again = infiller.infill(question, Stop())
    assert typed is not None
    assert denoised is not None
    assert both is not None
    assert again is not None
    assert_same_but_cost(both, again)
    assert again.cost.n_forwards < both.cost.n_forwards, "what was read is not read again"
    assert both.cost.n_read == typed.cost.n_forwards + denoised.cost.n_forwards + 1
    assert both.token_ids in {typed.token_ids, denoised.token_ids}
    assert both.confidence >= typed.confidence * 0.999
    if both.token_ids == typed.token_ids:
        assert_same_but_cost(both, typed)


def test_a_sure_typed_middle_is_not_denoised_too(tiny_checkpoint: Path) -> None:
    question = Question(PREFIX, SUFFIX)
    typed = tiny_infiller(tiny_checkpoint, denoising=False).infill(question, Stop())
    sure = tiny_infiller(tiny_checkpoint, sure=0.0, denoising=True).infill(question, Stop())
    assert typed is not None
    assert sure is not None
    assert_same(typed, sure)


def test_branches_are_read_as_if_each_came_alone(tiny_checkpoint: Path) -> None:
    infiller = tiny_infiller(tiny_checkpoint)
    canvas = build_canvas(PREFIX, SUFFIX, infiller.tokenizer, MODEL, infiller.config)
    branches = [[100, 101, 102], [100, 103], [104, 105, 106, 107]]

    def cache_of_context() -> ContextCache:
        cache = ContextCache(MODEL, 128, torch.float32)
        infiller.trunk.encode_suffix(list(canvas.suffix_ids), cache)
        infiller.trunk.encode_prefix(list(canvas.prefix_ids[:-1]), cache)
        return cache

    with torch.inference_mode():
        cache = cache_of_context()
        tree = TokenTree.of(canvas.prefix_ids[-1], branches)
        assert len(tree.ids) == 9, "what two of them begin with is there once"
        together = infiller.denoiser.forward_tree(tree, cache)
        for branch, nodes in zip(branches, tree.ways, strict=True):
            alone = infiller.denoiser.forward_block([canvas.prefix_ids[-1], *branch], cache_of_context(), causal=True)
            assert torch.allclose(together[[0, *nodes]], alone, atol=1e-5)
        following = infiller.denoiser.forward_block([108], cache, n_kept=4, causal=True)
        whole = infiller.denoiser.forward_block(
            [canvas.prefix_ids[-1], *branches[0], 108], cache_of_context(), causal=True
        )
        assert torch.allclose(following[-1], whole[-1], atol=1e-5), "typing goes on behind the first branch"


@pytest.mark.parametrize("n_lines", [0, 1, 3, 40])
def test_a_neighbour_takes_whole_lines_and_no_more_than_its_budget(tiny_checkpoint: Path, n_lines: int) -> None:
    infiller = tiny_infiller(tiny_checkpoint, prefix_tokens=96, neighbour_tokens=40)
    lines = [f"total_{n} = first(a, b)\n" for n in range(n_lines)]
    prefix = PREFIX * 4
    plain = infiller.canvas(Question(prefix, SUFFIX))
    canvas = infiller.canvas(Question(prefix, SUFFIX, neighbour="".join(lines)))
    assert len(canvas.prefix_ids) <= 96
    assert canvas.healed == plain.healed
    text = b"".join(map(infiller.tokenizer.token_bytes, canvas.prefix_ids[1:])).decode()
    shown = text.partition("\n\n")[0].splitlines(keepends=True)
    kept = [line for line in shown if line.startswith("total_")]
    assert "".join(kept).rstrip() == "".join(lines[: len(kept)]).rstrip()
    assert bool(kept) == bool(n_lines)
    assert len(infiller.tokenizer.encode("".join(kept))) <= 40
    rest = text.removeprefix("".join(kept).rstrip() + "\n\n") if kept else text
    assert prefix.endswith(rest + canvas.healed.decode())


def test_a_neighbour_is_read_as_text_in_front(infiller: Infiller) -> None:
    lines = "def first_of(a):\n    return first(a, a)"
    asked = ask_question(infiller, Question(PREFIX, SUFFIX, neighbour=lines))
    in_front = ask_question(infiller, Question(lines + "\n\n" + PREFIX, SUFFIX))
    assert_same_but_cost(asked, in_front)
    assert asked.confidences != pytest.approx(ask_question(infiller, Question(PREFIX, SUFFIX)).confidences, rel=1e-4)


def ask_question(infiller: Infiller, question: Question) -> Middle:
    middle = infiller.infill(question, Stop())
    assert middle is not None
    return middle


@pytest.mark.parametrize("end", range(12, len(PREFIX), 7))
def test_a_proposal_that_would_be_typed_costs_one_forward(tiny_checkpoint: Path, end: int) -> None:
    question = Question(PREFIX[:end], SUFFIX)
    infiller = tiny_infiller(tiny_checkpoint, denoising=False)
    typed = infiller.infill(question, Stop())
    assert typed is not None
    assert typed.proposal is None
    again = infiller.infill(replace(question, proposals=(Proposal(typed.text, 0.9),)), Stop())
    assert again is not None
    canvas = build_canvas(question.prefix, SUFFIX, infiller.tokenizer, MODEL, infiller.config)
    natural = infiller.tokenizer.encode(canvas.healed.decode() + typed.text)
    if tuple(natural) == typed.token_ids and typed.finish is Finish.LINE:
        assert again.cost.n_forwards == 1
        assert (again.text, again.proposal) == (typed.text, 0)
        assert again.confidence == pytest.approx(typed.confidence, rel=1e-4)


@pytest.mark.parametrize("end", range(12, len(PREFIX), 5))
def test_typing_goes_on_from_whichever_proposal_it_follows_furthest(tiny_checkpoint: Path, end: int) -> None:
    question = Question(PREFIX[:end], SUFFIX)
    infiller = tiny_infiller(tiny_checkpoint, denoising=False, exhaustive=True)
    typed = infiller.infill(question, Stop())
    assert typed is not None
    canvas = build_canvas(question.prefix, SUFFIX, infiller.tokenizer, MODEL, infiller.config)
    n_healed = len(canvas.healed.decode())
    pieces = b"".join(map(infiller.tokenizer.token_bytes, typed.token_ids[: len(typed.token_ids) // 2]))
    half = pieces.decode("utf-8", "ignore")[n_healed:]
    proposals = (Proposal("zzz", 0.01), Proposal(half + "qq", 0.01))
    proposed = infiller.infill(replace(question, proposals=proposals), Stop())
    assert proposed is not None
    assert typed.text in {proposed.text, *(text for text, features in proposed.others if features["typed"])}
    proposed_ids = infiller.tokenizer.encode(canvas.healed.decode() + half + "qq")
    agreed = common_length(typed.token_ids, proposed_ids)
    assert proposed.cost.n_forwards <= typed.cost.n_forwards - agreed + 1, "and one to read on"
    if proposed.text == typed.text:
        assert proposed.confidences == pytest.approx(typed.confidences, rel=1e-4)


def test_typing_ends_where_a_proposal_stays_likelier(tiny_checkpoint: Path) -> None:
    # by these weights no text of the model's own is likelier than 0.6, and its confidence counts
    calibrator = Calibrator(0.0, {"proposed_odds": 1.0, "proposed": -0.4, "typed_log_confidence": 1.0})
    question = Question(PREFIX, SUFFIX, proposals=(Proposal("rst", 0.7),))
    infiller = tiny_infiller(tiny_checkpoint, denoising=False)
    to_the_end = tiny_infiller(tiny_checkpoint, denoising=False, exhaustive=True)
    infiller.calibrator = to_the_end.calibrator = calibrator
    middle, exhaustive = infiller.infill(question, Stop()), to_the_end.infill(question, Stop())
    assert middle is not None
    assert exhaustive is not None
    assert middle.text == exhaustive.text == "rst"
    assert middle.probability == exhaustive.probability
    assert middle.cost.n_forwards < exhaustive.cost.n_forwards


@pytest.mark.parametrize("text", ["zzz", "x y", "a" * 300, "\n", "", "é"])
def test_an_unlikely_proposal_changes_nothing(infiller: Infiller, tiny_checkpoint: Path, text: str) -> None:
    typed = tiny_infiller(tiny_checkpoint).infill(Question(PREFIX, SUFFIX), Stop())
    proposed = infiller.infill(Question(PREFIX, SUFFIX, proposals=(Proposal(text, 0.5),)), Stop())
    assert typed is not None
    assert proposed is not None
    assert_same_but_cost(typed, proposed)


def test_the_likelier_of_proposed_and_typed_is_taken(tiny_checkpoint: Path) -> None:
    infiller = tiny_infiller(tiny_checkpoint, denoising=False)
    weights = {"proposed_odds": 1.0, "log_confidence": 0.01}
    infiller.calibrator = Calibrator(-1.0, weights)
    question = Question(PREFIX, SUFFIX, proposals=(Proposal("rst", 0.95), Proposal("nd(", 0.1)))
    middle = infiller.infill(question, Stop())
    assert middle is not None
    assert (middle.text, middle.proposal) == ("rst", 0)
    assert middle.cost.n_forwards == 1, "sure enough to be taken at once"
    unlikely = replace(question, proposals=(Proposal("rst", 0.02), Proposal("nd(", 0.03)))
    other = infiller.infill(unlikely, Stop())
    assert other is not None
    assert other.proposal is None
    assert {text for text, _ in other.others} == {"rst", "nd("}


def assert_same_but_cost(one: Middle, other: Middle) -> None:
    assert one.text == other.text
    assert one.confidences == pytest.approx(other.confidences, rel=1e-4)


def test_a_mended_draft_keeps_what_is_not_masked(infiller: Infiller) -> None:
    first = infiller.infill(Question(PREFIX, SUFFIX, max_lines=50), Stop())
    assert first is not None
    draft = Draft(first.token_ids, first.confidences, frozenset({2}), {2: frozenset({first.token_ids[2]})})
    mended = infiller.infill(Question(PREFIX, SUFFIX, max_lines=50, draft=draft), Stop())
    assert mended is not None
    assert mended.token_ids[:2] == first.token_ids[:2]
    assert mended.confidences[:2] == pytest.approx(first.confidences[:2], rel=1e-4)
    assert len(mended.token_ids) < 3 or mended.token_ids[2] != first.token_ids[2]


@given(
    prefix=st.text(st.sampled_from("de f(x\xa0\n\t😀é"), max_size=8),
    remask=st.sets(st.integers(0, 9), min_size=1, max_size=3),
    expire_after=st.none() | st.integers(0, 4),
    max_lines=st.sampled_from([1, 3, 50]),
)
@settings(deadline=None, max_examples=60)
def test_the_text_before_the_cursor_is_always_reproduced(
    tiny_checkpoint: Path, prefix: str, remask: set[int], expire_after: int | None, max_lines: int
) -> None:
    """Whatever is masked again and whenever time is up: no byte of the middle is taken for a healed one."""
    infiller = shared_infiller(tiny_checkpoint)
    first = infiller.infill(Question(prefix, SUFFIX, max_lines=max_lines), Stop(expire_after=expire_after))
    if first is None:
        return
    remask = {min(slot, len(first.token_ids) - 1) for slot in remask}
    draft = Draft(first.token_ids, first.confidences, frozenset(remask))
    mended = infiller.infill(
        Question(prefix, SUFFIX, max_lines=max_lines, draft=draft), Stop(expire_after=expire_after)
    )
    healed = build_canvas(prefix, SUFFIX, infiller.tokenizer, MODEL, infiller.config).healed
    for middle in (first, mended):
        if middle is not None:
            pieces = b"".join(infiller.tokenizer.token_bytes(token_id) for token_id in middle.token_ids)
            assert pieces.startswith(healed)
            assert pieces[len(healed) :].decode("utf-8", "ignore").startswith(middle.text)
            assert 0 <= middle.confidence <= 1


@lru_cache
def shared_infiller(folder: Path) -> Infiller:
    return tiny_infiller(folder)


def test_two_random_checkpoints_differ(tiny_checkpoint: Path, tmp_path: Path) -> None:
    """So that the equalities above mean something."""
    other = tiny_infiller(write_tiny_checkpoint(tmp_path, seed=1))
    assert ask(other).token_ids != ask(tiny_infiller(tiny_checkpoint)).token_ids


def test_weights_of_another_shape_are_refused(tiny_checkpoint: Path) -> None:
    from dataclasses import replace

    from midspan_model.errors import WeightsError

    with pytest.raises(WeightsError, match="do not fit"):
        build(replace(MODEL, n_layers=3), read_state(tiny_checkpoint / "trunk.safetensors"))
