"""Each family's logits against an independent reference: transformers' own eager modules with the mask written out.

LLaDA2, which transformers lacks, against a plain loop over tokens and experts.
"""

from __future__ import annotations

import json
import math
from functools import lru_cache
from pathlib import Path

import pytest
import torch
import transformers
from family_checkpoints import WRITERS, id_after_words, write_family
from midspan_model.context_encoding import Cost
from midspan_model.families.block_forward import BlockForward, EncodedContext
from midspan_model.families.canvas_forward import CanvasForward
from midspan_model.families.opening import Checkpoint, open_checkpoint
from midspan_model.families.weights import Placement
from safetensors.torch import load_file
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


def reference_logits(name: str, root: Path, ids: list[int]) -> Tensor:
    """Raw logits (T, V) of the whole canvas in one pass, without any cache."""
    config = json.loads((root / name.replace(" ", "-") / "config.json").read_text())
    state = weights_of(root, name)
    if name == "LLaDA2":
        return plain_llada2(config, state, ids, mask_of(name, len(ids)))
    if name == "LLaDA":
        config, state = llada_as_llama(config, state)
    kind = {"sdar": "Qwen3", "a2d-qwen3": "Qwen3", "llama": "Llama", "llada": "Llama"}.get(
        config["model_type"], "Qwen2"
    )
    foreign = ("model_type", "architectures", "torch_dtype")
    shape = getattr(transformers, f"{kind}Config")(**{k: v for k, v in config.items() if k not in foreign})
    shape._attn_implementation = "eager"
    model = getattr(transformers, f"{kind}ForCausalLM")(shape).eval()
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected
    assert set(missing) <= {"lm_head.weight"}
    model.tie_weights()
    bias = torch.zeros(len(ids), len(ids)).masked_fill(~mask_of(name, len(ids)), float("-inf"))[None, None]
    with torch.inference_mode():
        return model(input_ids=torch.tensor([ids]), attention_mask=bias).logits[0]


def llada_as_llama(config: dict, state: dict[str, Tensor]) -> tuple[dict, dict[str, Tensor]]:
    """By the published modeling_llada.py: silu(ff_proj(x)) * up_proj(x), then ff_out."""
    renamed = {
        "model.embed_tokens.weight": state["model.transformer.wte.weight"],
        "model.norm.weight": state["model.transformer.ln_f.weight"],
        "lm_head.weight": state["model.transformer.ff_out.weight"],
    }
    inner = {
        "q_proj": "self_attn.q_proj", "k_proj": "self_attn.k_proj", "v_proj": "self_attn.v_proj",
        "attn_out": "self_attn.o_proj", "attn_norm": "input_layernorm", "ff_norm": "post_attention_layernorm",
        "ff_proj": "mlp.gate_proj", "up_proj": "mlp.up_proj", "ff_out": "mlp.down_proj",
    }  # fmt: skip
    for layer in range(config["n_layers"]):
        for theirs, ours in inner.items():
            weight = state[f"model.transformer.blocks.{layer}.{theirs}.weight"]
            renamed[f"model.layers.{layer}.{ours}.weight"] = weight
    shape = {
        "model_type": "llada", "hidden_size": config["d_model"], "intermediate_size": config["mlp_hidden_size"],
        "num_hidden_layers": config["n_layers"], "num_attention_heads": config["n_heads"],
        "num_key_value_heads": config["n_kv_heads"], "vocab_size": config["vocab_size"],
        "rms_norm_eps": config["rms_norm_eps"], "rope_theta": config["rope_theta"],
        "max_position_embeddings": config["max_sequence_length"],
    }  # fmt: skip
    return shape, renamed


