"""What each kind of server is sent, as recorded, and what is made of its answers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from midspan_lsp.backend_settings import BackendSettings, DialectName, MarkerName
from midspan_lsp.backends.http.address import address_of
from midspan_lsp.backends.http.candidates import UNKNOWN_PROBABILITY, candidate_of, is_probability_known
from midspan_lsp.backends.http.dialects import DIALECTS, dialect_of, question_of
from midspan_lsp.backends.http.markers import MARKERS, marked_prompt
from midspan_lsp.backends.http.question import Answer, Piece
from midspan_lsp.backends.http.reading import pieces_of
from midspan_lsp.choices import Eagerness
from midspan_lsp.config import LEAST_PROBABILITY
from midspan_lsp.context.shape import Shape, cut_to_shape
from midspan_lsp.errors import BadResponse, ConfigError
from midspan_lsp.types import InfillRequest
from midspan_model.ending import find_end

REQUEST = InfillRequest("def f(x):\n    return x + ", "\n\nprint(f(1))\n", "python")
SEVERAL = replace(REQUEST, prefix="def f(x):\n    ", max_lines=4, min_indent=4)
LINE = Shape()


def body_of(request: InfillRequest = REQUEST, **settings: Any) -> dict[str, Any]:
    chosen = BackendSettings(kind="http", **settings)
    dialect = dialect_of(chosen)
    question = question_of(request, chosen, dialect, with_logprobs=dialect.gives_probability, budget_ms=900)
    assert question is not None
    return dialect.build(question)


def test_mercury_is_sent_what_it_takes_and_no_default_of_its_own_counts() -> None:
    assert body_of(dialect="mercury") == {
        "model": "mercury-edit-2",
        "prompt": REQUEST.prefix,
        "suffix": REQUEST.suffix,
        "max_tokens": 64,
        "presence_penalty": 0,
        "stop": ["\n"],
        "stream": False,
    }
    assert body_of(SEVERAL, dialect="mercury")["stop"] == ["\n\n\n"]


def test_codestral_is_sent_a_suffix() -> None:
    assert body_of(dialect="codestral") == {
        "model": "codestral-latest",
        "prompt": REQUEST.prefix,
        "suffix": REQUEST.suffix,
        "max_tokens": 64,
        "temperature": 0,
        "stop": ["\n"],
        "stream": False,
    }


def test_openai_is_sent_a_suffix_or_markers_and_four_stops_at_most() -> None:
    assert body_of(dialect="openai", model="m") == {
        "model": "m",
        "prompt": REQUEST.prefix,
        "suffix": REQUEST.suffix,
        "max_tokens": 64,
        "temperature": 0,
        "stop": ["\n"],
        "stream": False,
        "logprobs": 1,
    }
    marked = body_of(dialect="openai", model="m", markers="qwen")
    assert marked["prompt"] == f"<|fim_prefix|>{REQUEST.prefix}<|fim_suffix|>{REQUEST.suffix}<|fim_middle|>"
    assert "suffix" not in marked
    assert marked["stop"] == ["\n", "<|endoftext|>", "<|fim_prefix|>", "<|fim_suffix|>"]


def test_ollama_is_sent_options_and_raw_prompts_with_markers() -> None:
    assert body_of(dialect="ollama", model="qwen2.5-coder:7b-base") == {
        "model": "qwen2.5-coder:7b-base",
        "prompt": REQUEST.prefix,
        "suffix": REQUEST.suffix,
        "stream": False,
        "options": {"num_predict": 64, "temperature": 0, "stop": ["\n"]},
        "logprobs": True,
    }
    marked = body_of(dialect="ollama", model="m", markers="starcoder")
    assert marked["raw"] is True
    assert marked["prompt"].startswith("<fim_prefix>def f")


def test_llama_cpp_is_sent_both_sides_and_its_time() -> None:
    assert body_of(dialect="llama.cpp") == {
        "input_prefix": REQUEST.prefix,
        "input_suffix": REQUEST.suffix,
        "prompt": "",
        "n_predict": 64,
        "temperature": 0,
        "stop": ["\n"],
        "stream": False,
        "cache_prompt": True,
        "n_probs": 1,
        "t_max_predict_ms": 900,
    }


def test_a_gateway_is_sent_a_suffix() -> None:
    body = body_of(dialect="midspan")
    assert (body["prompt"], body["suffix"], body["model"]) == (REQUEST.prefix, REQUEST.suffix, "midspan")
    assert body["language"] == REQUEST.language_id


@pytest.mark.parametrize(("max_lines", "limit", "n_tokens"), [(1, 256, 64), (4, 256, 160), (64, 256, 256), (1, 8, 8)])
def test_the_longest_answer_follows_from_the_lines_wanted(max_lines: int, limit: int, n_tokens: int) -> None:
    request = replace(REQUEST, max_lines=max_lines)
    assert body_of(request, dialect="mercury", max_tokens=limit)["max_tokens"] == n_tokens


@pytest.mark.parametrize("name", list(DialectName))
def test_the_projects_memory_stays_here_unless_the_user_lets_it_go(name: DialectName) -> None:
    request = replace(REQUEST, neighbour="def other():\n    pass\n")
    assert "other" not in str(body_of(request, dialect=name.value, model="m"))
    assert "def other" in str(body_of(request, dialect=name.value, model="m", send_memory=True))


def test_lines_with_secrets_are_sent_empty_and_the_cursors_own_not_at_all() -> None:
    secret = 'api_key = "sk-aaaaaaaaaaaaaaaaaaaaaaaa"'
    request = replace(REQUEST, prefix=f"a = 1\n{secret}\nb = ", suffix=f"\n{secret}\nc\n")
    body = body_of(request, dialect="mercury")
    assert (body["prompt"], body["suffix"]) == ("a = 1\n\nb = ", "\n\nc\n")
    settings = BackendSettings(dialect="mercury")
    for text in (replace(REQUEST, prefix=secret), replace(REQUEST, is_private=True)):
        assert question_of(text, settings, DIALECTS[DialectName.MERCURY], with_logprobs=True, budget_ms=1) is None


@pytest.mark.parametrize("name", [name for name in MarkerName if name is not MarkerName.NONE])
def test_the_middle_is_marked_at_the_end(name: MarkerName) -> None:
    prompt = marked_prompt("PREFIX_", "SUFFIX_", name)
    assert prompt.endswith(MARKERS[name].before_middle or "PREFIX_")
    assert "PREFIX_" in prompt
    assert "SUFFIX_" in prompt


@pytest.mark.parametrize(
    "settings",
    [
        {"dialect": "openai"},
        {"dialect": "ollama"},
        {"dialect": "mercury", "markers": "qwen"},
    ],
)
def test_what_a_server_must_be_told_is_asked_for(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"backend\."):
        dialect_of(BackendSettings(**settings))


USAGE = {"prompt_tokens": 20, "completion_tokens": 3, "total_tokens": 23}
LLAMA_PROBS = [
    {"id": 1672, "token": " *", "bytes": [32, 42], "logprob": -0.5, "top_logprobs": []},
    {"id": 294, "token": " h", "bytes": [32, 104], "logprob": -1.0, "top_logprobs": []},
]
ANSWERS: dict[DialectName, tuple[object, bool]] = {
    DialectName.MERCURY: ({"choices": [{"text": " * h", "finish_reason": "stop"}], "usage": USAGE}, False),
    DialectName.CODESTRAL: (
        {"choices": [{"message": {"role": "assistant", "content": " * h"}, "finish_reason": "stop"}], "usage": USAGE},
        False,
    ),
    DialectName.OPENAI: (
        {"choices": [{"text": " * h", "logprobs": {"tokens": [" *", " h"], "token_logprobs": [-0.5, -1.0]}}]},
        True,
    ),
    DialectName.OLLAMA: ({"response": " * h", "done": True, "done_reason": "stop", "logprobs": LLAMA_PROBS}, True),
    DialectName.LLAMA_CPP: ({"content": " * h", "completion_probabilities": LLAMA_PROBS}, True),
}


@pytest.mark.parametrize("name", list(ANSWERS))
def test_an_answer_is_read_with_what_it_tells_of_its_probability(name: DialectName) -> None:
    body, tells = ANSWERS[name]
    candidate = candidate_of(DIALECTS[name].parse(body), LINE)
    assert candidate is not None
    assert candidate.text == " * h"
    assert is_probability_known(candidate) is tells
    assert candidate.probability == pytest.approx(math.exp(-1.5) if tells else UNKNOWN_PROBABILITY)


@pytest.mark.parametrize("name", list(DialectName))
@pytest.mark.parametrize("body", [None, [], {}, {"choices": []}, {"choices": [{"text": 3}]}, {"content": None}, "x", 7])
def test_an_answer_without_a_text_is_refused(name: DialectName, body: object) -> None:
    with pytest.raises(BadResponse, match="has no"):
        DIALECTS[name].parse(body)


KEYS = st.sampled_from(
    ["choices", "text", "message", "content", "logprobs", "tokens", "token_logprobs", "response", "usage", "data"]
)
LEAVES = st.none() | st.booleans() | st.floats() | st.text()


@given(st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner)))
def test_no_answer_fails_otherwise(body: object) -> None:
    for dialect in DIALECTS.values():
        try:
            candidate_of(dialect.parse(body), LINE)
            dialect.model_names(body)
        except BadResponse:
            pass


def test_an_unknown_probability_is_shown_unless_certainty_is_asked_for() -> None:
    assert LEAST_PROBABILITY[Eagerness.MEDIUM] <= UNKNOWN_PROBABILITY
    assert LEAST_PROBABILITY[Eagerness.LOW] > UNKNOWN_PROBABILITY


def pieces(*tokens: tuple[str, float]) -> tuple[Piece, ...]:
    return tuple(Piece(text.encode(), math.log(probability)) for text, probability in tokens)


@pytest.mark.parametrize(
    ("text", "tokens", "known"),
    [
        ("ab", [("a", 0.5), ("b", 0.5)], 0.25),
        ("ab", [("a", 0.5), ("b", 0.5), ("<end>", 0.5)], 0.125),  # the end is a part of it
        ("ab\ncd", [("a", 0.5), ("b\n", 0.5), ("cd", 0.1)], 0.25),  # what is cut off is not
        ("é", [("é", 0.5)], 0.5),
        ("ab", [("x", 0.5)], None),
        ("ab", [("a", 0.5)], None),
        ("ab", [], None),
    ],
)
def test_its_probability_is_that_of_the_tokens_that_are_kept(
    text: str, tokens: list[tuple[str, float]], known: float | None
) -> None:
    candidate = candidate_of(Answer(text, pieces=pieces(*tokens)), LINE)
    assert candidate is not None
    assert candidate.probability == pytest.approx(UNKNOWN_PROBABILITY if known is None else known)
    assert is_probability_known(candidate) == (known is not None)


def test_tokens_of_which_one_cannot_be_read_tell_nothing() -> None:
    good = {"token": "a", "logprob": -1}
    assert len(pieces_of([good, good])) == 2
    for bad in ({"token": "a"}, {"token": 3, "logprob": -1}, {"token": "a", "logprob": float("nan")}, None):
        assert pieces_of([good, bad]) == ()


@pytest.mark.parametrize(
    ("answer", "shape", "text"),
    [
        (Answer("a\nb"), LINE, "a"),
        (Answer("a\n    b\nc"), Shape(4, 4), "a\n    b"),
        (Answer("a\n    b\n    c"), Shape(2, 4), "a\n    b"),
        (Answer("a\n    b\n    c", is_cut=True), Shape(4, 4), "a\n    b"),  # its last line is only begun
        (Answer("abc", is_cut=True), LINE, "abc"),
    ],
)
def test_it_is_cut_to_the_shape(answer: Answer, shape: Shape, text: str) -> None:
    candidate = candidate_of(answer, shape)
    assert candidate is not None
    assert candidate.text == text


@pytest.mark.parametrize("text", ["", "  ", "\n\n", "\nx"])
def test_blank_answers_are_none(text: str) -> None:
    assert candidate_of(Answer(text), LINE) is None


@given(
    st.lists(st.sampled_from(["a", " ", "    ", "\t", "\n", "\r\n", "\r"]), max_size=14).map("".join),
    st.integers(1, 4),
    st.none() | st.integers(0, 9),
)
def test_the_embedded_model_ends_where_a_cut_does(text: str, max_lines: int, min_indent: int | None) -> None:
    end = find_end(text, max_lines, min_indent)
    assert cut_to_shape(text, Shape(max_lines, min_indent)) == (text if end is None else text[:end])


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        ("https://api.inceptionlabs.ai", "https://api.inceptionlabs.ai/v1/fim/completions"),
        ("https://api.inceptionlabs.ai/", "https://api.inceptionlabs.ai/v1/fim/completions"),
        ("https://api.inceptionlabs.ai/v1", "https://api.inceptionlabs.ai/v1/fim/completions"),
        ("https://api.inceptionlabs.ai/v1/fim/completions", "https://api.inceptionlabs.ai/v1/fim/completions"),
        ("http://box:8000/llm/v1/", "http://box:8000/llm/v1/fim/completions"),
        ("http://[::1]:80", "http://[::1]:80/v1/fim/completions"),
    ],
)
def test_an_address_may_be_told_with_its_path_or_without(url: str, endpoint: str) -> None:
    address = address_of(url, "/v1/fim/completions")
    assert address.endpoint == endpoint
    assert address.base + "/v1/models" == endpoint.replace("fim/completions", "models")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "box",
        "ftp://box",
        "http://",
        "http://user:sesame@box",
        "http://box?key=sesame",
        "http://box:x",
        "http://a b",
    ],
)
def test_what_is_no_address_is_refused_without_telling_it(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        address_of(url, "/infill")
    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize(
    ("host", "is_loopback"), [("127.0.0.1", True), ("[::1]", True), ("localhost", True), ("10.0.0.1", False)]
)
def test_this_machine_is_known(host: str, is_loopback: bool) -> None:
    assert address_of(f"http://{host}:1", "/infill").is_loopback is is_loopback
