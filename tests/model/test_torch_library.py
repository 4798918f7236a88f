"""Other threads go on while torch's library is loaded."""

from __future__ import annotations

import subprocess
import sys

import pytest

LEAST_TURNS = 5
CODE = """
import sys, threading, time
from midspan_model.torch_library import load_torch_library

n_turns, is_over = 0, threading.Event()

def take_turns():
    global n_turns
    while not is_over.is_set():
        n_turns += 1
        time.sleep(0.001)

threading.Thread(target=take_turns).start()
before = n_turns
loaded = load_torch_library()
after = n_turns
is_over.set()
assert "torch" not in sys.modules
import torch
assert torch.ones(2).sum() == 2
print(loaded, after - before, load_torch_library())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere torch is only imported")
def test_other_threads_go_on_meanwhile() -> None:
    told = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True).stdout.split()
    assert (told[0], told[2]) == ("True", "False")
    assert int(told[1]) >= LEAST_TURNS
