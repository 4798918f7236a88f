"""Loading a model does not draw first weights: torch would import its compiler for it, which holds up whoever waits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import torch
from midspan_model.blank import blank_modules
from torch import nn

CODE = """
import sys
from pathlib import Path
from midspan_model.checkpoints import load_infiller
from midspan_model.config import DenoiseConfig
load_infiller(Path(sys.argv[1]), DenoiseConfig())
print(*sorted({"sympy", "torch._dynamo", "torch._inductor"} & sys.modules.keys()))
"""


def test_a_model_is_loaded_without_torchs_compiler(tiny_checkpoint: Path) -> None:
    command = [sys.executable, "-c", CODE, str(tiny_checkpoint)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == ""


def test_modules_have_shapes_and_no_weights_and_others_are_as_ever() -> None:
    with blank_modules():
        linear, embedding = nn.Linear(3, 2), nn.Embedding(5, 4)
    assert linear.weight.is_meta
    assert embedding.weight.shape == (5, 4)
    assert nn.init.ones_(torch.zeros(2)).tolist() == [1, 1]
