"""A remote backend that is left alone while it fails."""

from __future__ import annotations

from midspan_lsp.backends.base import Capabilities, InfillBackend, ReportProgress
from midspan_lsp.backends.breaker import Breaker
from midspan_lsp.backends.notices import Notices
from midspan_lsp.errors import InfillError
from midspan_lsp.types import CancellationToken, InfillRequest, InfillResponse, InfillStats, StepObserver


class GuardedBackend:
    """Answers as the backend does; while that is left alone, with its last error.

    Args:
        backend: a remote one.
        notices: told when the backend is back.
        breaker: says when it is left alone.
    """

    def __init__(self, backend: InfillBackend, notices: Notices, breaker: Breaker | None = None) -> None:
        self._backend, self._notices = backend, notices
        self._breaker = breaker or Breaker()

    @property
    def capabilities(self) -> Capabilities:
        """The backend's."""
        return self._backend.capabilities

    @property
    def ready(self) -> bool:
        """The backend's."""
        return self._backend.ready

    async def load(self, report: ReportProgress) -> None:
        """The backend's."""
        await self._backend.load(report)

    async def infill(
        self, request: InfillRequest, token: CancellationToken, on_step: StepObserver | None = None
    ) -> InfillResponse:
        """Ask the backend, if it is not left alone at the moment.

        Raises:
            InfillError: it failed, now or when it was asked last.
        """
        breaker = self._breaker
        if request.is_private:  # that it refuses says nothing of the server
            return await self._backend.infill(request, token, on_step)
        if not breaker.try_pass():
            assert breaker.error is not None
            raise breaker.error
        try:
            response = await self._backend.infill(request, token, on_step)
        except InfillError as error:
            breaker.failed(error)
            raise
        except BaseException:
            breaker.abandoned()
            raise
        if token.cancelled():
            breaker.abandoned()
        elif breaker.succeeded():
            self._notices.tell(f"{self.capabilities.name} is back.")
        return response

    async def prepare(self, request: InfillRequest, token: CancellationToken) -> InfillStats:
        """The backend's."""
        return await self._backend.prepare(request, token)

    async def aclose(self) -> None:
        """The backend's."""
        await self._backend.aclose()
