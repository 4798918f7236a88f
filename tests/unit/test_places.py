"""Comments and strings by the tree; the cursor is at the bar."""

from __future__ import annotations

import pytest
from midspan_lsp.syntax.languages import validated_languages
from midspan_lsp.syntax.places import Kind, kind_of_place

COMMENT, STRING, CODE = Kind.COMMENT, Kind.STRING, Kind.CODE


@pytest.mark.parametrize(
    ("language_id", "text", "kind"),
    [
        ("python", "x = 1  # what it| is\ny = 2\n", COMMENT),
        ("python", "x = 1  # what it is|\ny = 2\n", COMMENT),
        ("python", "x = 1  # what it is|", COMMENT),
        ("python", "x = 1  #|\n", COMMENT),
        ("python", "x = 1  |# what\n", CODE),
        ("python", "# what\n|x = 1\n", CODE),
        ("python", "# what\n|", CODE),
        ("python", "x = 'a|b'\n", STRING),
        ("python", "x = '|'\n", STRING),
        ("python", "x = |'ab'\n", CODE),
        ("python", "x = 'ab'|\n", CODE),
        ("python", 'def f():\n    """Does |\n    """\n', STRING),
        ("python", "x = f'a {b|} c'\n", CODE),
        ("python", "x = f'a {b} c|'\n", STRING),
        ("python", 'x = "open|\ny = 2\n', STRING),
        ("python", 'x = "open|', STRING),
        ("python", "x = 'open|\ny = 2\n", STRING),
        ("python", "it = 1|\ny = 2\n", CODE),
        ("python", "x = [1, |2]\n", CODE),
        ("python", "", CODE),
        ("python", "|", CODE),
        ("javascript", "let a = 1; // wh|at\n", COMMENT),
        ("javascript", "/* a| b */ let c;\n", COMMENT),
        ("javascript", "/* a b */| let c;\n", CODE),
        ("javascript", "let a = `b ${c|} d`;\n", CODE),
        ("javascript", "let a = `b ${c} d|`;\n", STRING),
        ("javascript", "let a = 'b|';\n", STRING),
        ("typescript", "let a: string = 'b|';\n", STRING),
        ("typescriptreact", "const a = <p className='b|'>c</p>;\n", STRING),
        ("go", 'package a\n\nvar b = "c|"\n', STRING),
        ("go", "package a\n\nvar b = `c|`\n", STRING),
        ("go", "package a\n\n// b|\n", COMMENT),
        ("rust", 'fn a() { let b = "c|"; }\n', STRING),
        ("rust", 'fn a() { let b = r#"c|"#; }\n', STRING),
        ("rust", "/// a|\nfn a() {}\n", COMMENT),
        ("rust", "fn a<'b|>(c: &'b str) {}\n", CODE),
        ("java", 'class A { String b = "c|"; }\n', STRING),
        ("java", "/** a|\n */\nclass A {}\n", COMMENT),
        ("c", 'char *a = "b|";\n', STRING),
        ("c", "/* a|\n */\nint b;\n", COMMENT),
        ("cpp", 'auto a = R"(b|)";\n', STRING),
        ("ruby", 'a = "b #{c|} d"\n', CODE),
        ("ruby", 'a = "b #{c} d|"\n', STRING),
        ("ruby", "# a|\n", COMMENT),
        ("php", "<?php\n$a = 'b|';\n", STRING),
        ("php", '<?php\n$a = "b|";\n', STRING),
        ("php", "<?php\n// a|\n$b = 1;\n", COMMENT),
        ("shellscript", 'a="b|"\n', STRING),
        ("shellscript", 'a="b $(c |d)"\n', CODE),
        ("shellscript", "# a|\n", COMMENT),
        ("lua", 'local a = "b|"\n', STRING),
        ("lua", "-- a|\n", COMMENT),
        ("kotlin", 'val a = "b|"\n', STRING),
        ("kotlin", "// a|\nval b = 1\n", COMMENT),
        ("html", "<!-- a| --><p>b</p>\n", COMMENT),
        ("html", "<p>b|</p>\n", CODE),
        ("css", "a { color: red; /* b| */ }\n", COMMENT),
        ("yaml", "a: 'b|'\n", STRING),
        ("yaml", "a: 1 # b|\n", COMMENT),
        ("toml", 'a = "b|"\n', STRING),
        ("toml", "# a|\n", COMMENT),
        ("json", '{"a": "b|"}\n', CODE),
        ("csharp", 'class A { string b = "c|"; }\n', STRING),
        ("csharp", 'class A { string b = $"c {d|}"; }\n', CODE),
        ("scala", 'val a = "b|"\n', STRING),
        ("swift", 'let a = "b|"\n', STRING),
        ("haskell", 'a = "b|"\n', STRING),
        ("haskell", "-- a|\na = 1\n", COMMENT),
        ("sql", "select 'a|';\n", STRING),
        ("sql", "-- a|\nselect 1;\n", COMMENT),
        ("markdown", "some 'text|'\n", CODE),
        ("unknown", "# a|\n", CODE),
    ],
)
def test_the_kind_of_a_place(language_id: str, text: str, kind: Kind) -> None:
    if language_id not in (*validated_languages(), "unknown"):
        pytest.skip(f"no grammar for {language_id}")
    before, _, after = text.partition("|")
    assert kind_of_place(before + after, len(before), language_id) is kind


def test_where_lines_end_in_carriage_returns() -> None:
    text = "# a\r\nx = 1\r\n"
    assert kind_of_place(text, 3, "python") is COMMENT
    assert kind_of_place(text, 5, "python") is CODE


def test_a_place_in_the_part_of_a_long_document() -> None:
    """Only the part around it is parsed again, and its offsets are not the document's."""
    line = "def é(a):\n    return 'é' + a  # é\n\n\n"
    text, uri = line * 1000, "file:///long.py"
    middle = len(line) * 500
    for place, kind in ((line.index("'é'") + 2, STRING), (line.index("# é") + 2, COMMENT), (3, CODE)):
        assert kind_of_place(text, middle + place, "python", uri) is kind
    changed = text[: middle + 3] + "y" + text[middle + 3 :]
    assert kind_of_place(changed, middle + 1 + line.index("# é") + 3, "python", uri) is COMMENT
