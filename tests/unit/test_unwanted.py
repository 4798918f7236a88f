"""Where nobody who types wants a suggestion; the cursor is at the bar."""

from __future__ import annotations

import pytest
from midspan_lsp.context.unwanted import is_wanted


@pytest.mark.parametrize(
    "text",
    [
        "fo|o = 1\n",
        "é|é",
        "a_|1",
        "let a = 1;|\n",
        "let a = 1; |\r\nlet b;",
        "let a = 1;|",
        "|",
        "  \n |\n\n",
        "x = 1\n\n|",
        "x = 1\r\n\r\n  |\r\n",
        "x = 1\n\n|\n\n",
    ],
)
def test_unwanted(text: str) -> None:
    assert not is_wanted(*text.split("|"))


@pytest.mark.parametrize(
    "text",
    [
        "foo|",
        "foo(|bar)",
        "foo |bar",
        "for (let i = 0;| i < n; i++)",
        "f(a)|\n",
        "if (a) {|}",
        "a[0]|",
        "x = 1\n|",
        "x = 1\n\n|\ny = 2\n",
        "\n\nx|",
        "|x = 1",
        "\n\n|x = 1",
    ],
)
def test_wanted(text: str) -> None:
    assert is_wanted(*text.split("|"))
