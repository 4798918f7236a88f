"""Infilling with each family's tiny checkpoint, and with scripted logits where the right middle is known."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest
import torch
from family_checkpoints import WORDS, WRITERS, write_family
from midspan_model.config import DenoiseConfig
from midspan_model.context_encoding import Cost
from midspan_model.denoising.block import Finish
from midspan_model.denoising.choosing import PolicyName
from midspan_model.errors import WeightsError
from midspan_model.families import canvas_forward
from midspan_model.families.block_forward import BlockForward, EncodedContext
from midspan_model.families.canvas_forward import CanvasForward
from midspan_model.families.infiller import FamilyInfiller, FamilyOptions
from midspan_model.families.opening import Checkpoint, family_of, is_published, open_checkpoint
from midspan_model.families.spec import Length
from midspan_model.families.tokens import CheckpointTokenizer
from midspan_model.families.weights import Placement, best_placement
from midspan_model.growth import Draft
from midspan_model.questions import Proposal, Question
from tiny_model import Stop
from torch import Tensor

FLOAT = Placement(torch.device("cpu"), torch.float32)
QUESTION = Question("def f(x):\n    ret", "\n\nprint(f(1))\n")
SMALL = FamilyOptions(line_slots=6, several_slots=6, most_slots=12)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("families")


@lru_cache
def opened(name: str, root: Path) -> Checkpoint:
    return open_checkpoint(write_family(name, root / name.replace(" ", "-"), seed=3), FLOAT)


def infiller_of(name: str, root: Path, options: FamilyOptions = SMALL, **config: object) -> FamilyInfiller:
    return FamilyInfiller(opened(name, root), DenoiseConfig(**config), options)  # type: ignore[arg-type]


class Scripted:
    """A backbone that knows the middle, and asks for more or fewer slots where it may."""

    def __init__(self, checkpoint: Checkpoint, n_before: int, n_behind: int, middle: list[int]) -> None:
        self.family, self.n_rows = checkpoint.family, checkpoint.n_rows
        self.n_before, self.n_behind, self.middle = n_before, n_behind, middle
        self.seen: list[list[int]] = []

    def hidden(self, ids_BT: Tensor, positions_BT: Tensor, sheet: object) -> Tensor:
        ids = ids_BT[0].tolist()
        self.seen.append(ids)
        n_slots = len(ids) - self.n_before - self.n_behind
        logits = torch.zeros(1, len(ids), self.n_rows)
        for place in range(len(ids)):
            slot = place + int(self.family.shift) - self.n_before  # from 0
            if not 0 <= slot < n_slots:
                continue
            wanted = self.middle[slot] if slot < len(self.middle) else self.family.end_id
            if self.family.expand_id is not None and n_slots < len(self.middle) and slot == n_slots - 1:
                wanted = self.family.expand_id
            logits[0, place, wanted] = 15.0
        return logits

    def logits(self, hidden_XC: Tensor) -> Tensor:
        return hidden_XC.clone()


@pytest.mark.parametrize("name", list(WRITERS))
@pytest.mark.parametrize("policy", ["threshold", "wino"])
def test_a_middle_is_filled_and_mended(name: str, policy: str, root: Path) -> None:
    infiller, cost = infiller_of(name, root, policy=policy), Cost()
    middle = infiller.infill(QUESTION, Stop(), cost=cost)
    assert middle is not None
    assert (QUESTION.prefix[-3:] + middle.text).startswith("ret")
    assert len(middle.token_ids) == len(middle.spans) == len(middle.confidences) > 0
    assert middle.spans[-1][1] == len(middle.text)
    assert 0 < middle.probability <= min(middle.confidences)
    assert middle.finish in {Finish.LENGTH, Finish.LINE, Finish.END}
    assert all(token_id < len(WORDS) for token_id in middle.token_ids), "neither special nor padding"
    assert cost.n_forwards >= 1
    last = len(middle.token_ids) - 1
    banned = {last: frozenset({middle.token_ids[last]})}
    draft = Draft(middle.token_ids, middle.confidences, frozenset({last}), banned)
    mended = infiller.infill(replace(QUESTION, draft=draft), Stop())
    if mended is not None:  # else nothing else heals what precedes the cursor
        assert mended.token_ids[:last] == middle.token_ids[:last]
        assert mended.token_ids[last : last + 1] != middle.token_ids[last:]


@pytest.mark.parametrize("name", ["LLaDA", "DreamOn", "SDAR"])
def test_there_are_several_to_choose_from_if_somebody_wants_to(name: str, root: Path) -> None:
    infiller, cost = infiller_of(name, root), Cost()
    alone = infiller.infill(QUESTION, Stop(), cost=cost)
    several = infiller.infill(replace(QUESTION, n_candidates=3), Stop())
    assert alone is not None
    assert several is not None
    assert (alone.text, alone.rivals) == (several.text, ())
    assert several.cost.n_forwards > cost.n_forwards
    texts = [several.text, *(one.text for one in several.rivals)]
    assert 2 <= len(texts) == len(set(texts)) <= 3
    assert "" not in texts
    probabilities = [one.probability for one in several.rivals]
    assert probabilities == sorted(probabilities, reverse=True)
    shown = [one for one, (start, end) in zip(several.confidences, several.spans, strict=True) if start < end]
    for rival in several.rivals:
        n_same = next(n for n, (a, b) in enumerate(zip(rival.token_ids, several.token_ids, strict=False)) if a != b)
        assert several.confidences[n_same] in sorted(shown)[:2], "it left the best where that was unsure"


@pytest.mark.parametrize("n_asked", range(4))
def test_choosing_stops_with_the_time_and_leaves_the_best(n_asked: int, root: Path) -> None:
    infiller, whole = infiller_of("LLaDA", root), Stop()
    alone = infiller.infill(QUESTION, whole)
    late = infiller.infill(replace(QUESTION, n_candidates=3), Stop(expire_after=whole.n_asked + n_asked))
    assert alone is not None
    assert late is not None
    assert late.text == alone.text


@pytest.mark.parametrize("policy", list(PolicyName))
def test_every_policy_fills(policy: str, root: Path) -> None:
    assert infiller_of("LLaDA", root, policy=policy).infill(QUESTION, Stop()) is not None


@pytest.mark.parametrize("length", [Length.FIXED, Length.SEARCHED, Length.DENSITY])
@pytest.mark.parametrize("name", ["Dream", "DreamOn"])
def test_every_way_to_a_length_fills(name: str, length: Length, root: Path) -> None:
    middle = infiller_of(name, root, replace(SMALL, length=length)).infill(QUESTION, Stop())
    assert middle is not None
    assert 1 <= len(middle.token_ids) <= SMALL.most_slots


@pytest.mark.parametrize("name", ["Dream", "DreamOn", "DiffuCoder", "Open-dCoder", "dllm mdlm", "LLaDA"])
def test_the_right_middle_comes_out_in_its_places(name: str, root: Path) -> None:
    """Which it would not if mask, shift or the places of the texts were off by one."""
    infiller = infiller_of(name, root, replace(SMALL, length=Length.FIXED, line_slots=4))
    canvas = infiller.canvas(Question("x = (", ")\n"))
    text = canvas.healed.decode() + "a+b"
    tokens = infiller.tokenizer.encode(text)
    assert len(tokens) == 4
    scripted = Scripted(infiller.checkpoint, len(canvas.prefix_ids), len(canvas.suffix_ids), tokens)
    infiller.checkpoint = replace(infiller.checkpoint, backbone=scripted)
    middle = infiller.infill(Question("x = (", ")\n"), Stop())
    assert middle is not None
    assert middle.text == "a+b"
    family = infiller.checkpoint.family
    first, last = family.edges
    around = [*first, *infiller.tokenizer.encode("x = ("), *infiller.tokenizer.encode(")\n"), *last]
    n_healed = len(infiller.tokenizer.encode(canvas.healed.decode()))
    assert [token for token in scripted.seen[0] if token != family.mask_id] == [
        token for index, token in enumerate(around) if not 0 <= index - len(canvas.prefix_ids) < n_healed
    ]
    assert scripted.seen[0].count(family.mask_id) == 4


@pytest.mark.parametrize("start", [1, 4, 12])
@pytest.mark.parametrize("text", ["a", "a+b", "a+b+cd"])
def test_dreamon_grows_and_shrinks_to_the_middle(start: int, text: str, root: Path) -> None:
    infiller = infiller_of("DreamOn", root, replace(SMALL, line_slots=start))
    question = Question("x = (", ")\n")
    canvas = infiller.canvas(question)
    tokens = infiller.tokenizer.encode(canvas.healed.decode() + text)
    scripted = Scripted(infiller.checkpoint, len(canvas.prefix_ids), len(canvas.suffix_ids), tokens)
    infiller.checkpoint = replace(infiller.checkpoint, backbone=scripted)
    middle = infiller.infill(question, Stop())
    assert middle is not None
    assert middle.text == text
    added = infiller.tokenizer.added_ids
    ends = (added["<|beginoftext|>"], added["<|endoftext|>"])
    assert all((ids[0], ids[-1]) == ends for ids in scripted.seen), "it was trained between them"


def test_without_a_suffix_or_prefix_it_fills_too(root: Path) -> None:
    for name in ("Dream", "SDAR", "Stable-DiffCoder"):
        assert infiller_of(name, root).infill(Question("", ""), Stop()) is not None


def test_stable_diffcoder_is_asked_as_it_was_trained(root: Path) -> None:
    infiller = infiller_of("Stable-DiffCoder", root)
    added = infiller.tokenizer.added_ids
    canvas = infiller.canvas(Question("ab(", ")c"))
    encode = infiller.tokenizer.encode
    assert canvas.prefix_ids == (
        added["<[fim-suffix]>"],
        *encode(")c"),
        added["<[fim-prefix]>"],
        *encode("ab("[: -len(canvas.healed)]),
        added["<[fim-middle]>"],
    )
    assert canvas.suffix_ids == ()


def test_cancelled_and_late_requests(root: Path) -> None:
    for name in ("Dream", "SDAR"):
        infiller, cost = infiller_of(name, root), Cost()
        assert infiller.infill(QUESTION, Stop(cancel_after=0), cost=cost) is None
        assert cost.n_forwards == 0
        assert infiller.infill(QUESTION, Stop(cancel_after=5)) is None
        late = infiller.infill(QUESTION, Stop(expire_after=3))
        assert late is None or late.finish is Finish.DEADLINE


@pytest.mark.parametrize("name", ["LLaDA", "SDAR"])
def test_a_middle_that_cannot_be_sure_enough_is_given_up(name: str, root: Path) -> None:
    infiller, cost = infiller_of(name, root, replace(SMALL, length=Length.FIXED)), Cost()
    sure = infiller.infill(QUESTION, Stop())
    middle = infiller.infill(replace(QUESTION, least=0.99), Stop(), cost=cost)
    assert sure is not None
    assert middle is not None
    assert middle.finish is Finish.UNSURE
    assert middle.probability < 0.99
    assert cost.n_forwards == 1
    assert len(middle.token_ids) < len(sure.token_ids)


def test_a_likelier_proposal_is_taken(root: Path) -> None:
    infiller, cost = infiller_of("Dream", root), Cost()
    proposals = (Proposal("urn 1", 0.1), Proposal("urn x", 0.7))
    question = replace(QUESTION, proposals=proposals)
    middle = infiller.infill(question, Stop(), cost=cost)
    assert middle is not None
    assert (middle.text, middle.proposal, middle.probability) == ("urn x", 1, 0.7)
    assert cost.n_forwards > 0
    sure = replace(QUESTION, proposals=(Proposal("urn y", 0.9),))
    cost = Cost()
    middle = infiller.infill(sure, Stop(), cost=cost)
    assert middle is not None
    assert (middle.text, cost.n_forwards) == ("urn y", 0)


@pytest.mark.parametrize("name", ["Dream", "SDAR"])
def test_drafts_are_shown_forward_by_forward(name: str, root: Path) -> None:
    shown: list[tuple[int, list[tuple[str | None, bool]]]] = []
    middle = infiller_of(name, root).infill(QUESTION, Stop(), lambda n, slots: shown.append((n, slots)))
    assert middle is not None
    assert [n for n, _ in shown] == sorted({n for n, _ in shown})
    assert all(text is not None for text, _ in shown[-1][1])


def test_prefill_spares_the_question_its_context(root: Path) -> None:
    infiller, ahead, cost = infiller_of("SDAR", root), Cost(), Cost()
    assert infiller.prefill(QUESTION, Stop(), ahead)
    infiller.infill(QUESTION, Stop(), cost=cost)
    assert ahead.n_encoded > 0
    assert cost.n_encoded < ahead.n_encoded
    assert infiller_of("Dream", root).prefill(QUESTION, Stop(), Cost())


@pytest.mark.parametrize("size", [2, 4, None])
def test_fast_dllm_fills_its_block_part_by_part(size: int | None, root: Path) -> None:
    """However sure it is of what stands behind."""
    infiller = infiller_of("Fast-dLLM v2", root, policy="threshold", threshold=0.0)
    family = replace(infiller.checkpoint.family, sub_block=size)
    assert infiller.checkpoint.family.sub_block == 8
    infiller.checkpoint = replace(infiller.checkpoint, family=family)
    shown: list[list[bool]] = []
    question = Question("def f(x):\n    return x +", "", max_lines=4)
    infiller.infill(question, Stop(), lambda _, slots: shown.append([text is not None for text, _ in slots]))
    place, part, longest = len(infiller.canvas(question).prefix_ids), size or 8, 0
    for before, after in zip([[], *shown], shown, strict=False):
        fresh = [at for at, is_there in enumerate(after) if is_there and not (at < len(before) and before[at])]
        assert len({(place + at) // part for at in fresh}) <= 1, "one part of a block at a time"
        longest = max(longest, len(fresh))
    assert 1 < longest <= part


def canvas_logits(checkpoint: Checkpoint, refresh: int, tokens: list[list[int]]) -> list[Tensor]:
    ids = torch.arange(20).tolist()
    forward = CanvasForward(checkpoint, ids[:12], ids[12:], Cost(), refresh)
    with torch.inference_mode():
        return [
            forward(block, [slot for slot in range(len(block)) if block[slot] == checkpoint.family.mask_id])
            for block in tokens
        ]


@pytest.mark.parametrize("name", ["Dream", "LLaDA"])
def test_the_approximate_cache_errs_only_between_refreshes(name: str, root: Path) -> None:
    checkpoint = opened(name, root)
    mask = checkpoint.family.mask_id
    steps = [[7, mask, mask, mask, mask], [7, 30, mask, mask, mask], [7, 30, mask, 31, mask], [7, 30, 32, 31, mask]]
    exact, near = canvas_logits(checkpoint, 1, steps), canvas_logits(checkpoint, 2, steps)
    errors = [float((a - b).abs().max()) for a, b in zip(exact, near, strict=True)]
    assert errors[0] == errors[2] == 0
    assert errors[1] > 0
    assert errors[3] > 0
    same = canvas_logits(checkpoint, 4, [steps[0], steps[0]])
    torch.testing.assert_close(*same, atol=1e-5, rtol=0)  # nothing changed, so nothing is stale
    shorter = canvas_logits(checkpoint, 9, [steps[0], steps[0][:-1]])[1]
    torch.testing.assert_close(shorter, canvas_logits(checkpoint, 1, [steps[0][:-1]])[0], atol=1e-5, rtol=0)


BIDIRECTIONAL = ["Dream", "DreamOn", "DiffuCoder", "Open-dCoder", "dllm mdlm", "LLaDA"]


@pytest.mark.parametrize("name", BIDIRECTIONAL)
def test_lengths_asked_together_look_as_they_do_alone(name: str, root: Path) -> None:
    """What fills up the shorter canvases is seen by nobody."""
    checkpoint, ids = opened(name, root), list(range(30))
    mask_id, lengths = checkpoint.family.mask_id, [8, 9, 12, 7, 1, 12]
    together, one, cost = Cost(), Cost(), Cost()
    with torch.inference_mode():
        forward = CanvasForward(checkpoint, ids[:17], ids[18:], together)
        looks = list(forward.looks(ids[17], lengths))
        for length, look_MV in zip(lengths, looks, strict=True):
            alone = CanvasForward(checkpoint, ids[:17], ids[18:], one)
            wanted_MV = alone([ids[17], *[mask_id] * length], list(range(1, length + 1)))
            torch.testing.assert_close(look_MV, wanted_MV, atol=1e-4, rtol=0)
            confidences = [each.softmax(-1).amax(-1).mean() for each in (look_MV, wanted_MV)]
            torch.testing.assert_close(*confidences, atol=1e-4, rtol=0)
        again_MV = forward([ids[17], *[mask_id] * 9], list(range(1, 10)))
        torch.testing.assert_close(again_MV, looks[1])
        assert (together.n_forwards, together.n_spared, one.n_forwards) == (1, 1, len(lengths))
        assert together.n_encoded == one.n_encoded
        written = CanvasForward(checkpoint, ids[:17], ids[18:], cost)
        list(written.looks(ids[17], [4]))
        written([ids[17], 40, *[mask_id] * 3], [2, 3, 4])
        assert (cost.n_forwards, cost.n_spared) == (2, 0), "only what was looked at is known already"


@pytest.mark.parametrize("name", BIDIRECTIONAL)
@pytest.mark.parametrize("refresh", [1, 4])
def test_a_searched_length_is_the_same_asked_together(
    name: str, refresh: int, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    infiller = infiller_of(name, root, FamilyOptions(length=Length.SEARCHED, refresh=refresh))
    together, alone = Cost(), Cost()
    found = infiller.infill(QUESTION, Stop(), cost=together)
    monkeypatch.setattr(canvas_forward, "_TOKENS_TOGETHER_CPU", 1)
    wanted = infiller.infill(QUESTION, Stop(), cost=alone)
    assert found is not None
    assert wanted is not None
    assert found.token_ids == wanted.token_ids
    assert together.n_forwards <= alone.n_forwards - 8
    assert together.n_spared == alone.n_spared == (1 if refresh == 1 else 0)


@pytest.mark.parametrize("name", ["Dream", "LLaDA", "SDAR", "Fast-dLLM v2"])
def test_a_shadow_does_not_see_its_slot(name: str, root: Path) -> None:
    """With one layer nobody else can tell it; the others' logits are as without shadows."""
    checkpoint = opened(name, root)
    model = checkpoint.backbone.language_model.model  # type: ignore[attr-defined]
    model.config.num_hidden_layers, layers = 1, model.config.num_hidden_layers
    mask = checkpoint.family.mask_id

    def forward(tokens: list[int], slots: list[int]) -> Tensor:
        with torch.inference_mode():
            if checkpoint.family.block is None:
                return CanvasForward(checkpoint, [1, 2, 3], [4, 5], Cost())(tokens, slots)
            return BlockForward(checkpoint, EncodedContext(64), [1, 2, 3, 4] * checkpoint.family.block, Cost())(
                tokens, slots
            )

    try:
        one, other = [7, 30, 31, mask], [7, 40, 31, mask]
        blind = forward(one, [3, 1, 2]), forward(other, [3, 1, 2])
        torch.testing.assert_close(blind[0][1], blind[1][1], atol=1e-5, rtol=0)
        assert (blind[0][2] - blind[1][2]).abs().max() > 1e-3
        torch.testing.assert_close(blind[0][:1], forward(one, [3]), atol=1e-5, rtol=0)
    finally:
        model.config.num_hidden_layers = layers


