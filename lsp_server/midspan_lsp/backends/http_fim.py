"""A server elsewhere that fills middles, asked over HTTP."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from midspan_lsp.backend_settings import BackendSettings
from midspan_lsp.backends.base import Capabilities, ReportProgress
from midspan_lsp.backends.http.address import address_of
from midspan_lsp.backends.http.candidates import candidate_of
from midspan_lsp.backends.http.client import RemoteClient
from midspan_lsp.backends.http.dialects import dialect_of, question_of
from midspan_lsp.backends.http.faults import RequestRefused
from midspan_lsp.backends.http.keys import key_source, read_key
from midspan_lsp.backends.http.question import Answer
from midspan_lsp.backends.notices import Notices
from midspan_lsp.context.shape import Shape
from midspan_lsp.errors import BackendUnavailable
from midspan_lsp.types import CancellationToken, InfillRequest, InfillResponse, InfillStats, StepObserver

_LONGEST_WAIT_S = 3600.0


class HttpFimBackend:
    """One server, asked in one dialect. It is sent what stands around the cursor, and nothing before somebody asks.

    Args:
        settings: where it is and how it is asked.
        notices: told if the key goes there unencrypted.

    Raises:
        ConfigError: the settings lack something.

    Attributes:
        origin: the server's scheme, host and port.
        model: its name there; "": it has one only.
        key_source: where its key is from, for people.
        has_key: whether there is one; known once it is loaded.
    """

    def __init__(self, settings: BackendSettings, notices: Notices | None = None) -> None:
        self._settings = settings
        self._notices = notices or Notices()
        self._dialect = dialect_of(settings)
        self._address = address_of(settings.url or self._dialect.url, self._dialect.path)
        self._client: RemoteClient | None = None
        self._with_logprobs = self._dialect.gives_probability

        self.origin = self._address.origin
        self.model = settings.model or self._dialect.model
        self.key_source = key_source(settings, self._dialect.key_variable)
        self.has_key = False

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""
        return Capabilities(
            name=f"The server at {self._address.origin}",
            can_remask=False,
            gives_probability=self._dialect.gives_probability,
        )

    @property
    def ready(self) -> bool:
        """True once the key is there; whether the server is, a request shows."""
        return self._client is not None

    async def load(self, report: ReportProgress) -> None:  # noqa: ARG002
        """Read the key and the certificates."""
        if self._client is None:
            variable, is_needed = self._dialect.key_variable, self._dialect.needs_key
            key = await asyncio.to_thread(read_key, self._settings, variable, is_needed=is_needed)
            self.has_key = bool(key)
            address, ca_file = self._address, self._settings.ca_file
            self._client = await asyncio.to_thread(RemoteClient, address, key, ca_file)
            if key and not address.is_encrypted and not address.is_loopback:
                self._notices.tell(
                    f"The key and your code go to {address.origin} unencrypted: whoever is between can read."
                )

    async def infill(
        self,
        request: InfillRequest,
        token: CancellationToken,
        on_step: StepObserver | None = None,  # noqa: ARG002
    ) -> InfillResponse:
        """Ask the server, unless a newer request comes first; there are no steps to observe.

        The connection is closed as soon as `token` is cancelled.

        Raises:
            InfillError: it did not answer well, or not in time; or nothing may be sent of a private document.
        """
        if token.cancelled():
            return InfillResponse()
        loop = asyncio.get_running_loop()
        asking = loop.create_task(self._ask(request, token))

        def stop() -> None:
            if not asking.done():
                loop.call_soon_threadsafe(asking.cancel)

        token.when_cancelled(stop)
        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError:
            asking.cancel()
            await asyncio.wait({asking})  # its connection is closed by then
            if not asking.cancelled():
                asking.exception()  # nobody waits for it
            if token.cancelled() and not _is_cancelled_itself():
                return InfillResponse()
            token.cancel()
            raise

    async def prepare(self, request: InfillRequest, token: CancellationToken) -> InfillStats:  # noqa: ARG002
        """Nothing: a server is not sent what nobody has asked for."""
        return InfillStats()

    async def list_models(self) -> list[str]:
        """Names of the server's models.

        Raises:
            InfillError: it cannot be reached, or does not tell them to this key.
        """
        listed = await self._loaded().fetch(self._dialect.models_path, self._deadline_s(_LONGEST_WAIT_S))
        return self._dialect.model_names(listed)

    async def aclose(self) -> None:
        """Close all connections."""
        if self._client is not None:
            await self._client.aclose()

    def _loaded(self) -> RemoteClient:
        if self._client is None:
            raise BackendUnavailable("the remote backend is not ready yet", retryable=True)
        return self._client

    def _deadline_s(self, limit_s: float) -> float:
        return time.monotonic() + min(self._settings.timeout_ms / 1e3, limit_s)

    async def _ask(self, request: InfillRequest, token: CancellationToken) -> InfillResponse:
        client = self._loaded()
        if request.is_private:
            raise BackendUnavailable(
                "nothing of a file that looks as if it held secrets is sent to a remote server",
                hint="With `backend.kind` local it is completed on this machine.",
                retryable=True,
            )
        await asyncio.sleep(min(self._settings.delay_ms / 1e3, _limit_s(token)))
        began_s = time.monotonic()
        answer = await self._answer(client, request, self._deadline_s(_limit_s(token)))
        elapsed_ms = 1e3 * (time.monotonic() - began_s)
        if answer is None:
            return InfillResponse()
        candidate = candidate_of(answer, Shape(request.max_lines, request.min_indent))
        n_encoded = max(0, answer.n_prompt_tokens - answer.n_cached_tokens)
        stats = InfillStats(n_encoded_tokens=n_encoded, n_cached_tokens=answer.n_cached_tokens, elapsed_ms=elapsed_ms)
        return InfillResponse(() if candidate is None else (candidate,), stats)

    async def _answer(self, client: RemoteClient, request: InfillRequest, deadline_s: float) -> Answer | None:
        """The answer; one to a simpler question where the server does not take the whole one."""
        budget_ms = max(1, round(1e3 * (deadline_s - time.monotonic())))
        question = question_of(
            request, self._settings, self._dialect, with_logprobs=self._with_logprobs, budget_ms=budget_ms
        )
        if question is None:
            return None
        body = self._dialect.build(question)
        try:
            return self._dialect.parse(await client.ask(body, deadline_s))
        except RequestRefused:
            simpler = self._dialect.build(replace(question, with_logprobs=False))
            if simpler == body:
                raise
            answer = self._dialect.parse(await client.ask(simpler, deadline_s))
            self._with_logprobs = False
            return answer


def _limit_s(token: CancellationToken) -> float:
    remaining_s = token.remaining_s
    return _LONGEST_WAIT_S if remaining_s is None else remaining_s


def _is_cancelled_itself() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
