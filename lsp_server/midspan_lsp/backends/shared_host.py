"""The process that has the model which the servers of one user share: it comes when needed and goes with the last."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable

from filelock import FileLock, Timeout

from midspan_lsp.backends.base import InfillBackend, LoadProgress
from midspan_lsp.backends.shared_folder import Meeting
from midspan_lsp.backends.shared_wire import MOST_BYTES, Ask, Tell, WireError, failure_of, read_ask, write
from midspan_lsp.errors import InfillError
from midspan_lsp.types import CancellationToken, SlotView

logger = logging.getLogger(__name__)

FIRST_CLIENT_S = 30.0
"""A host that nobody has come to by then ends."""
LINGER_S = 3.0
"""After the last has left: an editor that is started again finds the model loaded."""


class Host:
    """Serves one backend to whoever connects. Belongs to one event loop.

    Args:
        backend: the model's.
        linger_s: how long it stays after the last client has left.
    """

    def __init__(self, backend: InfillBackend, linger_s: float = LINGER_S) -> None:
        self._backend, self._linger_s = backend, linger_s
        self._loading: asyncio.Task[None] | None = None
        self._clients: set[Client] = set()
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        self._timer = self._loop.call_later(FIRST_CLIENT_S, self._over.set)

    async def serve(self, meeting: Meeting) -> None:
        """Until the last client has left; the caller holds the lock."""
        meeting.socket.unlink(missing_ok=True)  # of a host that was killed
        server = await asyncio.start_unix_server(self._connected, meeting.socket, limit=MOST_BYTES)
        meeting.socket.chmod(0o600)
        try:
            await self._over.wait()
        finally:
            meeting.socket.unlink(missing_ok=True)  # nobody is to come any more
            server.close()
            await self._backend.aclose()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = Client(self, self._backend, writer)
        self._clients.add(client)
        self._timer.cancel()
        try:
            while not self._over.is_set() and (line := await reader.readline()):
                client.ask(read_ask(line))
        except OSError as error:
            logger.info("a client's connection broke: %s", error)
        except (WireError, ValueError) as error:
            logger.warning("a client is let go: %s", error)
        finally:
            client.gone()
            self._clients.discard(client)
            if not self._clients:
                self._timer = self._loop.call_later(self._linger_s, self._over.set)
            writer.close()

    async def load(self) -> None:
        """Load the backend once, whoever asks first; all that wait are told how it goes.

        Raises:
            InfillError: it cannot be loaded.
        """
        if self._loading is None or (self._loading.done() and not self._backend.ready):
            self._loading = self._loop.create_task(self._backend.load(self._report))
        await asyncio.shield(self._loading)

    def _report(self, progress: LoadProgress) -> None:
        def tell() -> None:
            for client in self._clients:
                client.tell_progress(progress)

        self._loop.call_soon_threadsafe(tell)


class Client:
    """One server, as the host sees it."""

    def __init__(self, host: Host, backend: InfillBackend, writer: asyncio.StreamWriter) -> None:
        self._host, self._backend, self._writer = host, backend, writer
        self._loop = asyncio.get_running_loop()
        self._tokens: dict[int, CancellationToken] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._waits_for_load: int | None = None

    def ask(self, ask: Ask) -> None:
        """Begin what is wanted."""
        if ask.kind == "cancel":
            if token := self._tokens.get(ask.id):
                token.cancel()
            return
        token = self._tokens[ask.id] = CancellationToken(ask.timeout_s)
        task = self._loop.create_task(self._answer(ask, token))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def gone(self) -> None:
        """Nobody waits for anything any more."""
        for token in self._tokens.values():
            token.cancel()
        for task in self._tasks:
            task.cancel()

    def tell_progress(self, progress: LoadProgress) -> None:
        """How the loading goes, if it is waited for."""
        if self._waits_for_load is not None:
            self._tell(Tell(self._waits_for_load, "progress", progress.message, progress.percentage))

    async def _answer(self, ask: Ask, token: CancellationToken) -> None:
        try:
            self._tell(await self._work(ask, token))
        except Exception as error:
            if not isinstance(error, InfillError):
                logger.exception("a request failed")
            self._tell(Tell(ask.id, "failed", failure=failure_of(error)))
        finally:
            self._tokens.pop(ask.id, None)

    async def _work(self, ask: Ask, token: CancellationToken) -> Tell:
        if ask.kind == "load":
            self._waits_for_load = ask.id
            try:
                await self._host.load()
            finally:
                self._waits_for_load = None
            return Tell(ask.id, "loaded")
        if ask.kind == "hello":
            return Tell(ask.id, "hello")
        if ask.request is None:
            raise WireError("a request is missing")
        if ask.kind == "prepare":
            return Tell(ask.id, "prepared", stats=await self._backend.prepare(ask.request, token))
        observer = self._observer(ask.id) if ask.wants_steps else None
        return Tell(ask.id, "infilled", response=await self._backend.infill(ask.request, token, observer))

    def _observer(self, number: int) -> Callable[[int, tuple[SlotView, ...]], None]:
        def on_step(n_forwards: int, slots: tuple[SlotView, ...]) -> None:
            tell = Tell(number, "step", n_forwards=n_forwards, slots=slots)
            self._loop.call_soon_threadsafe(self._tell, tell)

        return on_step

    def _tell(self, tell: Tell) -> None:
        if not self._writer.is_closing():
            self._writer.write(write(tell))


def host(build: Callable[[], InfillBackend], meeting: Meeting, linger_s: float = LINGER_S) -> bool:
    """Be the host, until the last client has left; false if there is one already."""
    lock = FileLock(meeting.lock, mode=0o600)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return False

    async def serve() -> None:
        await Host(build(), linger_s).serve(meeting)

    try:
        asyncio.run(serve())
    finally:
        with contextlib.suppress(OSError):
            lock.release()
    return True