def test_special_tokens_in_a_users_text_are_text(root: Path) -> None:
    for name in ("Dream", "SDAR"):
        tokenizer = opened(name, root).tokenizer
        text = 'say("<|mask|>", "<|MASK|>", "<|endoftext|>")'
        ids = tokenizer.encode(text)
        assert not set(ids) & set(tokenizer.added_ids.values())
        assert b"".join(map(tokenizer.token_bytes, ids)).decode() == text
        assert all(tokenizer.token_bytes(index) == b"" for index in tokenizer.added_ids.values())
        assert tokenizer.token_bytes(opened(name, root).n_rows - 1) == b"", "a row that pads the matrix"


def test_what_is_no_checkpoint_says_so(tmp_path: Path, root: Path, tiny_checkpoint: Path) -> None:
    assert not is_published(tiny_checkpoint)
    assert not is_published(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    assert is_published(tmp_path)
    with pytest.raises(WeightsError, match="gpt2"):
        family_of(tmp_path)
    with pytest.raises(WeightsError, match="no tokenizer"):
        CheckpointTokenizer(tmp_path)
    folder = write_family("SDAR", tmp_path / "sdar")
    (folder / "model.safetensors").unlink()
    with pytest.raises(WeightsError, match="no weights"):
        open_checkpoint(folder, FLOAT)
    folder = write_family("LLaDA", tmp_path / "llada")
    config = (folder / "config.json").read_text()
    (folder / "config.json").write_text(config.replace('"block_type": "llama"', '"block_type": "sequential"'))
    with pytest.raises(WeightsError, match="block_type"):
        open_checkpoint(folder, FLOAT)
    (folder / "config.json").write_text(config.replace('"n_layers": 2', '"n_layers": 3'))
    with pytest.raises(WeightsError, match=r"blocks\.2.*missing"):
        open_checkpoint(folder, FLOAT)
    (folder / "config.json").write_text(config.replace('"mlp_hidden_size": 48', '"mlp_hidden_size": 40'))
    with pytest.raises(WeightsError, match="do not fit"):
        open_checkpoint(folder, FLOAT)


@pytest.mark.parametrize(
    "names",
    [
        {"auto_map": {"AutoModelForCausalLM": "modeling_seed_diffcoder.SeedDiffcoderForCausalLM"}},
        {"architectures": ["StableDiffcoderForCausalLM"]},
    ],
)
def test_seed_coder_is_not_taken_for_stable_diffcoder(names: dict[str, object], tmp_path: Path) -> None:
    """By what the published `config.json` of the instructed and of the base model name, and Seed-Coder's does not."""
    folder = write_family("Stable-DiffCoder", tmp_path / "coder")
    path = folder / "config.json"
    plain = {**json.loads(path.read_text()), "architectures": ["LlamaForCausalLM"]}
    del plain["auto_map"]
    path.write_text(json.dumps(plain))
    with pytest.raises(WeightsError, match="Seed-Coder, which types from left to right") as raised:
        family_of(folder)
    assert "auto_map" in raised.value.hint
    path.write_text(json.dumps({**plain, **names}))
    assert family_of(folder).name == "Stable-DiffCoder"


def test_where_it_computes_is_chosen() -> None:
    assert str(best_placement("cpu", "int8")).startswith("cpu, int8 and ")
    assert best_placement("cpu", "float32") == FLOAT
    with pytest.raises(WeightsError, match="float8"):
        best_placement("cpu", "float8")
    if not torch.cuda.is_available():
        with pytest.raises(WeightsError, match="cuda"):
            best_placement("cuda")


@pytest.mark.parametrize("name", ["Dream", "LLaDA2"])
def test_bfloat16_and_int8_fill_too(name: str, root: Path) -> None:
    folder = root / name.replace(" ", "-")
    opened(name, root)
    for placement in (
        Placement(torch.device("cpu"), torch.bfloat16),
        Placement(torch.device("cpu"), torch.bfloat16, int8=True),
    ):
        infiller = FamilyInfiller(open_checkpoint(folder, placement), DenoiseConfig(), SMALL)
        assert infiller.infill(QUESTION, Stop()) is not None


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("name", list(WRITERS))
def test_on_a_gpu_it_fills_by_every_policy(name: str, root: Path) -> None:
    opened(name, root)
    folder = root / name.replace(" ", "-")
    for placement in (best_placement("cuda"), best_placement("cuda", "int8")):
        checkpoint = open_checkpoint(folder, placement)
        for policy in PolicyName:
            assert FamilyInfiller(checkpoint, DenoiseConfig(policy=policy), SMALL).infill(QUESTION, Stop()) is not None
