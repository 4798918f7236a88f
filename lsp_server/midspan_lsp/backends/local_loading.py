"""The model that the settings name: the embedded one, a checkpoint of its kind, or a published one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from midspan_lsp.config import ModelSettings, Settings

if TYPE_CHECKING:
    from midspan_model.config import DenoiseConfig
    from midspan_model.families.infiller import FamilyInfiller
    from midspan_model.infilling import Infiller

OnProgress = Callable[[str, int, int], None]


def open_model(settings: Settings, on_progress: OnProgress, n_together: int = 1) -> Infiller | FamilyInfiller:
    """Load it, for so many questions at a time; the embedded one's weights are fetched if they are not in the cache."""
    from midspan_model.torch_library import load_torch_library  # noqa: PLC0415

    load_torch_library()  # this is a thread of a server
    import torch  # noqa: PLC0415
    from midspan_model.config import DenoiseConfig  # noqa: PLC0415
    from midspan_model.machine import best_threads  # noqa: PLC0415

    model, context = settings.model, settings.context
    torch.set_num_threads(model.threads or best_threads())
    config = DenoiseConfig(
        threshold=model.threshold,
        policy=model.policy,
        prefix_tokens=context.prefix_tokens,
        neighbour_tokens=context.neighbour_tokens,
        suffix_tokens=context.suffix_tokens,
        n_together=n_together,
    )
    if model.path:
        return _open_folder(model, config, on_progress)
    from midspan_model.embedded import load_embedded  # noqa: PLC0415

    return load_embedded(config, on_progress)


def _open_folder(model: ModelSettings, config: DenoiseConfig, on_progress: OnProgress) -> Infiller | FamilyInfiller:
    """A checkpoint of the embedded model's kind, or a published one of another family."""
    from midspan_model.families.fetching import resolve  # noqa: PLC0415
    from midspan_model.families.opening import is_published  # noqa: PLC0415

    folder = resolve(model.path)
    if not is_published(folder):
        from midspan_model.checkpoints import load_infiller  # noqa: PLC0415

        return load_infiller(folder, config)
    from midspan_model.families.infiller import FamilyOptions  # noqa: PLC0415
    from midspan_model.families.loading import load_published  # noqa: PLC0415
    from midspan_model.families.spec import Length  # noqa: PLC0415

    options = FamilyOptions(length=None if model.length == "auto" else Length(model.length), refresh=model.refresh)
    device, weights = ("" if choice == "auto" else choice for choice in (model.device, model.weights))
    return load_published(folder, config, options, on_progress, device=device, weights=weights)


def fetch_with_licence(name: str, on_progress: OnProgress, *, again: bool) -> tuple[Path, str]:
    """The folder of a published checkpoint, fetched if it is not there, and its licence."""
    from midspan_model.families.fetching import fetch_checkpoint, licence_of  # noqa: PLC0415
    from midspan_model.families.opening import family_of  # noqa: PLC0415

    folder = fetch_checkpoint(name, on_progress, again=again)
    return folder, licence_of(folder, family_of(folder))
