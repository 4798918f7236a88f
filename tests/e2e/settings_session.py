"""A server with a project, in the words of the cases that observe what settings do."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

from raw_client import COMPLETION, RawClient

ASKED = [sys.executable, str(Path(__file__).with_name("asked_server.py"))]
REAL = [str(Path(sys.executable).with_name("midspan")), "serve"]
PULL, STATUS = "workspace/configuration", "midspan/status"
INVOKED, AUTOMATIC = 1, 2
LOADING_TIMEOUT_S = 120
LONG = "".join(f"value_{n} = {n}\n" for n in range(2000))

Effect = Callable[[Any, Any], bool]


def switches(by_default: object, otherwise: object) -> Effect:
    """Observed are these two."""
    return lambda default, changed: (default, changed) == (by_default, otherwise)


ON, OFF = switches(False, True), switches(True, False)


class Session:
    """A server with a project, in the words of the cases."""

    def __init__(self, client: RawClient, project: Path, capabilities: dict[str, Any]) -> None:
        self.client = client
        self.project = project
        self.capabilities = capabilities
        self._numbers = count()

    def number(self) -> int:
        """Another each time: what is observed once is known to the server from then on."""
        return next(self._numbers)

    async def ask(self, text: str, name: str = "", *, after: str = "", kind: int = AUTOMATIC) -> str | None:
        """What is shown between two texts, in a new document."""
        result = (await self.client.response(self._send(text, name, after, kind)[1]))["result"]
        return result and result["items"][0]["insertText"]

    def _send(self, text: str, name: str, after: str, kind: int) -> tuple[str, int]:
        """Opens a document and asks between its texts; its uri, and the request's number."""
        uri = (self.project / (name or f"asks_{self.number()}.py")).as_uri()
        language = "plaintext" if name.endswith(".txt") else "python"
        item = {"uri": uri, "languageId": language, "version": 1, "text": text + after}
        self.client.notify("textDocument/didOpen", {"textDocument": item})
        lines = text.split("\n")
        place = {"line": len(lines) - 1, "character": len(lines[-1])}
        params = {"textDocument": {"uri": uri}, "position": place, "context": {"triggerKind": kind}}
        return uri, self.client.ask(COMPLETION, params)

    async def is_answered(self, text: str, within_s: float) -> bool:
        """Whether an automatic request is, after so long; then its document is closed."""
        uri, number = self._send(text, "", "", AUTOMATIC)
        ends_s = time.monotonic() + within_s
        while not (found := [one for one in self.client.others if one.get("id") == number and "method" not in one]):
            if time.monotonic() > ends_s:
                break
            await self.status()
            await asyncio.sleep(0.05)
        self.client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        if not found:
            await self.client.response(number)
        return bool(found)

    async def told(self, text: str, **place: Any) -> dict[str, Any]:
        """What the backend was asked then."""
        shown = await self.ask(text, **place)
        assert shown is not None
        return json.loads(shown)

    def write(self, name: str, text: str) -> None:
        """A new file of the project."""
        path = self.project / name
        path.write_text(text)
        self.client.notify("workspace/didCreateFiles", {"files": [{"uri": path.as_uri()}]})

    async def is_known(self, name: str, padding: str = "") -> bool:
        """Whether a new file is read: the call in it is proposed."""
        number = self.number()
        call, rest = f"{name}_{number} = read_{number}(", f"limit_{number}, strict=True)"
        self.write(f"{name}_{number}.py", f"{call}{rest}\n{padding}")
        await self.has_read()
        for _ in range(10):  # what was written first may be read a little later
            if rest in (await self.told(call))["proposals"]:
                return True
            await asyncio.sleep(0.2)
        return False

    async def has_read(self) -> None:
        """Waits until all that was written is read, not long: the memory may be switched off."""
        number = self.number()
        self.write(f"control_{number}.py", f"control_{number} = check_{number}(control, {number})\n")
        for _ in range(100):
            if f"control, {number})" in (await self.told(f"control_{number} = check_{number}("))["proposals"]:
                break
            await asyncio.sleep(0.1)

    async def work(self, name: str) -> int:
        """How much of something was done so far."""
        done = (await self.client.request("midspan/work"))["result"]
        return done[name] if done else 0

    async def cost(self, name: str, text: str) -> int:
        """How much of it one request takes."""
        before = await self.work(name)
        await self.ask(text, kind=INVOKED)
        return await self.work(name) - before

    async def loaded(self) -> None:
        """Waits until the model has answered once, or cannot be loaded; what is asked before is not answered."""
        async with asyncio.timeout(LOADING_TIMEOUT_S):
            while (await self.status())["state"] == "loading":  # noqa: ASYNC110  (it is asked)
                await asyncio.sleep(0.05)
            await self.ask("x = ", "loading.txt", kind=INVOKED)

    async def status(self) -> dict[str, Any]:
        """What an editor may show of the server."""
        return (await self.client.request(STATUS))["result"]

    async def change(self, told: dict[str, Any]) -> None:
        """The editor has other settings; waits until they are read."""
        self.client.answers[PULL] = [told]
        self.client.notify("workspace/didChangeConfiguration", {"settings": None})
        await self.client.message(PULL)
        await asyncio.sleep(0.3)


@asynccontextmanager
async def running(project: Path, options: dict[str, Any], *, real: bool) -> AsyncIterator[Session]:
    """The real command, or the server around a backend that tells what it is asked, once it has loaded."""
    project.mkdir()
    async with RawClient(REAL if real else ASKED) as client:
        client.answers = {PULL: [None], "client/registerCapability": None}
        folders = [{"uri": project.as_uri(), "name": "project"}]
        capabilities = {
            "workspace": {"configuration": True, "workspaceFolders": True},
            "experimental": {"midspan": {"status": True}},
        }
        answer = await client.initialize(
            capabilities=capabilities, initializationOptions=options, workspaceFolders=folders
        )
        session = Session(client, project, answer["capabilities"])
        await session.loaded()
        while any(one.get("method") == PULL for one in client.others):
            await client.message(PULL)
        yield session
