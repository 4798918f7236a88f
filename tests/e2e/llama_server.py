"""A real llama.cpp server on a port of this machine: `python llama_server.py GGUF PORT`; from the package xllamacpp."""

from __future__ import annotations

import sys
import time
from pathlib import Path

MARKS = {
    "tokenizer.ggml.fim_pre_token_id": 3,
    "tokenizer.ggml.fim_suf_token_id": 4,
    "tokenizer.ggml.fim_mid_token_id": 5,
}


def with_marks(gguf: Path, target: Path) -> None:
    """Copies a model, with the marks that `/infill` asks for: spare tokens of its vocabulary."""
    from gguf import GGUFReader, GGUFValueType, GGUFWriter
    from gguf.scripts.gguf_new_metadata import MetadataDetails, copy_with_new_metadata

    reader = GGUFReader(gguf)
    architecture = reader.get_field("general.architecture")
    assert architecture is not None
    marks = {name: MetadataDetails(GGUFValueType.UINT32, token_id) for name, token_id in MARKS.items()}
    copy_with_new_metadata(reader, GGUFWriter(target, architecture.contents()), marks, [])


def serve(gguf: Path, port: int) -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path, params.port = str(gguf), port
    params.n_ctx, params.n_parallel, params.cpuparams.n_threads, params.warmup = 2048, 2, 1, False
    params.n_batch = params.n_ubatch = 16  # it looks up often while it reads
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    while True:
        time.sleep(60)


if __name__ == "__main__":
    serve(Path(sys.argv[1]), int(sys.argv[2]))
