"""The transformer that trunk and denoiser share: Llama's layers over a canvas held in a `ContextCache`.

Shapes: T tokens of this call, S places attended to, H key/value heads, G query heads per key/value head, D width of a
head, C width of the model, V vocabulary. One canvas at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from midspan_model.attention import Run, attend_each, joined, rope_table, rotate
from midspan_model.config import ModelConfig
from midspan_model.kv_cache import ContextCache
from midspan_model.token_tree import TokenTree


class Layer(nn.Module):
    """One decoder layer; query, key and value, and gate and up, are fused by rows in that order."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        c = config
        self.heads = (c.n_kv_heads, c.n_heads // c.n_kv_heads, c.head_dim)
        self.attention_norm = nn.RMSNorm(c.width, c.norm_eps)
        self.qkv = nn.Linear(c.width, (c.n_heads + 2 * c.n_kv_heads) * c.head_dim, bias=False)
        self.out = nn.Linear(c.n_heads * c.head_dim, c.width, bias=False)
        self.ffn_norm = nn.RMSNorm(c.width, c.norm_eps)
        self.gate_up = nn.Linear(c.width, 2 * c.ffn_width, bias=False)
        self.down = nn.Linear(c.ffn_width, c.width, bias=False)

    def project(self, x_TC: Tensor, rope: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Queries (H, G * T, D), keys and values (H, T, D); a head's query groups lie one behind the other."""
        n_tokens = x_TC.shape[0]
        n_kv, group, dim = self.heads
        joint = self.qkv(self.attention_norm(x_TC)).view(n_tokens, -1, dim).transpose(0, 1)
        turned, v = joint.split([n_kv * (group + 1), n_kv])
        q, k = rotate(turned, rope).split([n_kv * group, n_kv])
        return q.reshape(n_kv, group * n_tokens, dim), k, v

    def mix(self, x_TC: Tensor, attended_HXD: Tensor) -> Tensor:
        """What follows attention: output projection and feed-forward, each on its residual."""
        n_tokens = x_TC.shape[0]
        n_kv, group, dim = self.heads
        heads = attended_HXD.view(n_kv, group, n_tokens, dim).permute(2, 0, 1, 3)
        x_TC = x_TC + self.out(heads.reshape(n_tokens, -1))
        gate, up = self.gate_up(self.ffn_norm(x_TC)).chunk(2, -1)
        return x_TC + self.down(F.silu(gate) * up)


class Together(Protocol):
    """Does for several threads what each of them asks for."""

    def member(self) -> AbstractContextManager[None]:
        """Meanwhile this thread asks for one pass after the other."""
        ...

    def run(self, transformer: Transformer, run: Run) -> Tensor:
        """As `Transformer.run_together` of one run."""
        ...

    def logits(self, transformer: Transformer, hidden_TC: Tensor) -> Tensor:
        """As `Transformer.logits_here`."""
        ...


class Transformer(nn.Module):
    """Trunk or denoiser.

    Trunk: `encode_prefix`, `encode_suffix`, causal, and each blind to the other. Denoiser: `forward_block`, which sees
    suffix, prefix and all of its block, in both directions.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.width)
        self.mask_embedding = nn.Parameter(torch.zeros(config.width))
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.n_layers))
        self.norm = nn.RMSNorm(config.width, config.norm_eps)
        self.together: Together | None = None
        """Puts the runs of several threads together; without it each is done where it is asked for."""
        self.packed_head: nn.Module | None = None
        """The embedding once more, packed as a linear (`linears.py`); without it logits come from the embedding."""

    @property
    def dtype(self) -> torch.dtype:
        """Number type of activations and cache."""
        return self.norm.weight.dtype

    def encode_prefix(self, ids: list[int], cache: ContextCache) -> Tensor:
        """Append tokens to the prefix in `cache`; hidden states (T, C)."""
        start = cache.prefix_end
        hidden_TC = self._run_on(ids, cache, start, cache.suffix_room, start, causal=True)
        cache.prefix_ids.extend(ids)
        return hidden_TC

    def encode_suffix(self, ids: list[int], cache: ContextCache) -> None:
        """Put another suffix into `cache`; its positions begin at 0."""
        cache.suffix_ids = []  # stays empty if this call is cut short
        if not ids:
            return
        start = cache.suffix_room - len(ids)
        self._run_on(ids, cache, start, start, 0, causal=True)
        cache.suffix_ids = list(ids)

    def forward_block(self, ids: list[int], cache: ContextCache, *, n_kept: int = 0, causal: bool = False) -> Tensor:
        """One denoiser forward over a block that stands behind the prefix in `cache`; hidden states (T, C).

        Args:
            ids: tokens of the block.
            cache: of the context.
            n_kept: so many tokens of a causal block are in `cache` from earlier calls; `ids` are those behind them.
            causal: each token sees the context and what stands to its left in the block, as when one types.
        """
        start = cache.prefix_end + n_kept
        return self._run_on(ids, cache, start, cache.suffix_start, start, causal=causal)

    def forward_tree(self, tree: TokenTree, cache: ContextCache, *, sees_suffix: bool = True) -> Tensor:
        """One causal forward over several ways to go on from a token; hidden states (T, C) of the tree's nodes.

        Each sees the context and what it stands behind. The first way stands in `cache` as if it had come alone.
        Without the suffix it is how the bare trunk types.
        """
        offset_T = torch.tensor(tree.depths)
        start, visible = cache.prefix_end, cache.suffix_start if sees_suffix else cache.suffix_room
        seen_TS = torch.cat([torch.ones(len(offset_T), start - visible, dtype=torch.bool), tree.seen()], 1)
        table = rope_table(start, max(tree.depths) + 1, self.config.head_dim, self.config.rope_theta, self.dtype)
        rope = table[0][offset_T], table[1][offset_T]
        return self._run(tree.ids, cache, start, visible, rope, seen_TS)

    def forward_blind(self, ids: list[int], slots: Sequence[int], cache: ContextCache) -> Tensor:
        """One denoiser forward over a block and a shadow for each of some slots; hidden states (T, C), shadows last.

        A slot's shadow is its left neighbour once more, which sees all of the block but that slot (WINO, arXiv
        2507.18578): what it predicts, it predicts without having been told. Nobody sees a shadow but itself.
        """
        n_block, start = len(ids), cache.prefix_end
        if start + n_block + len(slots) > cache.keys_NHSD.shape[2]:
            raise ValueError("the cache has no room for so many shadows")
        offset_T = torch.tensor([*range(n_block), *(slot - 1 for slot in slots)])
        seen_TT = torch.eye(n_block + len(slots), dtype=torch.bool)
        seen_TT[:, :n_block] = True
        seen_TT[range(n_block, n_block + len(slots)), list(slots)] = False
        n_before = start - cache.suffix_start
        seen_TS = torch.cat([torch.ones(len(offset_T), n_before, dtype=torch.bool), seen_TT], 1)
        table = rope_table(start, n_block, self.config.head_dim, self.config.rope_theta, self.dtype)
        rope = table[0][offset_T], table[1][offset_T]
        shadows = [ids[slot - 1] for slot in slots]
        return self._run([*ids, *shadows], cache, start, cache.suffix_start, rope, seen_TS)

    def slot_logits(self, ids: list[int], slots: Sequence[int], cache: ContextCache) -> Tensor:
        """Logits (slots, V) of one denoiser forward, each slot predicted by its left neighbour.

        Slots that are not masked come last, and are predicted by shadows.
        """
        masked = [slot for slot in slots if ids[slot] == self.config.mask_id]
        rows = [slot - 1 for slot in masked]
        if len(masked) == len(slots):
            return self.logits(self.forward_block(ids, cache)[rows])
        hidden_TC = self.forward_blind(ids, slots[len(masked) :], cache)
        return self.logits(hidden_TC[[*rows, *range(len(ids), len(hidden_TC))]])

    def logits(self, hidden_TC: Tensor) -> Tensor:
        """Logits (T, V) in float32, by the tied embedding."""
        return self.logits_here(hidden_TC) if self.together is None else self.together.logits(self, hidden_TC)

    def logits_here(self, hidden_TC: Tensor) -> Tensor:
        """The same, on this thread."""
        if self.packed_head is not None:
            return self.packed_head(hidden_TC).float()
        return F.linear(hidden_TC, self.embedding.weight).float()

    def taking_part(self) -> AbstractContextManager[None]:
        """For a thread that answers a question: where passes are put together, they wait for its."""
        return nullcontext() if self.together is None else self.together.member()

    def _run_on(
        self, ids: list[int], cache: ContextCache, start: int, visible: int, position: int, *, causal: bool
    ) -> Tensor:
        """Run tokens that follow one another, from place `start` and position `position` on."""
        rope = rope_table(position, len(ids), self.config.head_dim, self.config.rope_theta, self.dtype)
        n_places = start + len(ids) - visible
        is_partial = causal and len(ids) > 1  # a single token sees all there is
        seen_TS = torch.ones(len(ids), n_places, dtype=torch.bool).tril(n_places - len(ids)) if is_partial else None
        return self._run(ids, cache, start, visible, rope, seen_TS)

    def _run(
        self,
        ids: list[int],
        cache: ContextCache,
        start: int,
        visible: int,
        rope: tuple[Tensor, Tensor],
        seen_TS: Tensor | None,
    ) -> Tensor:
        """Run tokens that stand from place `start` on, attending from place `visible` on: to all, or what is `seen`."""
        bias = None if seen_TS is None else self._bias(seen_TS)
        cache.readings.written = []  # whatever stands behind the prefix may be overwritten
        run = Run(ids, cache, start, visible, rope, bias)
        return self.run_together([run])[0] if self.together is None else self.together.run(self, run)

    def run_together(self, runs: Sequence[Run]) -> list[Tensor]:
        """The runs of several canvases in one pass over the weights; hidden states (T, C) of each.

        Attention is each run's own; all else is done for the tokens of all runs at once.
        """
        tokens_T = torch.tensor([token_id for run in runs for token_id in run.ids])
        x_TC = self.embedding(tokens_T).to(self.dtype)
        x_TC = torch.where((tokens_T == self.config.mask_id)[:, None], self.mask_embedding, x_TC)
        counts = [len(run.ids) for run in runs]
        rope = runs[0].rope if len(runs) == 1 else joined([run.rope for run in runs])
        contexts = [run.cache.places(run.visible, run.start + len(run.ids)) for run in runs]
        for layer, *places in zip(self.layers, *contexts, strict=True):
            assert isinstance(layer, Layer)
            q_HXD, k_HTD, v_HTD = layer.project(x_TC, rope)
            if len(runs) == 1:
                attended_HXD = runs[0].attend(q_HXD, k_HTD, v_HTD, *places[0])
            else:
                attended_HXD = attend_each(runs, places, counts, q_HXD, k_HTD, v_HTD)
            x_TC = layer.mix(x_TC, attended_HXD)
        return list(self.norm(x_TC).split(counts))

    def _bias(self, seen_TS: Tensor) -> Tensor:
        """What is added to the scores (G * T, S): -inf where a token may not look; once for all layers."""
        bias_TS = torch.zeros(seen_TS.shape, dtype=self.dtype).masked_fill_(~seen_TS, float("-inf"))
        return bias_TS.repeat(self.config.n_heads // self.config.n_kv_heads, 1)
