"""Each family's logits against independent references.

All of them against plain loops in float64 (`plain_models.py`). Those that have the shape of one of transformers' models
also against that, with its own attention and the mask written out, so that the loops are checked too.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest
import torch
import transformers
from family_checkpoints import WRITERS, id_after_words, sdar_moe, write_family
from midspan_model.context_encoding import Cost
from midspan_model.families import dream, fast_dllm, llada, llada2, sdar
from midspan_model.families.block_forward import BlockForward, EncodedContext
from midspan_model.families.canvas_forward import CanvasForward
from midspan_model.families.opening import Checkpoint, open_checkpoint
from midspan_model.families.spec import Recognise
from midspan_model.families.weights import Placement
from plain_models import plain_logits
from safetensors.torch import load_file, save_file
from tiny_model import Stop
from torch import Tensor

FLOAT = Placement(torch.device("cpu"), torch.float32)
SHIFTED = {"Dream", "DreamOn", "DiffuCoder", "Open-dCoder", "Fast-dLLM v2"}
BLOCKS = {"dllm bd3lm": 8, "LLaDA2": 8, "Fast-dLLM v2": 8, "SDAR": 4, "Stable-DiffCoder": 4}
MASKS = {
    "Dream": 3, "DreamOn": 3, "DiffuCoder": 2, "Open-dCoder": 1, "dllm mdlm": 1, "dllm bd3lm": 1, "LLaDA": 2,
    "LLaDA2": 1, "Fast-dLLM v2": 2, "SDAR": 2, "Stable-DiffCoder": 2,
}  # fmt: skip
ENDS = {
    "Dream": 0, "DreamOn": 0, "DiffuCoder": 1, "Open-dCoder": 0, "dllm mdlm": 0, "dllm bd3lm": 0, "LLaDA": 1,
    "LLaDA2": 0, "Fast-dLLM v2": 1, "SDAR": 1, "Stable-DiffCoder": 1,
}  # fmt: skip
N_BEFORE, N_SLOTS, N_BEHIND = 21, 5, 7


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("families")


@lru_cache
def opened(name: str, root: Path) -> Checkpoint:
    return open_checkpoint(write_family(name, root / name.replace(" ", "-"), seed=1), FLOAT)


def weights_of(root: Path, name: str) -> dict[str, Tensor]:
    return {k: v for path in (root / name.replace(" ", "-")).glob("*.safetensors") for k, v in load_file(path).items()}


def mask_of(name: str, n: int) -> Tensor:
    """seen (n, n), written out place by place."""
    seen = torch.ones(n, n, dtype=torch.bool)
    if block := BLOCKS.get(name):
        for query in range(n):
            for key in range(n):
                seen[query, key] = key // block <= query // block
    return seen


def plain(name: str, root: Path, ids: list[int]) -> Tensor:
    """Raw logits (T, V) of the whole canvas in one pass, without any cache."""
    config = json.loads((root / name.replace(" ", "-") / "config.json").read_text())
    return plain_logits(config, weights_of(root, name), ids, mask_of(name, len(ids)))


def canvas(checkpoint: Checkpoint) -> tuple[list[int], list[int], list[int]]:
    """Tokens before slot 0, of the block (two of its slots written), and behind it."""
    ids = torch.randint(
        0, 200, (N_BEFORE + N_SLOTS + 1 + N_BEHIND,), generator=torch.Generator().manual_seed(3)
    ).tolist()
    before, tokens, behind = ids[:N_BEFORE], ids[N_BEFORE : N_BEFORE + N_SLOTS + 1], ids[N_BEFORE + N_SLOTS + 1 :]
    for slot in (1, 3, 4):
        tokens[slot] = checkpoint.family.mask_id
    return before, tokens, behind


def expected(name: str, root: Path, ids: list[int], places: list[int]) -> Tensor:
    """The reference's logits for the tokens at these places, shifted as its authors' generation code does it."""
    logits = plain(name, root, ids)
    if name in SHIFTED:
        logits = torch.cat([logits[:1], logits[:-1]])
    return logits[places]


def found(checkpoint: Checkpoint, before: list[int], tokens: list[int], behind: list[int], slots: list[int]) -> Tensor:
    with torch.inference_mode():
        if checkpoint.family.block is None:
            return CanvasForward(checkpoint, before, behind, Cost())(tokens, slots)
        forward = BlockForward(checkpoint, EncodedContext(64), before, Cost())
        assert forward.encode([*before, tokens[0]], 6, Stop())
        return forward(tokens, slots)


MODULES = {"Dream": "Qwen2", "dllm mdlm": "Qwen3", "Open-dCoder": "Qwen2", "Stable-DiffCoder": "Llama"}


@pytest.mark.parametrize("name", list(MODULES))
def test_the_plain_loops_are_what_transformers_computes(name: str, folders: Path) -> None:
    checkpoint = opened(name, folders)
    ids = [token for part in canvas(checkpoint) for token in part]
    foreign = ("model_type", "architectures", "torch_dtype", "auto_map")
    published = {k: v for k, v in dict(checkpoint.config).items() if k not in foreign}
    shape = getattr(transformers, f"{MODULES[name]}Config")(**published)
    shape._attn_implementation = "eager"
    model = getattr(transformers, f"{MODULES[name]}ForCausalLM")(shape).eval()
    missing, unexpected = model.load_state_dict(weights_of(folders, name), strict=False)
    assert not unexpected
    assert set(missing) <= {"lm_head.weight"}
    model.tie_weights()
    bias = torch.zeros(len(ids), len(ids)).masked_fill(~mask_of(name, len(ids)), float("-inf"))[None, None]
    with torch.inference_mode():
        theirs = model(input_ids=torch.tensor([ids]), attention_mask=bias).logits[0]
    torch.testing.assert_close(plain(name, folders, ids), theirs, atol=1e-4, rtol=0)


@pytest.mark.parametrize("int8", [False, True])
def test_sdar_with_experts(int8: bool, tmp_path: Path) -> None:
    """Its files have each expert by itself, transformers' modules all of them in one tensor."""
    folder = sdar_moe(tmp_path)
    checkpoint = open_checkpoint(folder, replace(FLOAT, int8=int8))
    assert (checkpoint.family.name, checkpoint.family.block) == ("SDAR", 4)
    ids = [*canvas(checkpoint)[0][:9], *[checkpoint.family.mask_id] * 3]
    config = json.loads((folder / "config.json").read_text())
    wanted = plain_logits(config, load_file(folder / "model.safetensors"), ids, mask_of("SDAR", len(ids)))[9:]
    logits = found(checkpoint, ids[:8], ids[8:], [], [1, 2, 3])
    if int8:
        assert torch.nn.functional.cosine_similarity(logits, wanted, dim=-1).min() > 0.99
    else:
        torch.testing.assert_close(logits, wanted, atol=1e-4, rtol=0)


