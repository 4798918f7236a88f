"""What settings choose from."""

from __future__ import annotations

from enum import StrEnum


class Eagerness(StrEnum):
    """How sure a middle must be to be shown."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    ALWAYS = "always"


class Pacing(StrEnum):
    """How long an automatic request waits for the next key before the model is asked."""

    NONE = "none"
    ADAPTIVE = "adaptive"
    FIXED = "fixed"


class Device(StrEnum):
    """Where a bigger checkpoint computes."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"
    MPS = "mps"


class Weights(StrEnum):
    """How a bigger checkpoint's weights are kept."""

    AUTO = "auto"
    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"
    INT8 = "int8"


class Policy(StrEnum):
    """Which slots are committed after a forward."""

    THRESHOLD = "threshold"
    FACTOR = "factor"
    ENTROPY = "entropy"
    MARGIN = "margin"
    KLASS = "klass"
    WINO = "wino"
    REMDM = "remdm"


class Length(StrEnum):
    """How a bigger checkpoint's middles get their length."""

    AUTO = "auto"
    FIXED = "fixed"
    SEARCHED = "searched"
    DENSITY = "density"
