"""The settings of the group `backend`: where middles come from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from midspan_lsp.setting_fields import choice, number


class BackendKind(StrEnum):
    """Where middles come from."""

    LOCAL = "local"
    HTTP = "http"
    CASCADE = "cascade"


class DialectName(StrEnum):
    """How a remote server is asked."""

    MERCURY = "mercury"
    CODESTRAL = "codestral"
    OPENAI = "openai"
    OLLAMA = "ollama"
    LLAMA_CPP = "llama.cpp"
    MIDSPAN = "midspan"


class MarkerName(StrEnum):
    """How a model is told in one text where the middle is: by the markers it was trained with."""

    NONE = "none"
    QWEN = "qwen"
    STARCODER = "starcoder"
    CODELLAMA = "codellama"
    CODEGEMMA = "codegemma"
    CODESTRAL = "codestral"
    DEEPSEEK = "deepseek"
    GLM = "glm"
    SEEDCODER = "seedcoder"


@dataclass(frozen=True)
class BackendSettings:
    """Where middles come from. Only the user's own settings say so: neither a project nor a workspace can.

    Attributes:
        kind: local: the embedded model; http: a server; cascade: the embedded model, and the server's answer where
            that is better and in time. Nothing is sent anywhere unless this is http or cascade.
        dialect: how the server is asked: mercury, codestral, openai (`/v1/completions`), ollama, llama.cpp (`/infill`),
            midspan (another one's gateway).
        url: of the server, with or without the path; empty: where such a server usually is.
        model: its name there; empty: the dialect's usual one.
        markers: for openai and ollama: mark the place of the middle in the prompt as this family of models does,
            instead of sending a suffix. vLLM and llama.cpp pass over a suffix at `/v1/completions`.
        key_variable: the environment variable that holds the key (never the key itself); empty: the dialect's usual
            one, if it has one.
        key_service: the keyring's service that holds it, for the user `midspan`; counts over the variable.
        ca_file: certificates to trust besides the usual ones, as a PEM file.
        timeout_ms: after so long the server is waited for no more; a request's own time limit counts too.
        delay_ms: a request is sent once no newer one has come for so long.
        patience_ms: cascade: so long the server is waited for where the embedded model is not sure.
        max_tokens: most tokens of a middle.
        suffix_tokens: most tokens after the cursor that the server is shown.
        send_memory: also send lines of other files of the project that are like those before the cursor.
    """

    kind: str = choice(BackendKind.LOCAL)
    dialect: str = choice(DialectName.OPENAI)
    url: str = ""
    model: str = ""
    markers: str = choice(MarkerName.NONE)
    key_variable: str = ""
    key_service: str = ""
    ca_file: str = ""
    timeout_ms: int = number(5000, 1, 600_000)
    delay_ms: int = number(100, 0, 5000)
    patience_ms: int = number(400, 0, 10_000)
    max_tokens: int = number(256, 1, 8192)
    suffix_tokens: int = number(256, 0, 4096)
    send_memory: bool = False
