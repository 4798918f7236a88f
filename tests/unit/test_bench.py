"""What is typed by the benchmark, its figures, and the whole of it with a tiny model over stdio."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from midspan_lsp.backends.local_control import TypedLine
from midspan_lsp.bench import machine, report
from midspan_lsp.bench.client import text_of
from midspan_lsp.bench.replay import Key, Rhythm
from midspan_lsp.bench.traces import Hole, choose_holes, lengthened
from midspan_lsp.cli import bench
from midspan_lsp.cli.main import main

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_holes_are_rests_of_lines_of_code_and_the_seed_chooses_them() -> None:
    holes = choose_holes([EXAMPLES], 12, seed=3)
    assert holes == choose_holes([EXAMPLES], 12, seed=3) != choose_holes([EXAMPLES], 12, seed=4)
    assert len(set(holes)) == len(holes) == 12
    assert {hole.path.name for hole in holes[:2]} == {"geometry.py", "greeting.js"}, "each file before any again"
    for hole in holes:
        assert hole.before + hole.middle + hole.after == hole.path.read_text(encoding="utf-8")
        assert hole.after.startswith("\n")
        assert "\n" not in hole.middle
        assert 3 <= len(hole.middle) <= 120
        assert hole.before.rpartition("\n")[2].strip(), "some of the line is there"
        assert not hole.before.rpartition("\n")[2].strip().startswith(("#", "//"))


def test_a_hole_tells_its_text_and_cursor_while_it_is_typed() -> None:
    hole = Hole(Path("/a.py"), "python", "x = 1\n# 👋 y", " = 2", "\n")
    assert hole.text() == "x = 1\n# 👋 y\n"
    assert hole.text(3) == "x = 1\n# 👋 y = \n"
    assert hole.position(3) == (1, 9)
    long = lengthened(hole, 100)
    assert long.text(4).count("\n") >= 100
    assert (long.middle, long.text(4).count("# 👋 y = 2\n") > 50) == (hole.middle, True)


def test_a_folder_without_code_has_no_holes(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("# a comment is not typed\n\n", encoding="utf-8")
    assert choose_holes([tmp_path], 3, 0) == []
    assert main(["bench", str(tmp_path)]) == 1


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([], {}),
        ([7.0], {"p50": 7.0, "p90": 7.0, "p99": 7.0}),
        ([float(n) for n in range(100, 0, -1)], {"p50": 50.0, "p90": 90.0, "p99": 99.0}),
        ([1.0, 2.0, 3.0, None], {"p50": 2.0, "p90": None, "p99": None}),
    ],
)
def test_percentiles(values: list[float | None], wanted: dict[str, float | None]) -> None:
    assert report.percentiles(values) == wanted


def test_what_is_overtaken_is_neither_answered_nor_left_out() -> None:
    keys = [Key(None, False, "", "c"), Key(4.0, False, "ab", "ab "), Key(6.0, False, "", "b")]
    work = {
        "forwards": 6,
        "wastedForwards": 3,
        "encodedTokens": 3,
        "prefilledTokens": 0,
        "typedThrough": 1,
        "repeated": 0,
    }
    found = report.costs([Rhythm(keys, 2.0, 0.5, work), Rhythm(keys, 1.0, 0.5, work)])
    assert found["warm_ms"] == {"p50": 6.0, "p90": None, "p99": None}
    assert found["last_ms"] == {"p50": 6.0, "p90": 6.0, "p99": 6.0}
    assert (found["answered"], found["shown"], found["right_of_shown"]) == (0.667, 0.333, 1.0)
    assert (found["forwards_per_key"], found["wasted_forwards_per_key"], found["cpu_s_per_minute"]) == (2.0, 1.0, 20.0)
    assert report.costs([Rhythm(keys, 2.0, None, work)])["cpu_s_per_minute"] is None


def test_the_same_lines_by_length() -> None:
    lines = [report.Line(n, n == 3, TypedLine("x", 10.0 * n, n)) for n in (3, 4, 5, 10)]
    twice = [report.Line(n, False, TypedLine("x", 20.0 * n, n)) for n in (3, 4, 5, 10)]
    found = report.comparison({"midspan": lines, "control": twice})
    assert found["midspan"] == {
        "exact": 0.25,
        "tokens": 5.5,
        "ms": {"all": 45.0, "1-5": 40.0, "6-14": 100.0},
        "times": {"all": 1.0, "1-5": 1.0, "6-14": 1.0},
    }
    assert found["control"]["times"] == {"all": 2.0, "1-5": 2.0, "6-14": 2.0}


def test_an_answers_text() -> None:
    assert text_of(None) == text_of({"items": []}) == ""
    assert text_of({"items": [{"insertText": "a"}]}) == "a"


def test_a_process_that_is_not_there_is_not_known() -> None:
    assert machine.cpu_s(2**30) is None
    assert machine.peak_megabytes(2**30) is None
    assert machine.usable_processors() >= 1


def test_the_whole_of_it_with_a_tiny_model(
    tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "_REST_S", 0.2)
    plot = tmp_path / "latency.png"
    options = ["--holes", "1", "--seed", "1", "--keys-per-second", "50", "--model", str(tiny_checkpoint)]
    assert main(["bench", str(EXAMPLES / "geometry.py"), *options, "--plot", str(plot)]) == 0
    *table, last = capsys.readouterr().out.splitlines()
    result = json.loads(last)
    assert result["loaded_s"] > 0
    assert result["patient"]["answered"] == 1.0
    assert result["rhythm"]["n_keys"] >= 2
    assert result["rhythm"]["encoded_tokens_per_key"] < 10
    assert set(result["same_lines"]) == {"midspan", "control"}
    assert len(result["lines"]["control"]) == result["holes"] == 2
    assert any(line.startswith("first_in_long_file_ms") for line in table)
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_llama_cpp_that_is_not_there_is_named(tmp_path: Path) -> None:
    from midspan_lsp.bench.llama import Llama
    from midspan_lsp.errors import BackendUnavailable

    with pytest.raises(BackendUnavailable, match="no node-llama-cpp in") as caught:
        Llama(tmp_path, tmp_path / "x.gguf", 1)
    assert "npm i node-llama-cpp" in caught.value.hint
