"""The model's shape, kept as JSON beside the weights, and how a middle is denoised."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

from midspan_model.errors import WeightsError


@dataclass(frozen=True)
class ModelConfig:
    """Shape of trunk and denoiser, which differ only in their weights. The defaults are SmolLM2-135M's.

    Attributes:
        block_slots: slots of a block, slot 0 (a known token) included.
        suffix_room: positions kept for the suffix, in front of the prefix.
        end_id: ends the middle.
        mask_id: stands in a slot that is not committed yet.
        prefix_id: first token of every prefix.
        suffix_id: first token of every suffix.
        n_special: ids below this are no text.
    """

    n_layers: int = 30
    width: int = 576
    n_heads: int = 9
    n_kv_heads: int = 3
    head_dim: int = 64
    ffn_width: int = 1536
    vocab_size: int = 49152
    rope_theta: float = 100_000.0
    norm_eps: float = 1e-5
    block_slots: int = 16
    suffix_room: int = 64
    end_id: int = 0
    mask_id: int = 16
    prefix_id: int = 5
    suffix_id: int = 6
    n_special: int = 17

    def save(self, path: Path) -> None:
        """Write as JSON."""
        path.write_text(json.dumps(dataclasses.asdict(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> ModelConfig:
        """Read what `save` wrote.

        Raises:
            WeightsError: the file is missing or of another form.
        """
        try:
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError as error:
            raise WeightsError(f"{path.parent} is no checkpoint folder: it has no {path.name}") from error
        except (OSError, ValueError, TypeError) as error:
            raise WeightsError(f"{path} cannot be read: {error}") from error


@dataclass(frozen=True)
class DenoiseConfig:
    """How middles are denoised.

    Attributes:
        threshold: a slot is committed as soon as its confidence is at least this.
        policy: which slots are committed after a forward (`denoising/choosing.py`).
        policy_bound: the number of policies that have another than the threshold; None: the papers'.
        max_blocks: most blocks of one middle.
        max_line_blocks: the same where one line is wanted; two hold 98 % of single-line middles.
        prefix_tokens: most tokens of the prefix.
        neighbour_tokens: so many of them at most are lines of another place that are like the prefix.
        suffix_tokens: most tokens of the suffix, its first special token included.
        typing: type the middle, from left to right with look-ahead (`typewriter.py`).
        max_proposals: middles from elsewhere that are read.
        sure_proposal: one that is right with this probability is taken at once.
        read_on: most middles from which the text behind is read on to tell which fits; 1: none.
        exhaustive: type to the end and read on from everything: for fitting the calibrator.
        look_ahead: masks behind the token that is typed; they change the number of forwards only.
        guessed_tokens: most tokens that are read as a guess of how typing goes on (`guessing.py`); the same.
        denoising: denoise blocks of masks too where typing is not sure, and take the surer of both.
        sure: a typed middle of at least this probability needs no other; at 0.5 no other can have more.
        encode_chunk: context tokens encoded between two questions whether to stop.
        prefill_chunk: the same where nobody waits for it, so that whoever comes does not wait for long.
        cached_contexts: documents whose keys and values are kept.
        n_together: so many threads may ask at the same time; what they need is computed together.
    """

    threshold: float = 0.9
    policy: str = "threshold"
    policy_bound: float | None = None
    max_blocks: int = 4
    max_line_blocks: int = 2
    prefix_tokens: int = 512
    neighbour_tokens: int = 160
    suffix_tokens: int = 48
    typing: bool = True
    look_ahead: int = 0
    guessed_tokens: int = 5
    denoising: bool = False
    sure: float = 0.5
    max_proposals: int = 4
    sure_proposal: float = 0.8
    read_on: int = 4
    exhaustive: bool = False
    encode_chunk: int = 64
    prefill_chunk: int = 32
    cached_contexts: int = 4
    n_together: int = 1

    @property
    def n_contexts(self) -> int:
        """The same where several questions are answered at a time, each of which has one to itself."""
        return self.cached_contexts + 2 * (self.n_together - 1)
