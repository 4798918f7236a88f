"""`midspan gateway`: the model over HTTP, for editors and tools that speak no LSP."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass, replace
from pathlib import Path

from midspan_lsp.cli.addresses import read_address
from midspan_lsp.cli.backends import N_TOGETHER, build_backend, build_replicas, check_replicas, check_sharing
from midspan_lsp.cli.progress import ProgressLine
from midspan_lsp.cli.renewing import Renewal
from midspan_lsp.config import MemorySettings, Settings
from midspan_lsp.errors import BackendUnavailable, DocumentError

_NEEDED = ("starlette", "uvicorn", "prometheus_client", "pydantic")


@dataclass(frozen=True)
class Options:
    """What the command line asks for.

    Attributes:
        listen: HOST:PORT; None: the default.
        eagerness: how likely a middle must be to be answered.
        model: a checkpoint folder; empty: the embedded model.
        workspaces: folders of projects whose text is looked at.
        allowed_hosts: names by which it may be called.
        shared: whether the model is that which all servers share.
        n_together: requests that the model works on at a time.
        replicas: of the model, as a deployment of Ray Serve: the least and the most of them; None: none.
    """

    listen: str | None = None
    eagerness: str = "always"
    model: str = ""
    workspaces: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    shared: bool = False
    n_together: int = N_TOGETHER
    replicas: tuple[int, int] | None = None


def run(options: Options) -> int:
    """Serve until interrupted.

    Raises:
        InfillError: a package is missing, the address or the token is none, or the model cannot be had.
    """
    if missing := [name for name in _NEEDED if importlib.util.find_spec(name) is None]:
        raise BackendUnavailable(
            f"the gateway needs packages that are not installed: {', '.join(missing)}",
            hint="Install Midspan with its extra: pip install 'midspan[local,gateway]'",
        )
    from midspan_lsp.engine.pipeline import Engine  # noqa: PLC0415
    from midspan_lsp.engine.recall import Recall  # noqa: PLC0415
    from midspan_lsp.gateway.serve import serve  # noqa: PLC0415
    from midspan_lsp.gateway.settings import TOKEN_VARIABLE, Address, GatewaySettings  # noqa: PLC0415

    address = Address() if options.listen is None else Address(*read_address(options.listen, "--listen"))
    gateway_settings = GatewaySettings(
        address=address,
        token=os.environ.get(TOKEN_VARIABLE, ""),
        allowed_hosts=frozenset(name.lower() for name in options.allowed_hosts),
        folders=tuple(_folder(one) for one in options.workspaces),
        n_at_once=(options.replicas or (1, 1))[1] * options.n_together + 1,
    )
    settings = Settings(memory=MemorySettings(enabled=bool(options.workspaces)))
    settings = replace(
        settings,
        model=replace(settings.model, path=options.model),
        completion=replace(settings.completion, eagerness=options.eagerness),
    )

    if options.shared:
        check_sharing()
    if options.replicas:
        check_replicas()

    def build() -> Engine:
        if options.replicas is None:
            backend = build_backend(settings, shared=options.shared, n_together=options.n_together)
            return Engine(backend, settings, Recall(settings.memory))
        replicas = build_replicas(settings, *options.replicas, options.n_together)
        engine = Engine(replicas, settings, Recall(settings.memory))

        async def renew() -> bool:
            is_new = await replicas.renew()
            await engine.apply(settings)  # what is known is the old model's
            return is_new

        Renewal(renew, _say).listen()
        return engine

    progress = ProgressLine()
    try:
        return serve(gateway_settings, build, progress, _tell)
    finally:
        progress.close()


def _tell(url: str) -> None:
    _say(f"Midspan answers on {url} (OpenAI: {url}/v1, llama.cpp: {url}/infill, Ollama: {url})")


def _say(line: str) -> None:
    print(line, flush=True)


def _folder(name: str) -> str:
    if not Path(name).is_dir():
        raise DocumentError(f"{name} is no folder", hint="Give the project's folder.")
    return str(Path(name).resolve())
