"""`midspan evaluate`: the memory proposes, but never the hole's own text or a copy of its file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from midspan_lsp.backends.local_evaluation import HoleInFile
from midspan_lsp.cli.evaluate import Projects, parses, without_copies
from midspan_lsp.cli.main import main

FILE = """def area(width, height):
    check(width, height)
    return width * height


def total(shapes):
    found = 0
    for one in shapes:
        found += area(one.width, one.height)
    return found
"""
OTHER = """def volume(width, height, depth):
    check(width, height)
    return depth * area(width, height)
"""


def hole(root: Path, name: str, text: str, middle: str) -> HoleInFile:
    start = text.index(middle)
    (root / name).write_text(text, encoding="utf-8")
    return HoleInFile(root, root / name, "python", text[:start], middle, text[start + len(middle) :], 1, None)


def test_what_stands_elsewhere_is_proposed(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text(OTHER, encoding="utf-8")
    found, *_ = Projects().recall(hole(tmp_path, "a.py", FILE, "width, height)\n    return".partition("\n")[0]))
    assert all(0 <= score <= 1 for _, score in found)
    found, *_ = Projects().recall(hole(tmp_path, "b.py", OTHER.replace("volume", "space"), "check(width, height)"))
    assert found[0][0] == "check(width, height)"


def test_a_hole_finds_neither_its_own_text_nor_a_copy_of_its_file(tmp_path: Path) -> None:
    asked = hole(tmp_path, "a.py", FILE, "area(one.width, one.height)")
    projects = Projects()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "copy.py").write_text("# a copy\n" + FILE, encoding="utf-8")
    assert all("one.height" not in text for text, _ in projects.recall(asked)[0])
    again, *_ = projects.recall(HoleInFile(**{**vars(asked), "prefix": asked.prefix.replace("found += ", "other += ")}))
    assert any("one.height" in text for text, _ in again), "only while its own hole is asked is a copy left out"


def test_a_hole_of_no_project_has_its_own_text(tmp_path: Path) -> None:
    asked = hole(tmp_path, "a.py", FILE + FILE.replace("return found", "return -found"), "area(one.width, one.height)")
    alone = HoleInFile(None, Path("a.py"), *list(vars(asked).values())[2:])
    assert Projects().recall(alone)[0][0][0] == "area(one.width, one.height)"


def test_a_hole_s_lines_are_taken_out_of_its_own_file_where_they_are_copied_to(tmp_path: Path) -> None:
    copied, other = FILE + "\n\n" + FILE, FILE + FILE.replace("return found", "return -found")
    for text, is_copy in ((copied, True), (other, False)):
        for start in (text.index("area(one"), text.rindex("area(one")):
            end = text.index("\n", start)
            asked = HoleInFile(None, Path("a.py"), "python", text[:start], text[start:end], text[end:], 1, None)
            before, after = without_copies(asked)
            assert before.endswith("        found += ")
            assert after.startswith("\n    return ")
            assert (before + after).count("found += area(one") == (not is_copy)
            proposed = [middle for middle, _ in Projects().recall(asked)[0]]
            assert ("area(one.width, one.height)" in proposed) is not is_copy


def test_only_lines_between_the_same_lines_are_copies() -> None:
    text = "a\n  b\n\nc\nb\nd\na\nb\nc\n\n\na\nb\nc"
    place = text.index("b\nc")
    asked = HoleInFile(None, Path("a.py"), "python", text[:place], "b", text[place + 1 :], 1, None)
    assert without_copies(asked) == ("a\n\nc\nb\nd\na\n", "\nc\n\n\na\nc")
    text = "x = 1\n" * 5
    asked = HoleInFile(None, Path("a.py"), "python", text[:16], "1", text[17:], 1, None)
    assert without_copies(asked) == ("x = 1\nx = ", "\nx = 1\n")


def test_grammars_say_whether_a_text_parses() -> None:
    assert parses("go", "package a\n", "func f() {}", "\n") is True
    assert parses("go", "package a\n", "func f( {}", "\n") is False
    assert parses("cobol", "", "x", "") is None


def test_the_command_compares_model_memory_and_both(
    tmp_path: Path, tiny_checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    for name, text in (("a.py", FILE * 4), ("b.py", OTHER * 6)):
        lines = enumerate(text.splitlines())
        varied = "".join(f"{line}\n" if number % 3 else f"{line}\n# note {number}\n" for number, line in lines)
        (folder / name).write_text(varied, encoding="utf-8")
    ways = ("control", "copy", "alone", "midspan", "candidates")
    arguments = ["evaluate", "local-single-line", "--source", str(folder), "--model", str(tiny_checkpoint), "--n", "4"]
    answers = tmp_path / "answers.jsonl"
    chosen = [part for way in ways for part in ("--way", way)]
    assert main([*arguments, "--threads", "1", "--answers", str(answers), *chosen]) == 0
    (result,) = json.loads(capsys.readouterr().out.rstrip("\n").rpartition("\n")[2])["results"]
    assert list(result["ways"]) == list(ways)
    assert result["ways"]["copy"]["forwards"] == [0, 0, 0]
    assert result["ways"]["copy"]["tokens/forward"] is None
    assert result["ways"]["copy"]["exact"][0] >= 0.5, "these files repeat themselves"
    lines = [json.loads(line) for line in answers.read_text(encoding="utf-8").splitlines()]
    assert any(line["others"] for line in lines if line["way"] == "candidates")
    assert not any(line["others"] and line["features"]["proposed"] for line in lines if line["way"] == "alone")