def test_what_defaults_would_hide_is_told_from_them(folders: Path) -> None:
    """A theta or an epsilon that is the modules' default could be passed over without being noticed."""
    for name, key, usual in itertools.product(WRITERS, ("rope_theta", "rms_norm_eps"), (1e4, 5e5, 1e6, 1e-5, 1e-6)):
        checkpoint = opened(name, folders)
        ids = [token for part in canvas(checkpoint) for token in part][:12]
        config, state = dict(checkpoint.config), weights_of(folders, name)
        if (usual < 1) is (key == "rms_norm_eps"):
            right, other = (
                plain_logits({**config, **change}, state, ids, mask_of(name, len(ids))) for change in ({}, {key: usual})
            )
            assert (right - other).abs().max() > 1e-2, (name, key, usual)


@pytest.mark.parametrize("name", list(WRITERS))
def test_logits_are_the_references(name: str, folders: Path) -> None:
    checkpoint = opened(name, folders)
    before, tokens, behind = canvas(checkpoint)
    if checkpoint.family.block is not None:  # what stands behind is not there for a causal model; one block at a time
        before, behind = before[: checkpoint.family.block * 2 + 1], []
        tokens = tokens[: checkpoint.family.block - 1]
    slots = [slot for slot in range(1, len(tokens)) if tokens[slot] == checkpoint.family.mask_id]
    wanted = expected(name, folders, [*before, *tokens, *behind], [len(before) + slot for slot in slots])
    assert len(slots) > 0
    torch.testing.assert_close(found(checkpoint, before, tokens, behind, slots), wanted, atol=1e-4, rtol=0)


@pytest.mark.parametrize(
    ("name", "key", "head"),
    [
        ("LLaDA", "weight_tying", "model.transformer.ff_out.weight"),
        ("LLaDA2", "tie_word_embeddings", "lm_head.weight"),
        ("dllm mdlm", "tie_word_embeddings", "lm_head.weight"),
    ],
)
def test_a_head_that_is_the_embedding_is_told_by_the_config(name: str, key: str, head: str, tmp_path: Path) -> None:
    """Open-dCoder's checkpoint has one in any case."""
    folder = write_family(name, tmp_path / "tied", seed=1)
    config = {**json.loads((folder / "config.json").read_text()), key: True}
    (folder / "config.json").write_text(json.dumps(config))
    state = load_file(folder / "model.safetensors")
    del state[head]
    save_file(state, folder / "model.safetensors")
    checkpoint = open_checkpoint(folder, FLOAT)
    ids = [*canvas(checkpoint)[0][:16], *[checkpoint.family.mask_id] * 3]
    wanted = plain_logits(config, state, ids, mask_of(name, len(ids)))[-3:]
    logits = found(checkpoint, ids[:15], ids[15:], [], [1, 2, 3])
    torch.testing.assert_close(logits, wanted, atol=1e-4, rtol=0)


