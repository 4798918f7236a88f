"""Holes: what is cut, and that it is the same everywhere."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from evaluation_texts import GO, PYTHON, source_text, write_tasks
from midspan_model.errors import ModelError
from midspan_model.evaluation.code_lines import split_lines
from midspan_model.evaluation.holes import CUTTERS, Hole, cut_holes, file_cuts
from midspan_model.evaluation.humaneval import FILES, read_humaneval
from midspan_model.evaluation.suites import humaneval_suites, local_suites


def holes_of(kind: str, text: str = PYTHON, language_id: str = "python", n_seeds: int = 20) -> list[Hole]:
    return [
        hole for seed in range(n_seeds) for hole in cut_holes([source_text(text, language_id)], kind, n=1000, seed=seed)
    ]


@pytest.mark.parametrize("kind", CUTTERS)
@pytest.mark.parametrize(("text", "language_id"), [(PYTHON, "python"), (GO, "go")])
def test_a_hole_leaves_the_file_as_it_was_and_holds_only_code(kind: str, text: str, language_id: str) -> None:
    holes = holes_of(kind, text, language_id)
    assert holes
    for hole in holes:
        assert hole.prefix + hole.middle + hole.suffix == text
        assert hole.suffix.startswith("\n") or not hole.suffix
        assert hole.middle.count("\n") < hole.max_lines
        for prose in ("remark", "comment line", "comment :=", "prose", "Says", "not code", '"""'):
            assert prose not in hole.middle


def test_a_single_line_begins_anywhere_but_in_a_word() -> None:
    for hole in holes_of("single-line"):
        assert hole.max_lines == 1
        assert "\n" not in hole.middle
        assert not (hole.prefix[-1].isalnum() and hole.middle[0].isalnum())
    assert any(hole.prefix.endswith("\n    ") for hole in holes_of("single-line"))


def test_a_mid_word_hole_begins_in_a_word() -> None:
    for hole in holes_of("mid-word"):
        assert (hole.prefix[-1] + hole.middle[0]).replace("_", "a").isalnum()


def test_several_lines_begin_at_a_lines_first_character() -> None:
    holes = holes_of("multi-line")
    assert {hole.middle.count("\n") + 1 for hole in holes} == {2, 3, 4}
    assert all(not hole.prefix.rpartition("\n")[2].strip() and hole.middle[0].strip() for hole in holes)


def test_a_body_is_taken_whole() -> None:
    middles = {hole.middle: hole for hole in holes_of("block-body")}
    assert set(middles) == {"label = self.label.strip()\n        return label.upper()"}, "others hold comments or text"
    assert [hole.min_indent for hole in middles.values()] == [8]
    go = {hole.middle: hole.min_indent for hole in holes_of("block-body", GO, "go")}
    assert go == {'panic("negative // no comment")': 16}


def test_the_same_files_and_seed_give_the_same_holes_in_any_order() -> None:
    sources = [source_text(PYTHON, origin="a/one.py"), source_text(PYTHON + "y = area(1, 2)\n", origin="a/two.py")]
    for kind in CUTTERS:
        holes = cut_holes(sources, kind, n=5, seed=3)
        assert cut_holes(sources[::-1], kind, n=5, seed=3) == holes
        assert cut_holes(sources, kind, n=1000, seed=3)[: len(holes)] == holes
    assert cut_holes(sources, "single-line", n=5, seed=4) != cut_holes(sources, "single-line", n=5, seed=3)
    alone = file_cuts(sources[0], "single-line", 3)
    assert [hole.middle for hole in cut_holes(sources[:1], "single-line", 1000, 3)] == [
        PYTHON[cut.start : cut.end] for cut in alone
    ], "another file does not change them"


def test_files_take_turns() -> None:
    long = "".join(f"value_{index} = compute({index})\n" for index in range(500))
    holes = cut_holes(
        [source_text(long, origin="long.py"), source_text(PYTHON, origin="short.py")], "single-line", n=8, seed=0
    )
    assert sorted(hole.origin for hole in holes) == ["long.py"] * 4 + ["short.py"] * 4


@pytest.mark.parametrize(
    ("language_id", "text", "code"),
    [
        ("python", "x = '#'\ny = 1  # remark\n'doc'\nz = '''a\nb'''\nw = 2", [0, 5]),
        ("javascript", 'x = "//"\n// no\ny = `a\nb`\n/* c\nd */ z\nw()', [0, 6]),
        ("rust", 'fn f<\'a>(x: &\'a str) {}\nlet q = \'"\';\nlet s = "a\nb";\nlet r = r#"c\n"d"#;\ng()', [0, 1, 6]),
        ("cpp", "#include <x>\nint f() { return 'a'; } // no\n\nint y;", [0, 3]),
    ],
)
def test_lines_of_code_are_told_from_comments_and_long_strings(language_id: str, text: str, code: list[int]) -> None:
    lines = split_lines(text, language_id)
    assert [line.text for line in lines] == text.split("\n")
    assert [number for number, line in enumerate(lines) if line.is_code] == code


def test_humaneval_tasks_become_holes_that_can_be_run(tmp_path: Path) -> None:
    write_tasks(tmp_path, "humaneval-single-line", ["    x = 1\n"])
    (hole,) = read_humaneval(tmp_path, "humaneval-single-line", n=9, seed=0)
    assert (hole.prefix, hole.middle, hole.suffix) == ("def f():\n", "    x = 1", "\n    return x\n")
    exec(hole.prefix + hole.middle + hole.suffix + hole.check, {})
    with pytest.raises(AssertionError):
        exec(hole.prefix + "    x = 2" + hole.suffix + hole.check, {})
    write_tasks(tmp_path, "humaneval-random-span-light", ["    x = 1\n    "])
    (span,) = read_humaneval(tmp_path, "humaneval-random-span-light", n=9, seed=0)
    assert (span.middle, span.suffix) == ("    x = 1\n    ", "    return x\n")
    assert span.max_lines > hole.max_lines == 1


def test_a_part_of_humaneval_is_drawn_by_the_seed(tmp_path: Path) -> None:
    write_tasks(tmp_path, "humaneval-single-line", [f"    x = {index}\n" for index in range(50)])
    first, again, other = (read_humaneval(tmp_path, "humaneval-single-line", 5, seed) for seed in (1, 1, 2))
    assert len(first) == 5
    assert first == again != other


def test_data_that_is_missing_or_damaged_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be read"):
        read_humaneval(tmp_path, "humaneval-single-line", 5, 0)
    (tmp_path / FILES["humaneval-single-line"]).write_bytes(gzip.compress(b'{"task_id": "x"}\n'))
    with pytest.raises(ModelError, match="cannot be read"):
        read_humaneval(tmp_path, "humaneval-single-line", 5, 0)
    with pytest.raises(ModelError, match="need"):
        humaneval_suites(["humaneval-single-line"], None, 5, 0)


def test_each_language_is_a_suite_of_its_own() -> None:
    sources = [source_text(PYTHON), source_text(GO, "go", "pkg/main.go")]
    suites = local_suites(["local-single-line", "local-block-body"], sources, 3, 0)
    assert [(suite.name, suite.language_id) for suite in suites] == [
        ("local-single-line", "python"),
        ("local-block-body", "python"),
        ("local-single-line", "go"),
        ("local-block-body", "go"),
    ]
    with pytest.raises(ModelError, match="no hole"):
        local_suites(["local-block-body"], [source_text("x = 1\n" * 30)], 3, 0)
