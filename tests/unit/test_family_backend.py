"""The backend around tiny checkpoints of other families."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from family_checkpoints import WRITERS, write_family
from midspan_lsp.backends.base import LoadProgress
from midspan_lsp.backends.local import LocalBackend
from midspan_lsp.config import Settings, read_settings
from midspan_lsp.errors import BackendUnavailable
from midspan_lsp.types import CancellationToken, Draft, InfillRequest
from midspan_model.families.spec import Length

REQUEST = InfillRequest("def f(x):\n    return x", "\n\nprint(f(1))\n", "python", max_lines=1)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIDSPAN_CACHE", str(tmp_path / "cache"))


async def loaded(name: str, tmp_path: Path, **model: object) -> tuple[LocalBackend, list[str]]:
    path = write_family(name, tmp_path / name.replace(" ", "-"))
    settings, problems = read_settings({"model": {"path": str(path), "device": "cpu", **model}})
    assert problems == []
    backend, told = LocalBackend(settings), list[str]()

    def report(progress: LoadProgress) -> None:
        told.append(progress.message)

    await backend.load(report)
    return backend, told


@pytest.mark.parametrize("name", list(WRITERS))
async def test_every_family_answers_and_mends(name: str, tmp_path: Path) -> None:
    backend, told = await loaded(name, tmp_path)
    assert "licence" in told[0]
    await backend.prepare(REQUEST, CancellationToken())
    (first,) = (await backend.infill(REQUEST, CancellationToken())).candidates
    assert len(first.token_ids) == len(first.token_spans) == len(first.confidences) > 0
    assert 0 < first.probability <= 1
    last = len(first.token_ids) - 1
    banned = {last: frozenset({first.token_ids[last]})}
    draft = Draft(first.token_ids, first.confidences, frozenset({last}), banned)
    mended = await backend.infill(replace(REQUEST, draft=draft), CancellationToken())
    assert mended.stats.n_forwards > 0
    assert all(one.token_ids[: len(first.token_ids) - 1] == first.token_ids[:-1] for one in mended.candidates)
    await backend.aclose()


async def test_the_settings_reach_the_model(tmp_path: Path) -> None:
    backend, told = await loaded(
        "Dream", tmp_path, weights="int8", policy="klass", length="density", refresh=4, threshold=0.5
    )
    assert "int8" in told[-1]
    infiller = backend._infiller
    assert infiller is not None
    assert (infiller.config.policy, infiller.config.threshold) == ("klass", 0.5)
    assert (infiller.options.length, infiller.options.refresh) == (Length.DENSITY, 4)  # type: ignore[union-attr]
    stats = (await backend.infill(REQUEST, CancellationToken())).stats
    assert stats.n_cached_tokens > 0, "forwards between refreshes take the rest from the cache"
    await backend.aclose()


async def test_a_checkpoint_of_no_family_is_told(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    backend = LocalBackend(replace(Settings(), model=replace(Settings().model, path=str(tmp_path))))
    with pytest.raises(BackendUnavailable, match="gpt2"):
        await backend.load(lambda _progress: None)
    await backend.aclose()


async def test_measurements_are_of_the_embedded_kind(tmp_path: Path) -> None:
    path = write_family("SDAR", tmp_path / "sdar")
    backend = LocalBackend(replace(Settings(), model=replace(Settings().model, path=str(path), device="cpu")))
    with pytest.raises(BackendUnavailable, match="measured"):
        backend.load_here(lambda _progress: None)
    await backend.aclose()
