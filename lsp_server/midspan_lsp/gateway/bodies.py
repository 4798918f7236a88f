"""What clients send, by dialect. What is not named here is allowed and means nothing.

A middle is the likeliest one, so what tells others how to choose at random (`temperature`, `top_p`, `seed`) has no
effect; it is checked where it is named, and so are the things that cannot be had.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema


def _whole(value: object) -> object:
    """An integer that is written `64.0`, as some languages write all numbers, is one in JSON."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _refuse(value: bool) -> bool:
    if value:
        raise ValueError("cannot be had")
    return value


_Whole = BeforeValidator(_whole)
_One = Annotated[int, Field(ge=1, le=1), _Whole] | None
_No = Annotated[bool, AfterValidator(_refuse), WithJsonSchema({"type": "boolean", "const": False})] | None
_Stop = str | Annotated[list[str], Field(max_length=64)] | None
_Temperature = Annotated[float, Field(ge=0, le=2)] | None


class Body(BaseModel):
    """What all dialects have; the last three are Midspan's own.

    Attributes:
        model: any name; it is answered with the same.
        path: of the file, which tells its language.
        language: the editor's id of its language.
        drafts: a stream shows the middle while it comes into focus.
    """

    model_config = ConfigDict(strict=True, extra="ignore")

    model: str = "midspan"
    path: Annotated[str, Field(max_length=4096)] | None = None
    language: Annotated[str, Field(max_length=64)] | None = None
    drafts: bool | None = None


class CompletionBody(Body):
    """OpenAI's `/v1/completions`: a prompt with marks around prefix and suffix, or `suffix`."""

    prompt: str | Annotated[list[str], Field(min_length=1, max_length=1)]
    suffix: str | None = None
    max_tokens: Annotated[int, Field(ge=0), _Whole] | None = None
    stop: _Stop = None
    stream: bool | None = None
    temperature: _Temperature = None
    n: _One = None
    best_of: _One = None
    echo: _No = None


class FimBody(Body):
    """`/v1/fim/completions` of Codestral and Mercury."""

    prompt: str
    suffix: str | None = None
    max_tokens: Annotated[int, Field(ge=0), _Whole] | None = None
    stop: _Stop = None
    stream: bool | None = None
    temperature: _Temperature = None


class OllamaOptions(BaseModel):
    """Those of Ollama's options that mean something; -1 and -2 tokens: as many as it takes."""

    model_config = ConfigDict(strict=True, extra="ignore")

    num_predict: Annotated[int, Field(ge=-2), _Whole] | None = None
    stop: _Stop = None
    temperature: _Temperature = None


class GenerateBody(Body):
    """Ollama's `/api/generate`; it streams unless told not to."""

    prompt: str | None = None
    suffix: str | None = None
    options: OllamaOptions | None = None
    stream: bool | None = None
    raw: bool | None = None


class ShowBody(BaseModel):
    """Ollama's `/api/show`."""

    model_config = ConfigDict(strict=True, extra="ignore")

    model: str = "midspan"


class InfillBody(Body):
    """llama.cpp's `/infill`; `prompt` stands between the prefix and the cursor."""

    input_prefix: str = ""
    input_suffix: str = ""
    prompt: str | None = None
    n_predict: Annotated[int, Field(ge=-2), _Whole] | None = None
    stop: _Stop = None
    stream: bool | None = None
    temperature: Annotated[float, Field(ge=0)] | None = None
    response_fields: Annotated[list[str], Field(max_length=64)] | None = None
