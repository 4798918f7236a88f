"""The evaluation's command from end to end, with a tiny checkpoint."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from evaluation_texts import GO, PYTHON, write_tasks
from midspan_model.errors import ModelError
from midspan_model.evaluation import command
from midspan_model.evaluation.humaneval import FILES
from midspan_model.evaluation.ways import ways_of
from tiny_model import tiny_infiller

WAYS = ("control", "midspan", "one-at-a-time", "no-suffix", "denoising-0.9")
FIGURES = {"exact", "similarity", "parses", "pass@1", "empty", "forwards", "tokens/forward", "median ms"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "shapes.py").write_text(PYTHON * 2, encoding="utf-8")
    (folder / "main.go").write_text(GO * 4, encoding="utf-8")
    return folder


def report_of(capsys: pytest.CaptureFixture[str], *arguments: object, **keywords: Any) -> tuple[str, dict[str, Any]]:
    """What the command prints: the text, and the JSON of its last line."""
    assert command.main([str(argument) for argument in arguments], **keywords) == 0
    text, _, last = capsys.readouterr().out.rstrip("\n").rpartition("\n")
    return text, json.loads(last)


def test_local_holes_beside_the_control(
    tiny_checkpoint: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, report = report_of(
        capsys,
        *("local", "--source", project, "--model", tiny_checkpoint, "--n", 2, "--threads", 1),
        *(part for way in WAYS for part in ("--way", way)),
        "--show",
    )
    assert len(report["results"]) == 4 * 3, "four kinds, of two languages and of both"
    for result in report["results"]:
        assert result["n"] == (4 if result["language"] == "all languages" else 2)
        assert list(result["ways"]) == list(WAYS)
        for figures in result["ways"].values():
            assert figures.keys() >= FIGURES
            low_to_high = [(low, value, high) for value, low, high in filter(None, figures.values())]
            assert all(low <= value <= high for low, value, high in low_to_high)
            assert figures["pass@1"] is None
        assert result["exact_difference"].keys() == {f"midspan less {name}" for name in WAYS if name != "midspan"}
    by_language = {result["language"]: result["ways"]["control"]["parses"] for result in report["results"]}
    assert by_language["python"] is not None
    assert by_language["go"] is None, "nobody here knows Go's grammar"
    sha256 = hashlib.sha256((tiny_checkpoint / "trunk.safetensors").read_bytes()).hexdigest()
    assert report["weights_sha256"]["trunk"] == sha256
    assert report["weights_sha256"].keys() == {"trunk", "adapter", "tokenizer", "config"}
    assert "local-mid-word, go, 2 holes" in text
    assert "project/shapes.py: " in text
    assert str(project.parent) not in json.dumps(report), "a report names no path of a machine"


def test_every_answer_is_kept(
    tiny_checkpoint: Path, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "answers.jsonl"
    _, report = report_of(
        capsys,
        *("local-single-line", "--source", project, "--language", "go", "--n", 2, "--answers", file),
        *("--model", tiny_checkpoint, "--threads", 1),
    )
    kept = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [answer["way"] for answer in kept] == ["control", "midspan"] * 2
    for answer in kept:
        assert (GO * 4)[answer["offset"] :].startswith(answer["wanted"])
    exact = [answer["exact"] for answer in kept if answer["way"] == "control"]
    assert report["results"][0]["ways"]["control"]["exact"][0] == sum(exact) / 2


def test_a_caller_may_know_more_grammars(
    tiny_checkpoint: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def parses(language_id: str, before: str, middle: str, after: str) -> bool:
        asked.append(language_id)
        return before + middle + after == GO * 4  # the true middle only

    _, report = report_of(
        capsys,
        *("local-single-line", "--source", project, "--language", "go", "--n", 2),
        *("--model", tiny_checkpoint, "--threads", 1),
        parses=parses,
    )
    assert set(asked) == {"go"}
    assert report["results"][0]["ways"]["control"]["parses"] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("run", [False, True])
def test_generated_programs_are_run_only_if_asked_for(
    run: bool, tiny_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tasks(tmp_path, "humaneval-single-line", ["    x = 1\n", "    x = 2\n"])
    flags = ["--run-programs"] if run else []
    text, report = report_of(
        capsys,
        *("humaneval-single-line", "--data", tmp_path, "--model", tiny_checkpoint, "--threads", 1, "--way", "midspan"),
        *flags,
    )
    (result,) = report["results"]
    assert list(result["ways"]) == ["midspan"]
    assert (report["programs"] is not None) == run
    assert (result["ways"]["midspan"]["pass@1"] is not None) == run
    assert result["n_checks_passed"] == (1 if run else None), "the second task's own middle fails its test"
    assert ("pass their own tests" in text) == run


def test_a_run_is_repeated_by_its_command(
    tiny_checkpoint: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("local-multi-line", "--source", project, "--model", tiny_checkpoint, "--n", 3, "--threads", 1)
    reports = [report_of(capsys, *arguments)[1] for _ in range(2)]
    for report in reports:
        for result in report["results"]:
            for figures in result["ways"].values():
                del figures["median ms"]
    assert reports[0] == reports[1]


def test_one_token_at_a_time_takes_a_forward_for_each(tiny_checkpoint: Path, project: Path) -> None:
    from midspan_model.evaluation.holes import cut_holes
    from midspan_model.evaluation.sources import read_sources

    infiller = tiny_infiller(tiny_checkpoint)
    ways = ways_of(
        infiller, ["denoising-0", "denoising-2", "one-at-a-time", "ahead-3", "midspan", "no-suffix", "blind"]
    )
    holes = cut_holes(read_sources(project), "single-line", 6, 0)
    answers = {name: [way(hole) for hole in holes] for name, way in ways.items()}
    n_forwards = {name: sum(answer.n_forwards for answer in found) for name, found in answers.items()}
    assert n_forwards["denoising-0"] < n_forwards["denoising-2"]
    assert n_forwards["ahead-3"] <= n_forwards["one-at-a-time"]
    middles = {name: [answer.middle for answer in found] for name, found in answers.items()}
    assert middles["ahead-3"] == middles["one-at-a-time"]
    assert middles["midspan"] != middles["no-suffix"], "the suffix is seen"
    assert middles["blind"] == middles["no-suffix"], "nothing is proposed here"


def test_what_is_too_unlikely_is_silent_and_costs_less(tiny_checkpoint: Path, project: Path) -> None:
    from midspan_model.evaluation.holes import cut_holes
    from midspan_model.evaluation.sources import read_sources

    ways = ways_of(tiny_infiller(tiny_checkpoint), ["midspan", "least-0.9999"])
    for hole in cut_holes(read_sources(project), "single-line", 3, 0):
        spoken, silent = (way(hole) for way in ways.values())
        assert spoken.middle, "random weights are sure of nothing"
        assert (silent.middle, silent.n_tokens) == ("", 0)
        assert silent.n_forwards < spoken.n_forwards


def test_there_is_no_other_way(tiny_checkpoint: Path) -> None:
    for name in ("", "typing", "ahead-", "ahead-x", "denoising", "denoising-.", "least-1", "least-"):
        with pytest.raises(ModelError, match="no way is called"):
            ways_of(tiny_infiller(tiny_checkpoint), [name])


def test_stored_contexts_change_no_answer(tiny_checkpoint: Path, project: Path, tmp_path: Path) -> None:
    from midspan_model.evaluation.contexts import ContextStore
    from midspan_model.evaluation.holes import cut_holes
    from midspan_model.evaluation.sources import read_sources

    store = ContextStore(tmp_path / "contexts", "of the tiny trunk")
    infiller = tiny_infiller(tiny_checkpoint)
    holes = cut_holes(read_sources(project), "single-line", 3, 0)
    for name in ("control", "midspan", "no-suffix"):
        plain, first, again = (ways_of(infiller, [name], contexts)[name] for contexts in (None, store, store))
        for hole in holes:
            answers = [way(hole) for way in (plain, first, again)]
            assert len({(answer.middle, answer.n_forwards) for answer in answers}) == 1
            assert answers[2].probability == pytest.approx(answers[0].probability, rel=1e-4)
    files = {file.name for file in (tmp_path / "contexts").iterdir()}
    assert len(files) == 3 + 3 + 1, "prefixes, suffixes and the empty suffix"


def test_no_hole_finds_the_context_of_an_earlier_one(tiny_checkpoint: Path) -> None:
    pool = tiny_infiller(tiny_checkpoint).contexts
    pool.take([1, 2, 3]).prefix_ids.extend([1, 2, 3])
    pool.clear()
    assert pool.nbytes == 0
    assert pool.take([1, 2, 3]).prefix_ids == []


def test_the_control_sees_nothing_behind_the_cursor(tiny_checkpoint: Path, project: Path) -> None:
    import dataclasses

    from midspan_model.evaluation.holes import cut_holes
    from midspan_model.evaluation.sources import read_sources

    ways = ways_of(tiny_infiller(tiny_checkpoint), ["control"])
    for kind in ("single-line", "multi-line"):
        for hole in cut_holes(read_sources(project), kind, 4, 0):
            typed = ways["control"](hole)
            other = ways["control"](dataclasses.replace(hole, suffix="\nsomething else"))
            assert (typed.middle, typed.n_forwards) == (other.middle, other.n_forwards)
            assert typed.middle.count("\n") <= hole.middle.count("\n")


def test_what_cannot_be_measured_is_told(
    tiny_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = ("--model", str(tiny_checkpoint))
    assert command.main(["local", *model]) == 1
    assert "Give --repositories" in capsys.readouterr().err
    assert command.main(["humaneval", *model]) == 1
    assert "--data" in capsys.readouterr().err
    assert command.main(["local", "--repositories", str(tmp_path), *model]) == 1
    assert "pallets/flask is not there" in capsys.readouterr().err


def test_the_module_runs(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "midspan_model.evaluation", "repositories", "held-out"],
        check=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ,
    )
    assert "git clone --quiet https://github.com/pallets/flask held-out/flask" in done.stdout
    assert FILES.keys() == {"humaneval-single-line", "humaneval-random-span-light"}
