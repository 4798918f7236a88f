"""What a training run is made of. Frozen, with every default."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class HoleMix:
    """How often each kind of hole is cut, as weights, and how the text behind it is spoilt, as probabilities.

    Attributes:
        rest_of_line: from a place in a line, often inside a word, to the line's end.
        lines: one to four whole lines.
        nodes: a node of the syntax tree.
        anywhere: from any character to any character behind it.
        at_first_character: of the holes that end with their line, those that begin with its first character.
        inside_line: of the holes in one line, those that end before the line does.
        empty_suffix: nothing stands behind the hole.
        cut_suffix: the text behind it breaks off somewhere.
    """

    rest_of_line: float = 0.45
    lines: float = 0.2
    nodes: float = 0.25
    anywhere: float = 0.1
    at_first_character: float = 0.4
    inside_line: float = 0.15
    empty_suffix: float = 0.1
    cut_suffix: float = 0.15


@dataclass(frozen=True)
class BatchConfig:
    """Size and shape of a batch.

    Attributes:
        documents: whose prefix is encoded once each.
        holes: per document.
        cursors: of these that end at one place, each further on than the last, as when one types; they share the
            encoding of the suffix.
        patterns: of each hole's samples, by name (`noise.py`); they share the encoding of the context.
        prefix_tokens: of a document's window, the prefix token included.
        suffix_tokens: most tokens of a suffix, the suffix token included.
        widths: slots of a block, slot 0 included; one is drawn per hole *without a look at its middle*, since a width
            that followed the middle would give its length away, and inference cannot know it.
        drop_after_end: slots behind an end token that is visible are left out; nothing is given away by that.
        mix: kinds of holes.
    """

    documents: int = 4
    holes: int = 8
    cursors: int = 1
    patterns: tuple[str, ...] = ("ahead", "all_or_right", "random_subset", "ahead")
    prefix_tokens: int = 256
    suffix_tokens: int = 48
    widths: tuple[int, ...] = (16,)
    drop_after_end: bool = True
    mix: HoleMix = field(default_factory=HoleMix)


@dataclass(frozen=True)
class Recipe:
    """A training run.

    Attributes:
        name: of the recipe.
        batch: size and shape of what one forward sees.
        accumulate: forwards per step.
        full: train a whole copy of the trunk's layers instead of an adapter.
        rank: of the adapter.
        learning_rate: at its peak.
        warmup_steps: until that.
        steps: at most; the cosine's end.
        hours: at most, of training alone; the cosine ends with whichever comes first. A run that time ends depends on
            the machine.
        betas: AdamW's.
        weight_decay: AdamW's.
        clip: largest norm of the gradient.
        anneal_steps: while what the causal trunk did not see is shut off by a falling bias.
        shut: that bias at step 0.
        eval_every: steps between two looks at held-out code.
        eval_batches: of each look, always the same ones.
        save_every: steps between two checkpoints.
        log_every: steps between two rows of the log.
        seed: of weights, holes and noise.
        device: where to compute.
        dtype: number type to compute in; "auto" is what the device does best. Trained weights are float32 always.
        compiled: whether torch compiles the layers.
        workers: processes that prepare batches; 0 is none.
    """

    name: str
    batch: BatchConfig = field(default_factory=BatchConfig)
    accumulate: int = 1
    full: bool = False
    rank: int = 64
    learning_rate: float = 1e-3
    warmup_steps: int = 40
    steps: int = 2000
    hours: float | None = None
    betas: tuple[float, float] = (0.9, 0.98)
    weight_decay: float = 0.0
    clip: float = 1.0
    anneal_steps: int = 120
    shut: float = 6.0
    eval_every: int = 100
    eval_batches: int = 5
    save_every: int = 50
    log_every: int = 10
    seed: int = 1
    device: str = "cpu"
    dtype: str = "auto"
    compiled: bool = False
    workers: int = 0

    @property
    def samples_per_step(self) -> int:
        """Noise samples that one step learns from."""
        return self.batch.documents * self.batch.holes * len(self.batch.patterns) * self.accumulate
