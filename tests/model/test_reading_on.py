"""Reading on: what the trunk says of the text behind each middle, and that it decides between middles."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from midspan_model.calibration import BEHIND, Calibrator
from midspan_model.canvas import Canvas, build_canvas
from midspan_model.context_encoding import Cost
from midspan_model.infilling import Infiller
from midspan_model.kv_cache import ContextCache
from midspan_model.questions import Middle, Proposal, Question
from midspan_model.reading_on import N_BEHIND, read_on
from tiny_model import MODEL, Stop, tiny_infiller

PREFIX = "def first(a, b):\n    return a\n\n\ndef second(x):\n    return fi"
SUFFIX = "(x)\n\nprint(second(3))\n"
PROPOSALS = (Proposal("rst", 0.5), Proposal("nd(", 0.5), Proposal("x.y.z(", 0.5))


@pytest.fixture
def infiller(tiny_checkpoint: Path) -> Infiller:
    return tiny_infiller(tiny_checkpoint, denoising=False)


def context(infiller: Infiller, suffix: str) -> tuple[Canvas, ContextCache]:
    canvas = build_canvas(PREFIX, suffix, infiller.tokenizer, MODEL, infiller.config)
    cache = ContextCache(MODEL, 128, torch.float32)
    infiller.trunk.encode_suffix(list(canvas.suffix_ids), cache)
    infiller.trunk.encode_prefix(list(canvas.prefix_ids[:-1]), cache)
    return canvas, cache


@torch.inference_mode()
@pytest.mark.parametrize("suffix", [SUFFIX, "\n", ")", "é", ""])
def test_all_middles_at_once_are_read_on_from_as_each_alone(infiller: Infiller, suffix: str) -> None:
    canvas, cache = context(infiller, suffix)
    texts = ["rst", "nd(", "", "rst(a, b)"]
    together = read_on(infiller.trunk, cache, canvas, texts, suffix, infiller.tokenizer, Cost())
    assert len(together) == len(texts)
    for text, found in zip(texts, together, strict=True):
        ids = infiller.tokenizer.encode(canvas.healed.decode() + text)
        whole = infiller.tokenizer.encode(canvas.healed.decode() + text + suffix)
        start = next((i for i, (a, b) in enumerate(zip(ids, whole, strict=False)) if a != b), len(ids))
        known = [*canvas.prefix_ids, *whole[: start + N_BEHIND]]
        alone = ContextCache(MODEL, 160, torch.float32)  # the trunk types with no suffix at all
        logits_TV = infiller.trunk.logits(infiller.trunk.encode_prefix(known, alone)).log_softmax(-1)
        first = len(canvas.prefix_ids) + start
        wanted = sum(float(logits_TV[place - 1, known[place]]) for place in range(first, len(known)))
        assert found == pytest.approx(wanted, abs=1e-3)


@torch.inference_mode()
def test_middles_for_which_there_is_no_room_are_not_read(infiller: Infiller) -> None:
    canvas, cache = context(infiller, SUFFIX)
    long = "a.b(c) + " * (cache.room // 4)
    assert len(read_on(infiller.trunk, cache, canvas, ["rst", long, "nd"], SUFFIX, infiller.tokenizer, Cost())) == 1
    assert read_on(infiller.trunk, cache, canvas, [long], SUFFIX, infiller.tokenizer, Cost()) == []


def ask(infiller: Infiller, question: Question) -> Middle:
    middle = infiller.infill(question, Stop())
    assert middle is not None
    return middle


def test_the_text_behind_decides(infiller: Infiller) -> None:
    question = Question(PREFIX, SUFFIX, proposals=PROPOSALS)
    infiller.calibrator = Calibrator(-1.0, {"proposed": 1.0})  # nothing tells the proposals apart
    before = ask(infiller, question)
    infiller.calibrator = replace(infiller.calibrator, read_on=Calibrator(-1.0, {"proposed": 1.0, BEHIND: 2.0}))
    after = ask(infiller, question)
    assert after.cost.n_read == before.cost.n_read + 1
    assert after.cost.n_forwards == 1
    canvas, cache = context(infiller, SUFFIX)
    with torch.inference_mode():
        texts = [proposal.text for proposal in PROPOSALS]
        behind = read_on(infiller.trunk, cache, canvas, texts, SUFFIX, infiller.tokenizer, Cost())
    assert after.proposal == max(range(3), key=behind.__getitem__)
    assert after.features[BEHIND] == 0
    others = [features[BEHIND] for _, features in after.others if features["proposed"]]
    assert others == pytest.approx([max(-4.0, one - max(behind)) for one in behind if one != max(behind)], abs=1e-3)


@pytest.mark.parametrize(
    "question",
    [
        Question(PREFIX, "", proposals=PROPOSALS),
        Question(PREFIX, SUFFIX),
        Question(PREFIX, SUFFIX, proposals=(Proposal("rst", 0.5),), least=1.0),
    ],
)
def test_nothing_is_read_where_it_cannot_decide(infiller: Infiller, question: Question) -> None:
    first = Calibrator(-3.0, {"proposed": 1.0})
    infiller.calibrator = first
    before = ask(infiller, question)
    infiller.calibrator = replace(first, read_on=Calibrator(0.0, {BEHIND: 2.0}))
    assert ask(infiller, question).cost.n_read == before.cost.n_read


def test_both_calibrators_are_kept(tmp_path: Path) -> None:
    both = Calibrator(0.5, {"typed": 1.0}, "all", "sha", Calibrator(0.25, {BEHIND: 2.0}))
    both.save(tmp_path / "c.json")
    assert Calibrator.load(tmp_path / "c.json") == both
