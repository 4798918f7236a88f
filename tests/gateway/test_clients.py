"""Real clients ask a real gateway with the real weights."""

from __future__ import annotations

import ast
import asyncio
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from gateway_process import RunningGateway, running_gateway
from test_markers import STYLES

pytestmark = pytest.mark.weights

EXAMPLE = (Path(__file__).parents[1] / "examples" / "geometry.py").read_text(encoding="utf-8")
TYPED = "return 2 * (self.width + "
PLACE = EXAMPLE.index(TYPED) + len(TYPED)
PREFIX, SUFFIX = EXAMPLE[:PLACE], EXAMPLE[EXAMPLE.index("\n", PLACE) :]
EXPECTED = "self.height)"


PROJECT = "settings = frobnicated_settings(depth=17, labels=('north', 'south'))\n"


@pytest.fixture(scope="module")
def gateway(embedded_weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGateway]:
    """It knows a project of one file."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "app.py").write_text("import os\n\n" + PROJECT, encoding="utf-8")
    with running_gateway("--workspace", str(folder)) as gateway:
        yield gateway


def zed_request(style: str, model: str) -> dict[str, Any]:
    """As Zed's `open_ai_compatible.rs` sends it: no suffix, no temperature, always `stop`."""
    prompt = STYLES[style].replace("{p}", PREFIX).replace("{s}", SUFFIX)
    return {"model": model, "prompt": prompt, "max_tokens": 64, "stop": ["<|endoftext|>"]}


@pytest.mark.parametrize("style", STYLES)
def test_zed_is_answered_in_every_style(gateway: RunningGateway, style: str) -> None:
    with gateway.client() as client:
        answer = client.post("/v1/completions", json=zed_request(style, "anything")).json()
    assert answer["choices"][0]["text"] == EXPECTED
    assert answer["model"] == "anything"
    # Zed parses no answer that lacks one of these
    assert {"id", "object", "created", "model", "choices", "usage"} <= answer.keys()
    assert set(answer["usage"]) == {"prompt_tokens", "completion_tokens", "total_tokens"}


def zeta2_prompt(excerpt_before: str, region: tuple[str, str], after: str) -> str:
    history = "<filename>edit_history\n--- a/geometry.py\n+++ b/geometry.py\n-a\n+b\n\n"
    current = f"<<<<<<< CURRENT\n{region[0]}<|user_cursor|>{region[1]}\n=======\n"
    head = f"<[fim-suffix]>{after}\n<[fim-prefix]>{history}<filename>geometry.py\n"
    return f"{head}{excerpt_before}{current}<[fim-middle]>"


def test_zeta2_gets_its_whole_region_back(gateway: RunningGateway) -> None:
    start = PREFIX.rindex("    def ")
    end = SUFFIX.index("\n", 1)
    before, region, after = PREFIX[:start], (PREFIX[start:], SUFFIX[:end]), SUFFIX[end:]
    request = {"model": "zeta2", "prompt": zeta2_prompt(before, region, after), "max_tokens": 2, "stop": []}
    with gateway.client() as client:
        text = client.post("/v1/completions", json=request).json()["choices"][0]["text"]
    assert text == region[0] + EXPECTED + region[1] + "\n>>>>>>> UPDATED\n"
    ast.parse(before + text.removesuffix(">>>>>>> UPDATED\n") + after)


def test_zed_with_ollama(gateway: RunningGateway) -> None:
    prompt = STYLES["qwen"].replace("{p}", PREFIX).replace("{s}", SUFFIX)
    options = {"num_predict": 64, "temperature": 0.2, "stop": ["<|endoftext|>"]}
    request = {"model": "qwen2.5-coder:7b", "prompt": prompt, "raw": True, "stream": False, "options": options}
    with gateway.client() as client:
        answer = client.post("/api/generate", json=request).json()
    assert answer["response"] == EXPECTED
    assert answer["created_at"]


def test_zed_with_codestral(gateway: RunningGateway) -> None:
    request = {"model": "codestral-latest", "prompt": PREFIX, "suffix": SUFFIX, "max_tokens": 150, "temperature": 0.2}
    with gateway.client(headers={"Authorization": "Bearer any"}) as client:
        answer = client.post("/v1/fim/completions", json={**request, "top_p": 1.0, "stream": False}).json()
    (choice,) = answer["choices"]
    assert choice["message"] == {"role": "assistant", "content": EXPECTED}
    assert (choice["index"], choice["finish_reason"]) == (0, "stop")
    assert {"id", "object", "model", "created", "usage"} <= answer.keys()