def plain_llada2(c: dict, state: dict[str, Tensor], ids: list[int], seen: Tensor) -> Tensor:
    """LLaDA2 token by token, head by head, expert by expert, in float64."""
    s = {name: weight.double() for name, weight in state.items()}
    heads, n_kv, dim, eps = c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"], c["rms_norm_eps"]
    turned = int(dim * c["partial_rotary_factor"])

    def norm(x: Tensor, weight: Tensor) -> Tensor:
        return weight * x / (x.pow(2).mean(-1, keepdim=True) + eps).sqrt()

    def rotate(x: Tensor, place: int) -> Tensor:
        out = x.clone()
        for pair in range(turned // 2):
            angle = place * c["rope_theta"] ** (-2 * pair / turned)
            a, b = x[pair], x[pair + turned // 2]
            out[pair] = a * math.cos(angle) - b * math.sin(angle)
            out[pair + turned // 2] = b * math.cos(angle) + a * math.sin(angle)
        return out

    def mlp(x: Tensor, at: str) -> Tensor:
        gate = s[f"{at}.gate_proj.weight"] @ x
        return s[f"{at}.down_proj.weight"] @ (gate * gate.sigmoid() * (s[f"{at}.up_proj.weight"] @ x))

    def experts(x: Tensor, at: str) -> Tensor:
        score = (s[f"{at}.gate.weight"] @ x).sigmoid()
        biased = (score + s[f"{at}.gate.expert_bias"]).tolist()
        size = len(biased) // c["n_group"]
        groups = [biased[g * size : (g + 1) * size] for g in range(c["n_group"])]
        best_groups = sorted(range(c["n_group"]), key=lambda g: -sum(sorted(groups[g])[-2:]))[: c["topk_group"]]
        allowed = [e for e in range(len(biased)) if e // size in best_groups]
        chosen = sorted(allowed, key=lambda e: -biased[e])[: c["num_experts_per_tok"]]
        total = sum(float(score[e]) for e in chosen)
        out = mlp(x, f"{at}.shared_experts")
        for e in chosen:
            out = out + c["routed_scaling_factor"] * float(score[e]) / total * mlp(x, f"{at}.experts.{e}")
        return out

    x = s["model.word_embeddings.weight"][ids]
    for layer in range(c["num_hidden_layers"]):
        at = f"model.layers.{layer}"
        joint = norm(x, s[f"{at}.input_layernorm.weight"]) @ s[f"{at}.attention.query_key_value.weight"].T
        joint = joint.view(len(ids), heads + 2 * n_kv, dim)
        q = norm(joint[:, :heads], s[f"{at}.attention.query_layernorm.weight"])
        k = norm(joint[:, heads : heads + n_kv], s[f"{at}.attention.key_layernorm.weight"])
        q = torch.stack([torch.stack([rotate(q[t, h], t) for h in range(heads)]) for t in range(len(ids))])
        k = torch.stack([torch.stack([rotate(k[t, h], t) for h in range(n_kv)]) for t in range(len(ids))])
        v = joint[:, heads + n_kv :]
        mixed = torch.zeros(len(ids), heads, dim, dtype=torch.double)
        for h in range(heads):
            kv = h // (heads // n_kv)
            scores = (q[:, h] @ k[:, kv].T / math.sqrt(dim)).masked_fill(~seen, float("-inf"))
            mixed[:, h] = scores.softmax(-1) @ v[:, kv]
        x = x + mixed.flatten(1) @ s[f"{at}.attention.dense.weight"].T
        y = norm(x, s[f"{at}.post_attention_layernorm.weight"])
        is_dense = layer < c["first_k_dense_replace"]
        x = x + torch.stack([mlp(one, f"{at}.mlp") if is_dense else experts(one, f"{at}.mlp") for one in y])
    return (norm(x, s["model.norm.weight"]) @ s["lm_head.weight"].T).float()


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
    logits = reference_logits(name, root, ids)
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


@pytest.mark.parametrize("name", sorted(SHIFTED - set(BLOCKS)))
def test_an_unshifted_reading_would_be_noticed(name: str, folders: Path) -> None:
    checkpoint = opened(name, folders)
    before, tokens, behind = canvas(checkpoint)
    unshifted = reference_logits(name, folders, [*before, *tokens, *behind])[[N_BEFORE + 1, N_BEFORE + 3]]
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
