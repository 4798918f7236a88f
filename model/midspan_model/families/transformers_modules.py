"""transformers' own modules as a backbone: Qwen2, Qwen3, its mixture of experts, and Llama.

Only their layers are theirs: what a token sees, and what is kept of it, is decided here, through the attention
function that transformers lets one register.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from midspan_model.errors import WeightsError
from midspan_model.families.sheet import Sheet, attend
from midspan_model.families.spec import Config

_ATTENTION = "midspan"
_FOREIGN = frozenset({"architectures", "auto_map", "dtype", "model_type", "torch_dtype", "transformers_version"})
"""Of a published `config.json` what says nothing about the shape."""

_EXPERT = re.compile(r"(?P<at>.*\.mlp\.experts)\.(?P<number>\d+)\..*")
_JOINED = {"gate_up_proj": ("gate_proj", "up_proj"), "down_proj": ("down_proj",)}
"""Tensors of all experts, and what of each they are put together from."""


class Backbone(nn.Module):
    """A causal language model of transformers, run without its mask and its cache.

    Shapes: B canvases, T tokens of each, C width, V vocabulary.
    """

    def __init__(self, kind: str, config: Mapping[str, Any]) -> None:
        super().__init__()
        self.language_model = _build(kind, config)

    def hidden(self, ids_BT: Tensor, positions_BT: Tensor, sheet: Sheet) -> Tensor:
        """Last hidden states (B, T, C)."""
        found = self.language_model.model(
            input_ids=ids_BT,
            position_ids=positions_BT,
            attention_mask=_no_mask(ids_BT),
            use_cache=False,
            sheet=sheet,
        )
        return found.last_hidden_state

    def logits(self, hidden_XC: Tensor) -> Tensor:
        """Logits (..., V) in float32."""
        return self.language_model.lm_head(hidden_XC).float()

    def materialise(self) -> None:
        """Make what no file holds: the frequencies of the rotary embedding."""
        model = self.language_model.model
        model.rotary_emb = type(model.rotary_emb)(config=self.language_model.config)

    def tied(self) -> dict[str, str]:
        """Parameters that are others' once more, by name."""
        if not self.language_model.config.tie_word_embeddings:
            return {}
        return {"language_model.lm_head.weight": "language_model.model.embed_tokens.weight"}


class JoinedExperts(Mapping[str, Tensor]):
    """Published tensors, where each expert is by itself, as transformers has them since its version 5: all in one.

    Shapes: E experts, I inner width, C width; `gate_up_proj` (E, 2 I, C), `down_proj` (E, C, I).
    """

    def __init__(self, state: Mapping[str, Tensor]) -> None:
        self._state = state
        self._n_experts: dict[str, int] = {}
        for name in state:
            if found := _EXPERT.fullmatch(name):
                at = found["at"]
                self._n_experts[at] = max(self._n_experts.get(at, 0), 1 + int(found["number"]))

    def __getitem__(self, name: str) -> Tensor:
        at, _, joined = name.rpartition(".")
        if at not in self._n_experts or joined not in _JOINED:
            return self._state[name]
        experts = [f"{at}.{number}" for number in range(self._n_experts[at])]
        parts = [[self._state[f"{expert}.{part}.weight"] for part in _JOINED[joined]] for expert in experts]
        return torch.stack([torch.cat(each) for each in parts])

    def __contains__(self, name: object) -> bool:
        at, _, joined = str(name).rpartition(".")
        return name in self._state or (at in self._n_experts and joined in _JOINED)

    def __iter__(self) -> Iterator[str]:
        return iter([*self._state, *(f"{at}.{joined}" for at in self._n_experts for joined in _JOINED)])

    def __len__(self) -> int:
        return len(self._state) + len(_JOINED) * len(self._n_experts)


def file_name(name: str) -> str:
    """A parameter's name in files of transformers' form."""
    return name.removeprefix("language_model.")


def qwen2(config: Config) -> Backbone:
    """Qwen2's layers."""
    return Backbone("Qwen2", config)


def qwen3(config: Config) -> Backbone:
    """Qwen3's layers."""
    return Backbone("Qwen3", config)


def qwen3_moe(config: Config) -> Backbone:
    """Qwen3's layers with experts."""
    return Backbone("Qwen3Moe", config)


def llama(config: Config) -> Backbone:
    """Llama's layers."""
    return Backbone("Llama", config)


def _build(kind: str, published: Mapping[str, Any]) -> Any:
    try:
        import transformers  # noqa: PLC0415  (heavy, and in an extra of its own)
        from transformers import AttentionInterface  # noqa: PLC0415
    except ImportError as error:
        raise WeightsError(
            f"checkpoints of this kind need transformers: {error}",
            hint="Install Midspan with its extra: pip install 'midspan[families]'",
        ) from error
    AttentionInterface.register(_ATTENTION, attend)
    config_class = getattr(transformers, f"{kind}Config")
    fields = {key: value for key, value in published.items() if key not in _FOREIGN}
    try:
        config = config_class(**fields)
    except (TypeError, ValueError) as error:
        raise WeightsError(f"config.json of the model cannot be used: {error}") from error
    config.layer_types = ["full_attention"] * config.num_hidden_layers  # no window: every token is to be seen
    config._attn_implementation = _ATTENTION
    return getattr(transformers, f"{kind}ForCausalLM")(config).eval()


def _no_mask(ids_BT: Tensor) -> Tensor:
    """What transformers takes for a finished mask, so that it makes none; `attend` does not look at it."""
    return torch.empty(1, 1, 1, 1, device=ids_BT.device)