@pytest.mark.parametrize("name", sorted(BLOCKS))
def test_a_block_that_begins_behind_a_whole_one_is_right_too(name: str, folders: Path) -> None:
    checkpoint = opened(name, folders)
    before, tokens, _ = canvas(checkpoint)
    before = before[: BLOCKS[name] * 2 - 1]  # slot 0 is the last token of a block, slot 1 the first of the next
    tokens = [tokens[0]] + [checkpoint.family.mask_id] * BLOCKS[name]
    slots = list(range(1, len(tokens)))
    wanted = expected(name, folders, [*before, *tokens], [len(before) + slot for slot in slots])
    torch.testing.assert_close(found(checkpoint, before, tokens, [], slots), wanted, atol=1e-4, rtol=0)


@pytest.mark.parametrize("name", list(WRITERS))
def test_special_ids_shift_and_attention_are_the_published_ones(name: str, folders: Path) -> None:
    family = opened(name, folders).family
    assert family.name == name
    assert family.mask_id == id_after_words(MASKS[name])
    assert family.end_id == id_after_words(ENDS[name])
    assert family.shift is (name in SHIFTED)
    assert family.block == BLOCKS.get(name)
    assert family.expand_id == (id_after_words(4) if name == "DreamOn" else None)


@pytest.mark.parametrize(
    ("recognise", "kind", "mask_id", "end_id"),
    [
        (dream.recognise, "Dream", 151666, 151643),
        (llada.recognise, "llada", 126336, 126081),
        (llada2.recognise, "llada2_moe", 156895, 156892),
        (fast_dllm.recognise, "Fast_dLLM_Qwen", 151665, 151645),
        (sdar.recognise, "sdar", 151669, 151645),
    ],
)
def test_without_any_word_of_them_the_ids_are_the_published_ones(
    recognise: Recognise, kind: str, mask_id: int, end_id: int
) -> None:
    family = recognise({"model_type": kind}, {})
    assert family is not None
    assert (family.mask_id, family.end_id) == (mask_id, end_id)


@pytest.mark.parametrize("name", sorted(SHIFTED - set(BLOCKS)))
def test_an_unshifted_reading_would_be_noticed(name: str, folders: Path) -> None:
    checkpoint = opened(name, folders)
    before, tokens, behind = canvas(checkpoint)
    unshifted = plain(name, folders, [*before, *tokens, *behind])[[N_BEFORE + 1, N_BEFORE + 3]]
    assert (found(checkpoint, before, tokens, behind, [1, 3]) - unshifted).abs().max() > 0.1


def test_what_is_encoded_stays_right_while_one_types(folders: Path) -> None:
    checkpoint = opened("SDAR", folders)
    ids = canvas(checkpoint)[0]
    context, mask_id = EncodedContext(64), checkpoint.family.mask_id
    for n in (9, 10, 13, 11, 20):  # typing, pasting, deleting
        known, cost = ids[:n], Cost()
        if n == 20:
            known = [*known[:6], known[6] + 1, *known[7:]]  # an edit further up
        with torch.inference_mode():
            forward = BlockForward(checkpoint, context, known[:-1], cost)
            assert forward.encode(known, 4, Stop())
            tokens = [known[-1]] + [mask_id] * forward.n_slots
            logits = forward(tokens, list(range(1, len(tokens))))
        places = list(range(n, n + forward.n_slots))
        torch.testing.assert_close(logits, expected("SDAR", folders, [*known, *tokens[1:]], places), atol=1e-4, rtol=0)
        assert (cost.n_cached > 0) is (n != 9)


def test_int8_halves_bfloat16_and_stays_near(folders: Path) -> None:
    name = "dllm mdlm"
    checkpoint = opened(name, folders)
    before, tokens, behind = canvas(checkpoint)
    rounded = open_checkpoint(
        folders / name.replace(" ", "-"), Placement(torch.device("cpu"), torch.float32, int8=True)
    )
    whole, near = (found(one, before, tokens, behind, [1, 3, 4]) for one in (checkpoint, rounded))
    assert torch.nn.functional.cosine_similarity(whole, near, dim=-1).min() > 0.995
    linears = [m for m in rounded.backbone.modules() if type(m).__name__ == "Int8Linear"]  # pyright: ignore
    assert len(linears) == 2 * 7
    assert all(one.rounded.dtype is torch.int8 for one in linears)
