"""What clients are sent, by dialect. Each has every field that its clients insist on."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

Finish = Literal["stop", "length"]


class Usage(BaseModel):
    """About how many tokens: a word, a run of blanks or a sign counts as one."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0


class Draft(BaseModel):
    """A middle while it comes into focus; what is still masked is a light shade, `░`."""

    draft: str
    n_forwards: int


class CompletionChoice(BaseModel):
    """OpenAI's; `probability` is Midspan's own: of the whole middle's being right, even if it was cut."""

    text: str
    index: int = 0
    logprobs: None = None
    finish_reason: Finish | None = None
    probability: float | None = None


class Completion(BaseModel):
    """OpenAI's, whole or as an event; `midspan` only where drafts are wanted."""

    id: str
    object: Literal["text_completion"] = "text_completion"
    created: int
    model: str
    choices: list[CompletionChoice]
    usage: Usage | None = None
    midspan: Draft | None = None


class FimMessage(BaseModel):
    """Codestral's middle."""

    role: Literal["assistant"] = "assistant"
    content: str


class FimChoice(BaseModel):
    """For Codestral's clients `message`, in events `delta`; for Mercury's `text`."""

    index: int = 0
    text: str
    message: FimMessage | None = None
    delta: FimMessage | None = None
    finish_reason: Finish | None = None


class FimCompletion(BaseModel):
    """Codestral's and Mercury's in one."""

    id: str
    object: Literal["chat.completion", "chat.completion.chunk"] = "chat.completion"
    created: int
    model: str
    choices: list[FimChoice]
    usage: Usage | None = None
    midspan: Draft | None = None


class Generated(BaseModel):
    """Ollama's, whole or as a line; durations in nanoseconds."""

    model: str
    created_at: str
    response: str
    done: bool
    done_reason: Literal["stop", "length", "load"] | None = None
    context: list[int] | None = None
    total_duration: int | None = None
    load_duration: int | None = None
    prompt_eval_count: int | None = None
    prompt_eval_duration: int | None = None
    eval_count: int | None = None
    eval_duration: int | None = None
    midspan: Draft | None = None


class Timings(BaseModel):
    """llama.cpp's: what was encoded and what was predicted."""

    prompt_n: int
    prompt_ms: float
    prompt_per_token_ms: float
    prompt_per_second: float
    predicted_n: int
    predicted_ms: float
    predicted_per_token_ms: float
    predicted_per_second: float


class Infilled(BaseModel):
    """llama.cpp's, whole, in part or as an event."""

    index: int = 0
    content: str = ""
    stop: bool = True
    model: str = ""
    tokens_predicted: int = 0
    tokens_evaluated: int = 0
    tokens_cached: int = 0
    truncated: bool = False
    stop_type: Literal["none", "eos", "limit"] = "none"
    stopping_word: str = ""
    timings: Timings | None = None
    midspan: Draft | None = None


class Model(BaseModel):
    """One of `/v1/models`."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str = "midspan"


class Models(BaseModel):
    """`/v1/models`."""

    object: Literal["list"] = "list"
    data: list[Model]


class TagDetails(BaseModel):
    """What Ollama's clients show of a model."""

    parent_model: str = ""
    format: str = "safetensors"
    family: str = "midspan"
    families: list[str] = ["midspan"]
    parameter_size: str = "135M"
    quantization_level: str = ""


class Tag(BaseModel):
    """One of `/api/tags`."""

    name: str
    model: str
    modified_at: str
    size: int = 0
    digest: str = ""
    details: TagDetails = TagDetails()


class Tags(BaseModel):
    """`/api/tags`."""

    models: list[Tag]


class Shown(BaseModel):
    """`/api/show`."""

    modelfile: str = ""
    parameters: str = ""
    template: str = "{{ .Prompt }}{{ .Suffix }}"
    details: TagDetails = TagDetails()
    model_info: dict[str, str] = {}
    capabilities: list[str] = ["completion", "insert"]


class Version(BaseModel):
    """`/api/version`."""

    version: str


class Health(BaseModel):
    """`/health`."""

    status: Literal["ok", "loading model"]
