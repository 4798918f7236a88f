"""torch's own library, loaded before torch is imported."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from pathlib import Path


def load_torch_library() -> bool:
    """Have the system load it while Python's other threads go on; whether it has.

    An import holds Python's lock while the library's hundreds of megabytes are bound: a quarter of a second of
    processor time, a second on a busy machine, in which a server's event loop would stand still. A call of a C function
    does not hold it. Elsewhere than on Linux, or where the library is another one, the import does it all as ever.
    """
    if sys.platform != "linux" or "torch" in sys.modules:
        return False
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return False
    library = Path(spec.origin).parent / "lib" / "libtorch_cpu.so"
    if not library.is_file():
        return False
    load = ctypes.CDLL(None).dlopen
    load.restype, load.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_int]
    return bool(load(os.fsencode(library), os.RTLD_NOW))
