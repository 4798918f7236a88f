"""Runs the golden cases of `filters/`: ├what was drafted┤ in its text, and what of it is `shown`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from midspan_lsp.engine.filters import apply_filters

HERE = Path(__file__).parent


def cases() -> list[Any]:
    return [
        pytest.param(case, id=f"{path.stem}: {case['description']}")
        for path in sorted((HERE / "filters").glob("*.toml"))
        for case in tomllib.loads(path.read_text(encoding="utf-8"))["case"]
    ]


@pytest.mark.parametrize("case", cases())
def test_filters(case: dict[str, Any]) -> None:
    assert case.keys() == {"description", "text", "shown"}
    prefix, rest = case["text"].split("├")
    drafted, suffix = rest.split("┤")
    assert apply_filters(drafted, prefix, suffix) == case["shown"]
