"""Settings keep their defaults where a value is bad, and say where."""

from __future__ import annotations

import pytest
from midspan_lsp.config import Settings, read_settings


def test_none_gives_all_defaults() -> None:
    assert read_settings(None) == (Settings(), [])


def test_good_values_are_taken_and_integers_serve_as_floats() -> None:
    settings, problems = read_settings({"completion": {"eagerness": "low", "menu": True}, "model": {"threshold": 1}})
    assert problems == []
    assert settings.model.threshold == 1.0
    assert isinstance(settings.model.threshold, float)
    assert settings.completion.eagerness == "low"
    assert settings.completion.menu is True
    assert settings.context == Settings().context


def test_a_list_of_patterns_is_taken() -> None:
    settings, problems = read_settings({"memory.ignore": ["*.gen.py"], "memory.enabled": False})
    assert problems == []
    assert (settings.memory.ignore, settings.memory.enabled) == (("*.gen.py",), False)


def test_dotted_keys_are_nested_ones() -> None:
    dotted = {"completion.menu": True, "completion": {"max_lines": 2}, "model.threads": 3, "context": None}
    settings, problems = read_settings(dotted)
    assert problems == []
    assert (settings.completion.menu, settings.completion.max_lines, settings.model.threads) == (True, 2, 3)


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ({"completion": {"max_lines": "3"}}, "completion.max_lines"),
        ({"completion": {"max_lines": True}}, "completion.max_lines"),
        ({"completion": {"max_lines": 0}}, "completion.max_lines"),
        ({"completion": {"menu": 1}}, "completion.menu"),
        ({"completion": {"timeout_ms": float("nan")}}, "completion.timeout_ms"),
        ({"model": {"threshold": float("nan")}}, "model.threshold"),
        ({"completion": {"eagerness": "eager"}}, "completion.eagerness"),
        ({"completion": {"eagerness": 1}}, "completion.eagerness"),
        ({"completion": 3}, "completion"),
        ({"completions": {}}, "completions"),
        ({"memory": {"ignore": "*.py"}}, "memory.ignore"),
        ({"memory": {"ignore": ["*.py", 3]}}, "memory.ignore"),
        ({"memory": {"max_megabytes": 0}}, "memory.max_megabytes"),
        ({"model": {"path": None}}, "model.path"),
        ({1: 2}, "1"),
        ({"x" * 1000: 2}, "x" * 60),
        ({"a.b.c": 1}, "a"),
        ([], "settings"),
        ("x", "settings"),
    ],
)
def test_a_bad_value_keeps_its_default_and_is_named(raw: object, path: str) -> None:
    settings, problems = read_settings(raw)
    assert settings == Settings()
    assert [line.split(":")[0] for line in problems] == [path]


def test_one_bad_value_does_not_spoil_its_neighbours() -> None:
    settings, problems = read_settings({"completion": {"max_lines": -1, "timeout_ms": 7}})
    assert settings.completion.timeout_ms == 7
    assert settings.completion.max_lines == Settings().completion.max_lines
    assert len(problems) == 1


def test_what_is_not_said_stays_as_it_was_before() -> None:
    base, _ = read_settings({"completion": {"max_lines": 2, "timeout_ms": 7}})
    settings, problems = read_settings({"completion": {"max_lines": 0, "timeout_ms": 9}}, base)
    assert (settings.completion.max_lines, settings.completion.timeout_ms) == (2, 9)
    assert len(problems) == 1
