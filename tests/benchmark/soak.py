"""An unruly editor against one server: python tests/benchmark/soak.py [--minutes N]

Types in 20 documents, asks, cancels, closes and opens again, changes settings, and sends broken messages in between.
The server has the real engine and project memory; its model is a stand-in that answers within 30 ms with a digest of
the text before the cursor, so that the server's text can be compared with the editor's. Every request has to have
exactly one answer, and every text to be the same at the end. Prints resident memory all the while, last a line of JSON,
with the memory's growth over the last 20 minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import random
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from midspan_lsp.backends.base import Capabilities, ReportProgress
from midspan_lsp.choices import Pacing
from midspan_lsp.config import Settings
from midspan_lsp.engine.feedback import Feedback
from midspan_lsp.engine.pipeline import Engine
from midspan_lsp.engine.recall import Recall
from midspan_lsp.lsp.serve import serve
from midspan_lsp.types import (
    CancellationToken,
    Candidate,
    InfillRequest,
    InfillResponse,
    InfillStats,
    StepObserver,
)

sys.path.insert(0, str(Path(__file__).parents[1] / "e2e"))
import raw_client
from mutations import mutate
from raw_client import RawClient
from resident import SAMPLE_S, growth_kib_per_minute, plot, resident_mib
from text_model import TextModel, random_edit, random_text

N_DOCUMENTS = 20
SEEN_CHARACTERS = 100
LATENCY_S = 0.03
DELAYS_MS = (0, 20, 400)
INVOKED, AUTOMATIC = 1, 2
CODES = {None: "answered", -32800: "cancelled"}


class DigestBackend:
    """Its middle tells what it has seen."""

    ready = False
    capabilities = Capabilities("digest", can_remask=False)

    async def load(self, report: ReportProgress) -> None:
        self.ready = True

    async def infill(
        self, request: InfillRequest, token: CancellationToken, on_step: StepObserver | None = None
    ) -> InfillResponse:
        await asyncio.sleep(random.random() * LATENCY_S)
        answer = Candidate(digest(request.prefix), 1.0)
        return InfillResponse(() if token.cancelled() else (answer,), InfillStats(1))

    async def prepare(self, request: InfillRequest, token: CancellationToken) -> InfillStats:
        return InfillStats()

    async def aclose(self) -> None:
        pass


def digest(prefix: str) -> str:
    seen = prefix[-SEEN_CHARACTERS:].encode("utf-8", "surrogatepass")
    return "x" + hashlib.sha256(seen).hexdigest()[:12]


def build_engine(settings: Settings) -> Engine:
    feedback = Feedback(enabled=True, write_every_s=20.0)
    return Engine(DigestBackend(), settings, Recall(settings.memory, count=True), feedback)


class Editor:
    """The unruly one.

    Attributes:
        answers: how many each request has had, by id.
        outcomes: how often which.
    """

    def __init__(self, client: RawClient, draw: random.Random) -> None:
        self._client = client
        self._draw = draw
        self._texts: dict[str, TextModel] = {}
        self._versions: Counter[str] = Counter()
        self.answers: dict[int, int] = {}
        self.outcomes: Counter[str] = Counter()
        self._wanted: dict[int, asyncio.Future[str | None]] = {}

    async def listen(self) -> None:
        while True:
            message = await self._client.receive()
            msg_id = message.get("id")
            if "method" in message or msg_id not in self.answers:
                continue
            self.answers[msg_id] += 1
            code = message.get("error", {}).get("code")
            self.outcomes[CODES.get(code, f"error {code}")] += 1
            if future := self._wanted.pop(msg_id, None):
                result = message.get("result")
                future.set_result(result["items"][0]["insertText"] if result else None)

    def act(self, number: int) -> None:
        """One thing that an editor does, or should not do."""
        draw = self._draw
        name = f"doc{draw.randrange(N_DOCUMENTS)}.txt"
        kind = draw.random()
        if name not in self._texts:
            self._open(name)
        elif kind < 0.4:
            self._versions[name] += 1
            version = draw.choice([self._versions[name], None, 0])
            self._client.change(name, version, random_edit(draw, self._texts[name]))
        elif kind < 0.75:
            msg_id = self._ask(name, draw.randint(0, len(self._texts[name].text)), draw.choice([INVOKED, AUTOMATIC]))
            if draw.random() < 0.3:
                self._client.notify("$/cancelRequest", {"id": msg_id})
        elif kind < 0.8:
            del self._texts[name]
            self._client.notify("textDocument/didClose", {"textDocument": {"uri": f"file:///{name}"}})
        elif kind < 0.81:
            completion = {
                "max_lines": draw.randint(1, 5),
                "pacing": draw.choice(list(Pacing)),
                "delay_ms": draw.choice(DELAYS_MS),
            }
            settings = {"completion": completion, "memory": {"enabled": draw.random() < 0.8}}
            self._client.notify("workspace/didChangeConfiguration", {"settings": {"midspan": settings}})
        elif not self._would_confuse(body := mutate(draw, 10_000_000 + number)):
            self._client.send_bytes(body)

    async def compare(self) -> tuple[int, int]:
        """Asks along each text what the server has before that place; how many answers there were, and places.

        Where the answer would stand in a word, or break the syntax, there is none: it is asked a little before.

        Raises:
            AssertionError: it is something else.
        """
        self._client.notify("workspace/didChangeConfiguration", {"settings": {"midspan": {"memory": {}}}})
        n_same = n_places = 0
        for name, model in self._texts.items():
            for offset in [*range(SEEN_CHARACTERS, len(model.text), SEEN_CHARACTERS), len(model.text)]:
                n_places += 1
                for place in range(offset, max(-1, offset - SEEN_CHARACTERS), -1):
                    if found := await self._result(self._ask(name, place)):
                        assert found == digest(model.before(*self._position(model, place))), name
                        n_same += 1
                        break
        return n_same, n_places

    def _would_confuse(self, body: bytes) -> bool:
        """Whether a message would end the session, or be answered by the number of a request of ours."""
        numbers = (int(found) for found in re.findall(rb'"id": (\d{1,9})\b', body))
        return b"shutdown" in body or b'"exit"' in body[:60] or any(number in self.answers for number in numbers)

    def _open(self, name: str) -> None:
        self._texts[name] = TextModel(random_text(self._draw, 300), "utf-16")
        self._client.open(name, self._texts[name].text)

    def _ask(self, name: str, offset: int, kind: int = INVOKED) -> int:
        line, character = self._position(self._texts[name], offset)
        msg_id = self._client.ask_completion(name, line, character, kind)
        self.answers[msg_id] = 0
        return msg_id

    async def _result(self, msg_id: int) -> str | None:
        self._wanted[msg_id] = asyncio.get_running_loop().create_future()
        return await asyncio.wait_for(self._wanted[msg_id], raw_client.TIMEOUT_S)

    @staticmethod
    def _position(model: TextModel, offset: int) -> tuple[int, int]:
        for line, (units, end) in enumerate(model.lines()):
            n_characters = sum(unit != "" for unit in units)
            if offset <= n_characters:
                n_units = [place for place, unit in enumerate(units) if unit != ""]
                return line, [*n_units, len(units)][offset]
            offset -= n_characters + len(end)
            if offset < 0:  # between CR and LF
                return line, len(units)
        raise AssertionError("no such place")


async def soak(minutes: float, per_second: float, seed: str, cache: str) -> dict[str, Any]:
    command = [sys.executable, __file__, "--serve"]
    async with RawClient(command, env={**os.environ, "MIDSPAN_CACHE": cache}) as client:
        await client.initialize()
        editor = Editor(client, random.Random(seed))
        listening = asyncio.create_task(editor.listen())
        started_s, number, memory = time.monotonic(), 0, []
        while (elapsed_s := time.monotonic() - started_s) < minutes * 60:
            if elapsed_s >= SAMPLE_S * len(memory):
                memory.append(resident_mib(client.process.pid))
                print(f"{elapsed_s:6.0f} s  {number:7d} acts  {memory[-1]:6.1f} MiB", flush=True)
            editor.act(number)
            number += 1
            await client.writer.drain()
            await asyncio.sleep(max(0.0, started_s + number / per_second - time.monotonic()))
            assert not listening.done(), listening
        growth = growth_kib_per_minute(memory)
        await asyncio.sleep(1)
        n_same, n_places = await editor.compare()
        memory.append(resident_mib(client.process.pid))
        listening.cancel()
        await asyncio.wait({listening})
        n_unanswered = sum(count == 0 for count in editor.answers.values())
        n_repeated = sum(count > 1 for count in editor.answers.values())
        await client.request("shutdown")
        client.notify("exit")
        code = await client.ended()
    return {
        "acts": number,
        "requests": len(editor.answers),
        "unanswered": n_unanswered,
        "answered_twice": n_repeated,
        "outcomes": dict(editor.outcomes),
        "places": n_places,
        "places_with_the_same_text": n_same,
        "resident_mib": memory,
        "growth_kib_per_minute": growth,
        "exit_code": code,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--per-second", type=float, default=50, help="things done")
    parser.add_argument("--seed", default="soak")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--plot", metavar="FILE", help="draw resident memory over time (PNG)")
    given = parser.parse_args()
    if given.serve:
        serve(build_engine)
    raw_client.TIMEOUT_S = 60.0  # others may be at work on this machine
    with tempfile.TemporaryDirectory() as cache:
        found = asyncio.run(soak(given.minutes, given.per_second, given.seed, cache))
    print(json.dumps(found))
    if given.plot:
        plot(found["resident_mib"], given.plot)


if __name__ == "__main__":
    main()
