"""Settings: every key, its default and its bounds stand here; the group `backend` in `backend_settings.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from midspan_lsp.backend_settings import BackendSettings
from midspan_lsp.choices import Device, Eagerness, Length, Pacing, Policy, Weights
from midspan_lsp.setting_fields import choice, number

_T = TypeVar("_T")


LEAST_PROBABILITY = {Eagerness.LOW: 0.7, Eagerness.MEDIUM: 0.5, Eagerness.HIGH: 0.3, Eagerness.ALWAYS: 0.0}
"""Of being exactly what would have been typed."""


@dataclass(frozen=True)
class CompletionSettings:
    """What is suggested, and when.

    Attributes:
        eagerness: low: only what is most likely right; high: what is right in one case of three; always: everything.
        max_lines: most lines of a middle where the place of the cursor asks for several; 1: never more than one.
        pacing: how long an automatic request waits for the next key before the model is asked; what is known already is
            answered at once, and so is a request by hand. none: not at all; fixed: `delay_ms` from the last key;
            adaptive: no longer than tells a pause from the next key by your rhythm, and not at all where answers come
            before the next key.
        delay_ms: fixed: so long; adaptive: at most so long. 0: never.
        timeout_ms: after so long an automatic request is answered with what there is.
        invoked_timeout_ms: the same for a request by hand.
        in_comments: suggest in comments too, also while typing; by hand always.
        in_strings: the same for texts between quotes.
        menu: offer the middle as `textDocument/completion` too, for editors without inline completion.
        ignore: files in which nothing is suggested, as patterns of a `.gitignore` in the workspace folder.
    """

    eagerness: str = choice(Eagerness.MEDIUM)
    max_lines: int = number(4, 1, 64)
    pacing: str = choice(Pacing.NONE)
    delay_ms: int = number(400, 0, 5000)
    timeout_ms: int = number(4000, 1, 600_000)
    invoked_timeout_ms: int = number(15_000, 1, 600_000)
    in_comments: bool = True
    in_strings: bool = True
    menu: bool = False
    ignore: tuple[str, ...] = ()


@dataclass(frozen=True)
class LanguageSettings:
    """Switches by language.

    Attributes:
        disabled: the editor's ids of languages in which nothing is suggested.
    """

    disabled: tuple[str, ...] = ()


@dataclass(frozen=True)
class ContextSettings:
    """How much text the model is shown.

    Attributes:
        prefix_tokens: most tokens before the cursor.
        neighbour_tokens: so many of these at most are for lines of the project that are like those before the cursor.
        suffix_tokens: most tokens after it; the embedded model was trained with 48 and takes 64, others take more.
    """

    prefix_tokens: int = number(512, 16, 4096)
    neighbour_tokens: int = number(160, 0, 2048)
    suffix_tokens: int = number(48, 0, 2048)


@dataclass(frozen=True)
class ModelSettings:
    """The model. Device, weights, policy, length and refresh are for checkpoints other than the embedded one.

    Attributes:
        path: a checkpoint folder, or what `midspan fetch NAME` fetched; empty: the embedded model.
        threshold: a slot is committed as soon as its confidence is at least this.
        threads: threads for the model; 0: half of the processors.
        device: where it computes; auto: on a graphics processor if there is one.
        weights: number type of its weights; auto: bfloat16, on a CPU without it float32.
        policy: which slots are committed after a forward.
        length: how middles get their length; auto: as suits the model.
        refresh: every so many forwards all is computed anew, and the cache is approximate between; 1: always exact.
    """

    path: str = ""
    threshold: float = number(0.9, 0.0, 1.0)
    threads: int = number(0, 0, 1024)
    device: str = choice(Device.AUTO)
    weights: str = choice(Weights.AUTO)
    policy: str = choice(Policy.THRESHOLD)
    length: str = choice(Length.AUTO)
    refresh: int = number(1, 1, 64)


@dataclass(frozen=True)
class MemorySettings:
    """What is remembered of the project, for drafts from its own text. It stays on this machine.

    Attributes:
        enabled: whether anything is.
        max_megabytes: most memory for it; what was used least recently is dropped first.
        max_file_kilobytes: larger files are left out.
        ignore: files that are never read, as patterns of a `.gitignore` in the workspace folder.
    """

    enabled: bool = True
    max_megabytes: int = number(64, 1, 4096)
    max_file_kilobytes: int = number(256, 1, 16_384)
    ignore: tuple[str, ...] = ()


@dataclass(frozen=True)
class StatsSettings:
    """What `midspan stats` tells. It stays on this machine.

    Attributes:
        enabled: whether it is counted how often something was shown, accepted or not, and how long that took; no text
            is kept.
    """

    enabled: bool = True


@dataclass(frozen=True)
class Settings:
    """All settings, in the shape in which an editor gives them."""

    completion: CompletionSettings = field(default_factory=CompletionSettings)
    languages: LanguageSettings = field(default_factory=LanguageSettings)
    context: ContextSettings = field(default_factory=ContextSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    backend: BackendSettings = field(default_factory=BackendSettings)
    memory: MemorySettings = field(default_factory=MemorySettings)
    stats: StatsSettings = field(default_factory=StatsSettings)


def read_settings(raw: object, base: Settings | None = None) -> tuple[Settings, list[str]]:
    """Settings from what an editor gave: nested mappings or dotted keys; None stands for the base.

    A bad value keeps that of the base, by default the default; the rest counts.

    Returns:
        the settings, and for each key that could not be used a line that begins with its path.
    """
    problems: list[str] = []
    return _read_group(base or Settings(), nested(raw), "", problems), problems


def nested(raw: object) -> object:
    """The same with `{"a.b": 1}` written as `{"a": {"b": 1}}`; editors use both forms."""
    if not isinstance(raw, Mapping):
        return raw
    plain: dict[object, Any] = {}
    for key, value in cast("Mapping[object, object]", raw).items():
        group, dot, rest = str(key).partition(".")
        if dot and isinstance(plain.setdefault(group, {}), dict):
            plain[group] = {**plain[group], rest: value}
        elif isinstance(value, Mapping) and isinstance(plain.get(key), dict):
            plain[key] = {**cast("Mapping[object, object]", value), **plain[key]}
        else:
            plain[key] = value
    return plain


def _read_group(default: _T, raw: object, path: str, problems: list[str]) -> _T:
    if raw is None:
        return default
    if not isinstance(raw, Mapping):
        problems.append(f"{path or 'settings'}: expected an object, got {raw!r:.60}")
        return default
    group: Any = default
    known = {item.name: item for item in fields(group)}
    changes: dict[str, object] = {}
    for key, value in cast("Mapping[object, object]", raw).items():
        here = f"{path}.{key!s:.60}" if path else f"{key!s:.60}"
        item = known.get(str(key))
        if item is None:
            problems.append(f"{here}: no such setting")
            continue
        current: Any = getattr(group, item.name)
        kind: Any = current.__class__
        if is_dataclass(current):
            changes[item.name] = _read_group(current, value, here, problems)
        elif problem := _problem(value, kind, item.metadata):
            problems.append(f"{here}: {problem}")
        else:
            changes[item.name] = kind(value)
    return replace(group, **changes)


def _problem(value: object, wanted: type, limits: Mapping[str, Any]) -> str:
    """What is wrong with a leaf; empty if nothing."""
    if wanted is tuple:
        strings = isinstance(value, list | tuple) and all(isinstance(item, str) for item in cast("list[object]", value))
        return "" if strings else f"expected a list of strings, got {value!r:.60}"
    bounds, choices = limits.get("bounds"), limits.get("choices")
    accepted = (int, float) if wanted is float else wanted
    if not isinstance(value, accepted) or (wanted is not bool and isinstance(value, bool)):
        return f"expected {wanted.__name__}, got {value!r:.60}"
    if choices is not None and value not in choices:
        return f"expected one of {', '.join(choices)}, got {value!r:.60}"
    if bounds is not None and not bounds[0] <= cast("float", value) <= bounds[1]:
        return f"expected {bounds[0]:g} to {bounds[1]:g}, got {value!r:.60}"
    return ""
