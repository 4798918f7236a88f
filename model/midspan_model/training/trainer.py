"""The training loop: steps, looks at held-out code, checkpoints, and going on exactly after a kill.

A batch depends on its number alone, so that a run's state is its step, its weights and its optimiser.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader

from midspan_model.architecture import Transformer
from midspan_model.training.batching import Batch, Batches
from midspan_model.training.forward import Forward
from midspan_model.training.log import TrainLog
from midspan_model.training.loss import Counts, count, cross_entropy
from midspan_model.training.parameters import Parameters, plain
from midspan_model.training.saving import ADAPTER, adapter_metadata, load_run, save_adapter, save_run
from midspan_model.training.settings import Recipe

_LOWEST_RATE = 0.03


class Trainer:
    """One run in one folder; if the folder holds its checkpoint, the run goes on from there.

    Args:
        recipe: of the run.
        trunk: frozen; on the device and of the type to compute in.
        trunk_sha256: of the trunk's file, for the adapter's metadata.
        parameters: what is trained (`parameters.py`), as it is at step 0; on the device.
        batches: to learn from.
        heldout: to look at.
        folder: for state, adapter and log.

    Raises:
        ModelError: the folder holds a run of another recipe.
    """

    def __init__(
        self,
        recipe: Recipe,
        trunk: Transformer,
        trunk_sha256: str,
        parameters: Parameters,
        batches: Batches,
        heldout: Batches,
        folder: Path,
    ) -> None:
        self.recipe, self.folder = recipe, folder
        self.parameters = parameters
        self.step, self.elapsed_s = 0, 0.0
        self._sha256, self._batches, self._mask_id = trunk_sha256, batches, trunk.config.mask_id
        self._forward = Forward(trunk, parameters, compiled=recipe.compiled)
        self._heldout = [heldout[index] for index in range(recipe.eval_batches)]
        self._trained = [parameters[name] for name in sorted(parameters)]
        self._optimizer = torch.optim.AdamW(
            self._trained, recipe.learning_rate, betas=recipe.betas, weight_decay=recipe.weight_decay, fused=True
        )
        self.log = TrainLog(folder)
        self._resume()

    def run(self, stopped: Callable[[], bool], tell: Callable[[str], None]) -> bool:
        """Train to the end of the recipe, or until `stopped`, which is asked before each step.

        Returns:
            whether the recipe's end was reached. State and adapter are saved in either case.
        """
        recipe = self.recipe
        if self.step == 0:
            self._note(self.evaluate(), tell)
        stream = self._stream()
        saved = self.step
        while self._progress() < 1 and not stopped():
            began_s = time.perf_counter()
            rate = self._learning_rate()
            loss, norm = self._learn([next(stream) for _ in range(recipe.accumulate)], rate)
            self.step += 1
            self.elapsed_s += time.perf_counter() - began_s
            looks = self.step % recipe.eval_every == 0 or self._progress() >= 1
            if looks or self.step % recipe.log_every == 0:
                cells = self.evaluate() if looks else {}
                self._note({"learning_rate": rate, "loss": loss, "gradient_norm": norm, **cells}, tell)
                if looks:
                    self.log.draw()
            if self.step % recipe.save_every == 0:
                self.save()
                saved = self.step
        if saved != self.step or not (self.folder / ADAPTER).exists():
            self.save()
        return self._progress() >= 1

    @torch.no_grad()
    def evaluate(self) -> dict[str, float]:
        """Rates on held-out batches, by the log's names."""
        counts = Counts()
        for batch in (batch.to(self.recipe.device) for batch in self._heldout):
            logits_PV, places_P = self._forward(batch)
            kinds = (kind_RML.flatten()[places_P] for kind_RML in kinds_of_slots(batch, self._mask_id))
            counts += count(logits_PV, *_at(places_P, batch), *kinds)
        return counts.rates()

    def save(self) -> None:
        """Write the run's state and the adapter."""
        state = {
            "step": self.step,
            "elapsed_s": self.elapsed_s,
            "parameters": plain(self.parameters),
            "optimizer": self._optimizer.state_dict(),
            "torch_rng": torch.get_rng_state(),
        }
        save_run(self.folder, state, self.recipe)
        metadata = adapter_metadata(self.recipe, self.step, self._sha256)
        save_adapter(self.folder / ADAPTER, plain(self.parameters), metadata)

    def _resume(self) -> None:
        state = load_run(self.folder, self.recipe)
        if state is not None:
            self._restore(state)
        self.log.rewind(self.step if state is not None else -1)

    def _restore(self, state: dict[str, Any]) -> None:
        self.step, self.elapsed_s = state["step"], state["elapsed_s"]
        with torch.no_grad():
            for name, parameter in self.parameters.items():
                parameter.copy_(state["parameters"][name])
        self._optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["torch_rng"])

    def _stream(self) -> Iterator[Batch]:
        """The batches from this step on."""
        recipe = self.recipe
        numbers = range(self.step * recipe.accumulate, recipe.steps * recipe.accumulate)
        # torch would draw a seed for the workers, though no batch depends on one
        generator = torch.Generator().manual_seed(recipe.seed)
        loader = DataLoader(
            self._batches,
            None,
            sampler=numbers,
            num_workers=recipe.workers,
            generator=generator,  # pyright: ignore[reportArgumentType]
        )
        return iter(loader)

    def _learn(self, batches: Sequence[Batch], rate: float) -> tuple[float, float]:
        """One step of the optimiser; loss and gradient norm before it."""
        recipe = self.recipe
        shut = recipe.shut * max(0.0, 1 - self.step / recipe.anneal_steps) if recipe.anneal_steps else 0.0
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self._optimizer.zero_grad(set_to_none=True)
        total = 0.0
        for batch in (batch.to(recipe.device) for batch in batches):
            logits_PV, places_P = self._forward(batch, shut)
            loss = cross_entropy(logits_PV, *_at(places_P, batch)) / len(batches)
            loss.backward()
            total += loss.item()
        norm = torch.nn.utils.clip_grad_norm_(self._trained, recipe.clip)
        self._optimizer.step()
        return total, float(norm)

    def _progress(self) -> float:
        """Share of the run that is done: of its steps, or of its time if that ends first."""
        recipe = self.recipe
        in_time = self.elapsed_s / (3600 * recipe.hours) if recipe.hours else 0.0
        return max(self.step / recipe.steps, in_time)

    def _learning_rate(self) -> float:
        """Warm-up, then a cosine down to a small share."""
        recipe = self.recipe
        warm = min(1.0, (self.step + 1) / max(recipe.warmup_steps, 1))
        cosine = 0.5 * (1 + math.cos(math.pi * self._progress()))
        return recipe.learning_rate * warm * (_LOWEST_RATE + (1 - _LOWEST_RATE) * cosine)

    def _note(self, cells: dict[str, float], tell: Callable[[str], None]) -> None:
        samples = self.step * self.recipe.samples_per_step
        self.log.add(step=self.step, samples=samples, elapsed_s=round(self.elapsed_s, 3), **cells)
        numbers = " ".join(f"{name} {value:.4g}" for name, value in cells.items())
        tell(f"step {self.step} samples {samples} {self.elapsed_s:.0f} s {numbers}")


def _at(places_P: torch.Tensor, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """Targets and weights at places of the flattened (R, M, L)."""
    return batch.targets_RML.flatten()[places_P], batch.weights_RML.flatten()[places_P]


def kinds_of_slots(batch: Batch, mask_id: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Which slots (R, M, L) are first, typed and ahead, as `Counts` tells them apart."""
    first_RML = torch.zeros_like(batch.tokens_RML, dtype=torch.bool)
    first_RML[..., 0] = nothing_known(batch, mask_id)
    n_masks_RML = (batch.tokens_RML == mask_id).cumsum(-1)  # seen by the slot: its own token and all to the left
    causal_RM1 = batch.causal_RM[..., None]
    return first_RML, causal_RM1 & (n_masks_RML == 0), causal_RM1 & (n_masks_RML == 1)


def nothing_known(batch: Batch, mask_id: int) -> torch.Tensor:
    """Which samples (R, M) have nothing but masks behind slot 0."""
    slot_L = torch.arange(batch.tokens_RML.shape[2], device=batch.tokens_RML.device)
    padding = slot_L >= batch.length_RM[..., None]
    return ((batch.tokens_RML == mask_id) | padding)[..., 1:].all(-1)