def test_mercurys_clients_read_the_text(gateway: RunningGateway) -> None:
    request = {"model": "mercury-edit-2", "prompt": PREFIX, "suffix": SUFFIX, "presence_penalty": 0, "stop": ["\n\n\n"]}
    with gateway.client() as client:
        assert client.post("/v1/fim/completions", json=request).json()["choices"][0]["text"] == EXPECTED


def test_the_openai_client(gateway: RunningGateway) -> None:
    import openai

    with openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="any") as client:
        assert [model.id for model in client.models.list()] == ["midspan"]
        whole = client.completions.create(model="midspan", prompt=PREFIX, suffix=SUFFIX, max_tokens=64, temperature=0)
        assert whole.choices[0].text == EXPECTED
        assert whole.choices[0].finish_reason == "stop"
        assert whole.usage is not None
        assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens
        chunks = list(client.completions.create(model="midspan", prompt=PREFIX, suffix=SUFFIX, stream=True))
        assert "".join(chunk.choices[0].text for chunk in chunks) == EXPECTED
        assert chunks[-1].choices[0].finish_reason == "stop"
        cut = client.completions.create(model="midspan", prompt=PREFIX, suffix=SUFFIX, max_tokens=3)
        assert (cut.choices[0].text, cut.choices[0].finish_reason) == ("self.height", "length")
        ended = client.completions.create(model="midspan", prompt=PREFIX, suffix=SUFFIX, stop=[".h", ")"])
        assert ended.choices[0].text == "self"
        with pytest.raises(openai.BadRequestError):
            client.completions.create(model="midspan", prompt=PREFIX, n=3)


def test_drafts_come_into_focus_without_changing_the_text(gateway: RunningGateway) -> None:
    import openai

    prefix = PREFIX.replace("self.width + ", "self.width - ")  # not known from before
    with openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="any") as client:
        chunks = list(
            client.completions.create(
                model="midspan", prompt=prefix, suffix=SUFFIX, stream=True, extra_body={"drafts": True}
            )
        )
    drafts = [chunk.model_extra["midspan"] for chunk in chunks if chunk.model_extra and "midspan" in chunk.model_extra]
    assert drafts
    assert [one["n_forwards"] for one in drafts] == sorted(one["n_forwards"] for one in drafts)
    text = "".join(chunk.choices[0].text for chunk in chunks)
    assert text
    assert all(chunk.choices[0].text == "" for chunk in chunks if "midspan" in (chunk.model_extra or {}))


def test_the_ollama_client(gateway: RunningGateway) -> None:
    import ollama

    with ollama.Client(host=gateway.url) as client:
        assert [model.model for model in client.list().models] == ["midspan"]
        assert client.show("midspan").capabilities == ["completion", "insert"]
        whole = client.generate(model="midspan", prompt=PREFIX, suffix=SUFFIX, options={"num_predict": 64})
        assert (whole.response, whole.done, whole.done_reason) == (EXPECTED, True, "stop")
        parts = list(client.generate(model="midspan", prompt=PREFIX, suffix=SUFFIX, stream=True))
        assert "".join(part.response for part in parts) == EXPECTED
        assert [part.done for part in parts] == [False, True]
        assert client.generate(model="midspan").done_reason == "load"
        with pytest.raises(ollama.ResponseError):
            client.generate(model="midspan", prompt="x", options={"num_predict": -7})


def test_the_mistral_client(gateway: RunningGateway) -> None:
    from mistralai.client import Mistral

    with Mistral(api_key="any", server_url=gateway.url) as client:
        whole = client.fim.complete(model="codestral-latest", prompt=PREFIX, suffix=SUFFIX, max_tokens=64)
        assert whole.choices[0].message is not None
        assert whole.choices[0].message.content == EXPECTED
        with client.fim.stream(model="codestral-latest", prompt=PREFIX, suffix=SUFFIX) as stream:
            texts = [event.data.choices[0].delta.content for event in stream]
    assert "".join(str(text) for text in texts) == EXPECTED


