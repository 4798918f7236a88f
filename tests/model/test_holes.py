"""Holes: what is cut, what is left alone, and that both are the same everywhere."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path, PurePosixPath

import pytest
from midspan_model.errors import ModelError
from midspan_model.evaluation.code_lines import LANGUAGE_IDS, split_lines
from midspan_model.evaluation.holes import CUTTERS, Hole, cut_holes, file_cuts
from midspan_model.evaluation.humaneval import FILES, read_humaneval
from midspan_model.evaluation.repositories import (
    REPOSITORIES,
    Repository,
    fetch_commands,
    find_checkouts,
    read_checkouts,
)
from midspan_model.evaluation.sources import SourceText, is_foreign, read_sources, without_copies
from midspan_model.evaluation.suites import humaneval_suites, local_suites

PYTHON = '''"""What this file is for:
    not code
"""

import os  # a remark


def area(width: float, height: float) -> float:
    """Says what it does."""
    product = width * height
    if product < 0:
        raise ValueError("negative")
        # a comment line
    return product


class Shape:
    def name(self) -> str:
        label = self.label.strip()
        return label.upper()

    def scale(self, factor: float) -> None:
        self.width *= factor
        self.height *= factor
        text = """
        prose in a string, value = 1
        """
'''
GO = """package main

/* a block
   comment := 1 */
func area(width int, height int) int {
\t// a remark
\tproduct := width * height
\tif product < 0 {
\t\tpanic("negative // no comment")
\t}
\treturn product
}
"""


def source(text: str, language_id: str = "python", origin: str = "pkg/shapes.py") -> SourceText:
    return SourceText(origin, language_id, text)


def holes_of(kind: str, text: str = PYTHON, language_id: str = "python", n_seeds: int = 20) -> list[Hole]:
    return [hole for seed in range(n_seeds) for hole in cut_holes([source(text, language_id)], kind, n=1000, seed=seed)]


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
    sources = [source(PYTHON, origin="a/one.py"), source(PYTHON + "y = area(1, 2)\n", origin="a/two.py")]
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
    holes = cut_holes([source(long, origin="long.py"), source(PYTHON, origin="short.py")], "single-line", n=8, seed=0)
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


def test_a_folder_is_read_without_what_nobody_wrote_by_hand(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    code = "".join(f"value_{index} = compute({index})\n" for index in range(20))
    files = {
        "b.py": code,
        "a/again.py": code.replace("\n", "\n\n"),
        "vendor/other.py": code + "x = 1\n",
        "made_pb2.py": code + "x = 2\n",
        "made.py": "# Code generated by a tool. DO NOT EDIT.\n" + code,
        "lib.min.js": code,
        "long.js": "x" * 600 + "\n" + code,
        "licence.py": "# may be used by anybody\n" * 100 + "x = 1\n",
        "short.py": "x = 1\n",
        "readme.md": code,
        "main.go": code + "done()\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "latin.py").write_bytes(code.encode() + b"# \xe9\n")
    (folder / "link.py").symlink_to(folder / "main.go")
    assert [text.origin for text in read_sources(folder)] == ["project/a/again.py", "project/main.go"]
    assert [text.origin for text in read_sources(folder, language_ids=["go"])] == ["project/main.go"]
    assert [text.origin for text in read_sources(folder, leave_out=["a/*"])] == ["project/b.py", "project/main.go"]
    assert [text.language_id for text in read_sources(folder, ["a"], languages={"python": "cpp"})] == ["cpp"]
    with pytest.raises(ModelError, match="no source file"):
        read_sources(folder, language_ids=["rust"])


def test_paths_that_say_whose_they_are() -> None:
    for name in ("node_modules/x/a.js", "pkg/_vendor/a.py", "types/a.d.ts", "api/a.pb.go", "x.bundle.js", ".git/a.py"):
        assert is_foreign(PurePosixPath(name)), name
    for name in ("src/vendor.py", "lib/minutes.js", "builder/a.go"):
        assert not is_foreign(PurePosixPath(name)), name


def test_copies_are_measured_once() -> None:
    texts = [source("a = 1\n", origin="x"), source("a  =  1\n\n", origin="y"), source("a = 2\n", origin="z")]
    assert [text.origin for text in without_copies(texts)] == ["x", "z"]


def write_tasks(folder: Path, suite: str, solutions: list[str]) -> Path:
    """A file of the data set's form, with tasks of our own."""
    with gzip.open(folder / FILES[suite], "wt", encoding="utf-8") as file:
        for index, solution in enumerate(solutions):
            task = {"task_id": f"T/{index}", "entry_point": "f", "prompt": "def f():\n", "suffix": "    return x\n"}
            task |= {"canonical_solution": solution, "test": "def check(f):\n    assert f() == 1\n"}
            file.write(json.dumps(task) + "\n")
    return folder


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
    sources = [source(PYTHON), source(GO, "go", "pkg/main.go")]
    suites = local_suites(["local-single-line", "local-block-body"], sources, 3, 0)
    assert [(suite.name, suite.language_id) for suite in suites] == [
        ("local-single-line", "python"),
        ("local-block-body", "python"),
        ("local-single-line", "go"),
        ("local-block-body", "go"),
    ]
    with pytest.raises(ModelError, match="no hole"):
        local_suites(["local-block-body"], [source("x = 1\n" * 30)], 3, 0)


def test_the_held_out_repositories_cover_the_languages() -> None:
    assert {language_id for one in REPOSITORIES for language_id in one.language_ids} >= {
        *("python", "javascript", "typescript", "go", "rust", "java", "c", "cpp")
    }
    assert {language_id for one in REPOSITORIES for language_id in one.language_ids} <= set(LANGUAGE_IDS)
    assert all(len(bytes.fromhex(one.commit)) == 20 for one in REPOSITORIES)
    assert len({one.folder for one in REPOSITORIES}) == len(REPOSITORIES)
    commands = fetch_commands("held out").splitlines()
    assert all(one.commit in command for one, command in zip(REPOSITORIES, commands, strict=True))
    assert all("'held out/" in command for command in commands), "a folder's name is one word"


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_a_checkout_says_what_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "shapes"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "area.py").write_text(PYTHON * 2, encoding="utf-8")
    _git(folder, "init", "--quiet")
    _git(folder, "add", ".")
    _git(folder, "commit", "--quiet", "-m", "first")
    right = Repository("o/shapes", _git(folder, "rev-parse", "HEAD"), "MIT", ("python",), ("src",))
    wrong = Repository("o/shapes", "0" * 40, "MIT", ("python",), ("src",))
    missing = Repository("o/elsewhere", "0" * 40, "MIT", ("python",))
    found = find_checkouts(tmp_path, (right, wrong, missing))
    assert found[0].complaint == ""
    assert "not at 000" in found[1].complaint
    assert "not there" in found[2].complaint
    assert [text.origin for text in read_checkouts(found[:1], ["python"])] == ["shapes/src/area.py"]
    with pytest.raises(ModelError, match="none of the held-out"):
        read_checkouts(found[2:], [])
    with pytest.raises(ModelError, match="none of the held-out"):
        read_checkouts(found[:1], ["go"])
    (folder / "notes.txt").write_text("outside of what is read", encoding="utf-8")
    assert find_checkouts(tmp_path, (right,))[0].complaint == ""
    (folder / "src" / "area.py").write_text(PYTHON + "x = 1\n", encoding="utf-8")
    assert "with changes" in find_checkouts(tmp_path, (right,))[0].complaint
