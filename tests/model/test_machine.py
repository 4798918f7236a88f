"""What the process asks of its machine."""

from __future__ import annotations

import platform
import re
import subprocess
import sys

import pytest

N_BLOCKS, BLOCK_BYTES = 2000, 60_000
"""Small enough to lie in the C library's heap."""


def test_freed_memory_is_given_back() -> None:
    if sys.platform != "linux" or platform.libc_ver()[0] != "glibc":
        pytest.skip("not with this C library")
    script = (
        "import re, torch\n"
        "from midspan_model.machine import give_back_memory\n"
        "def anon_kb(): return int(re.search(r'RssAnon:\\s+(\\d+)', open('/proc/self/status').read())[1])\n"
        f"blocks = [torch.ones({BLOCK_BYTES // 4}) for _ in range({N_BLOCKS})]\n"
        "last = blocks.pop()\n"  # what lies above the rest keeps the heap from shrinking by itself
        "del blocks\n"
        "before = anon_kb()\n"
        "give_back_memory()\n"
        "print(before - anon_kb())\n"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=True)
    assert int(re.findall(r"-?\d+", done.stdout)[-1]) > N_BLOCKS * BLOCK_BYTES / 1024 / 2
