"""Prompts with marks, as clients write them, taken apart again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from midspan_lsp.backend_settings import MarkerName
from midspan_lsp.backends.http.markers import MARKERS, marked_prompt
from midspan_lsp.gateway.markers import split_prompt
from midspan_lsp.gateway.zeta import split_zeta

# as Zed's `format_fim_prompt` writes them
STYLES = {
    "qwen": "<|fim_prefix|>{p}<|fim_suffix|>{s}<|fim_middle|>",
    "star_coder": "<fim_prefix>{p}<fim_suffix>{s}<fim_middle>",
    "code_llama": "<PRE> {p} <SUF>{s} <MID>",
    "deepseek_coder": "<｜fim▁begin｜>{p}<｜fim▁hole｜>{s}<｜fim▁end｜>",
    "codestral": "[SUFFIX]{s}[PREFIX]{p}",
    "glm": "<|code_prefix|>{p}<|code_suffix|>{s}<|code_middle|>",
    "seed_coder": "<[fim-suffix]>{s}<[fim-prefix]>{p}<[fim-middle]>",
}
ZETA2 = """<[fim-suffix]>

def second():
    pass

<[fim-prefix]><filename>lib/other.py
def helper(): ...

<filename>edit_history
--- a/app/main.py
+++ b/app/main.py
-old
+new

<filename>app/main.py
import os

<<<<<<< CURRENT
def first():
    return <|user_cursor|>
    # end
=======
<[fim-middle]>"""
ZETA21 = """<[fim-suffix]>
suffix
<[fim-prefix]><filename>test.rs
prefix
<|marker_1|>fn a() {}
<|marker_2|>let x = <|user_cursor|>;
y();
<|marker_3|>
<[fim-middle]>"""


@pytest.mark.parametrize("style", STYLES)
@given(prefix=st.text(max_size=40), suffix=st.text(max_size=40))
def test_every_style_comes_apart_as_it_was_put_together(style: str, prefix: str, suffix: str) -> None:
    parts = split_prompt(STYLES[style].replace("{p}", prefix).replace("{s}", suffix))
    assert parts is not None
    assert (parts.prefix, parts.suffix) == (prefix, suffix)


@pytest.mark.parametrize("name", MARKERS)
def test_what_the_remote_backend_puts_together_the_gateway_takes_apart(name: MarkerName) -> None:
    parts = split_prompt(marked_prompt("before", "after", name))
    assert parts is not None
    assert (parts.prefix, parts.suffix) == ("before", "after")


@pytest.mark.parametrize("style", STYLES)
def test_marks_in_the_prefix_itself_stay_there(style: str) -> None:
    prefix = STYLES[style].replace("{p}", "a").replace("{s}", "b")
    parts = split_prompt(STYLES[style].replace("{p}", prefix).replace("{s}", "\nrest"))
    assert parts is not None
    assert parts.prefix == prefix


def test_text_without_marks_has_none() -> None:
    assert split_prompt("def f(x):\n    return x") is None
    assert split_prompt("print('<fim_prefix>')") is None
    assert split_prompt("") is None


def test_a_path_before_the_marks_is_the_files() -> None:
    head = "<|repo_name|>shop\n<|file_sep|>a.py\nx = 1\n<|file_sep|>src/b.go\n"
    parts = split_prompt(head + "<|fim_prefix|>a<|fim_suffix|>b<|fim_middle|>")
    assert parts is not None
    assert (parts.prefix, parts.suffix, parts.path) == ("a", "b", "src/b.go")


def test_zeta2_asks_for_a_whole_region() -> None:
    rewrite = split_zeta(ZETA2)
    assert rewrite is not None
    assert rewrite.path == "app/main.py"
    assert rewrite.prefix == "import os\n\ndef first():\n    return "
    assert rewrite.suffix.startswith("\n    # end\n\n\ndef second():")
    assert rewrite.render("1") == "def first():\n    return 1\n    # end\n>>>>>>> UPDATED\n"


def test_zeta2_1_asks_for_the_part_with_the_cursor() -> None:
    rewrite = split_zeta(ZETA21)
    assert rewrite is not None
    assert rewrite.path == "test.rs"
    assert rewrite.prefix == "prefix\nfn a() {}\nlet x = "
    assert rewrite.suffix.startswith(";\ny();\n")
    assert rewrite.suffix.endswith("suffix")
    assert rewrite.render("1") == "<|marker_2|>let x = 1;\ny();\n<|marker_3|><[end▁of▁sentence]>"


@pytest.mark.parametrize("prompt", ["", "x", "<[fim-suffix]><[fim-middle]>", ZETA2.replace("<|user_cursor|>", "")])
def test_other_prompts_are_no_zeta(prompt: str) -> None:
    assert split_zeta(prompt) is None