def llama_vim_request() -> dict[str, Any]:
    """As llama.vim's `llama#fim` sends it (2026-01)."""
    before, _, line = PREFIX.rpartition("\n")
    timings = ("prompt", "predicted")
    fields = [f"timings/{one}_{unit}" for one in timings for unit in ("n", "ms", "per_token_ms", "per_second")]
    return {
        "id_slot": 0,
        "input_prefix": before + "\n",
        "input_suffix": SUFFIX + "\n",
        "input_extra": [{"text": "x = 1\n", "time": [1, 2], "filename": "a.py"}],
        "prompt": line,
        "n_predict": 128,
        "stop": [],
        "n_indent": 8,
        "top_k": 40,
        "top_p": 0.90,
        "samplers": ["top_k", "top_p", "infill"],
        "stream": False,
        "cache_prompt": True,
        "t_max_prompt_ms": 500,
        "t_max_predict_ms": 250,
        "response_fields": ["content", *fields, "truncated", "tokens_cached"],
    }


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl, as llama.vim does")
def test_llama_vim_with_its_curl(gateway: RunningGateway) -> None:
    command = ["curl", "--silent", "--no-buffer", "--request", "POST", "--url", f"{gateway.url}/infill"]
    command += ["--header", "Content-Type: application/json", "--data", "@-"]

    def ask(request: dict[str, Any]) -> dict[str, Any]:
        done = subprocess.run(command, input=json.dumps(request), capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    answer = ask(llama_vim_request())
    assert answer["content"] == EXPECTED
    assert set(llama_vim_request()["response_fields"]) == answer.keys()
    warming = {"input_prefix": "", "input_suffix": "", "input_extra": [], "prompt": "", "n_predict": 0, "samplers": []}
    assert ask({**warming, "temperature": 0.0, "stream": False, "response_fields": [""]}) == {}


def test_infill_streams_as_llama_cpp_does(gateway: RunningGateway) -> None:
    request = {"input_prefix": PREFIX, "input_suffix": SUFFIX, "stream": True}
    with gateway.client() as client:
        text = client.post("/infill", json=request).text
    events = [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line]
    assert "".join(event["content"] for event in events) == EXPECTED
    assert [event["stop"] for event in events] == [False, True]


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_curl_without_a_content_type(gateway: RunningGateway) -> None:
    body = json.dumps({"prompt": PREFIX, "suffix": SUFFIX})
    done = subprocess.run(["curl", "-s", f"{gateway.url}/api/generate", "-d", body], capture_output=True, check=True)
    first, last = done.stdout.decode().splitlines()
    assert json.loads(first)["response"] == EXPECTED
    assert json.loads(last)["done"] is True


def test_when_the_client_goes_the_model_stops_within_a_forward(gateway: RunningGateway) -> None:
    """Among many questions, so that it is at any point of the work."""
    host, _, port = gateway.url.removeprefix("http://").partition(":")
    before = gateway.metric("midspan_clients_gone_total")
    n, began_s = 6, time.monotonic()
    for number in range(n):
        body = json.dumps({"prompt": f"# {number}\n" + EXAMPLE * 3 + PREFIX, "suffix": SUFFIX}).encode()
        with socket.create_connection((host, int(port))) as connection:
            head = f"POST /v1/completions HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n\r\n"
            connection.sendall(head.encode() + body)
            time.sleep(0.1 * number)
    gateway.wait_for_metric("midspan_clients_gone_total", before + n)
    gateway.wait_for_metric("midspan_requests_working", 0)
    one_s = (time.monotonic() - began_s) / n
    forwards = gateway.metric("midspan_forwards_total")
    time.sleep(2 * one_s)
    assert gateway.metric("midspan_forwards_total") == forwards, "it goes on for nobody"
    with gateway.client() as client:
        assert client.post("/v1/completions", json=zed_request("qwen", "m")).status_code == 200


def test_the_projects_text_counts_where_a_folder_is_given(gateway: RunningGateway) -> None:
    typed = "import sys\n\nsettings = frobnicated_settings("
    with gateway.client() as client:
        answer = client.post("/v1/completions", json={"prompt": typed, "suffix": "\n", "path": "other.py"}).json()
    assert typed.rsplit("\n", maxsplit=1)[-1] + answer["choices"][0]["text"] == PROJECT.rstrip("\n")


async def test_independent_clients_of_one_document_both_get_their_answer(gateway: RunningGateway) -> None:
    import httpx

    async with httpx.AsyncClient(base_url=gateway.url, timeout=60, trust_env=False) as client:
        requests = [{"prompt": PREFIX[:-cut], "suffix": SUFFIX, "max_tokens": 64} for cut in (3, 8)] * 2
        answers = await asyncio.gather(*(client.post("/v1/completions", json=one) for one in requests))
    texts = [answer.json()["choices"][0]["text"] for answer in answers]
    assert all(texts)
    assert texts[:2] == texts[2:]
