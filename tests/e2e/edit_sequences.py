"""Sequences of edits against a model of LSP's text. As a program it checks many: `edit_sequences.py 100000`.

Each sequence has a start, an encoding, line ends and some notifications of one or more changes; at its end the server
is asked for its text.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import raw_client
from raw_client import TRANSPORTS, RawClient, Transport
from text_model import ENCODINGS, Encoding, TextModel, random_edit, random_text

AT_ONCE = 100
MOST_EDITS = 8
ENDS = ("\n", "\r\n", "\r", None)
"""None: all of them in one text."""


@dataclass
class Sequences:
    """Checks sequences with one server, which counts in one encoding."""

    client: RawClient
    draw: random.Random
    encoding: Encoding
    n_edits: int = 0

    async def check(self, n_sequences: int) -> None:
        """Sends some at once, then compares them.

        Raises:
            AssertionError: a text is another one.
        """
        texts = [self._send(f"text{number}.py", ENDS[number % len(ENDS)]) for number in range(n_sequences)]
        asked = [self.client.ask_completion(f"text{number}.py") for number in range(n_sequences)]
        for number, (msg_id, wanted) in enumerate(zip(asked, texts, strict=True)):
            result = (await self.client.response(msg_id))["result"]
            assert result is not None, (number, wanted)
            assert json.loads(result["items"][0]["insertText"]) == wanted
            self.client.notify("textDocument/didClose", {"textDocument": {"uri": f"file:///text{number}.py"}})

    def _send(self, name: str, end: str | None) -> str:
        """One sequence; the text at its end."""
        draw, model = self.draw, TextModel(random_text(self.draw, 20, end), self.encoding)
        self.client.open(name, model.text)
        for version in range(draw.randint(1, MOST_EDITS)):
            changes = [random_edit(draw, model, end) for _ in range(draw.choice([1, 1, 1, 2, 3]))]
            self.client.change(name, version, *changes)
            self.n_edits += len(changes)
        return model.text


async def check_sequences(
    command: Sequence[str], seed: str, n_sequences: int, transport: Transport = "stdio"
) -> Counter[str]:
    """Checks so many, in turn in each encoding; how many edits there were, by encoding.

    Raises:
        AssertionError: the server has another text than the editor.
        TimeoutError: it hangs.
    """
    n_edits: Counter[str] = Counter()
    for index, encoding in enumerate(ENCODINGS):
        left = n_sequences * (index + 1) // len(ENCODINGS) - n_sequences * index // len(ENCODINGS)
        async with RawClient(command, transport=transport) as client:
            await client.initialize(capabilities={"general": {"positionEncodings": [encoding]}})
            client.open("loaded.py")
            while (await client.complete("loaded.py"))["result"] is None:
                pass
            sequences = Sequences(client, random.Random(f"{seed} {encoding}"), encoding)
            while left:
                await sequences.check(min(left, AT_ONCE))
                left -= min(left, AT_ONCE)
            n_edits[encoding] = sequences.n_edits
    return n_edits


def main() -> None:
    """Checks many, and prints how many."""
    from conftest import FAKE_COMMAND

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("n_sequences", type=int)
    parser.add_argument("seed", nargs="?", default="edits")
    parser.add_argument("--transport", choices=TRANSPORTS, default="stdio")
    given = parser.parse_args()
    raw_client.TIMEOUT_S = 60.0  # others may be at work on this machine
    began_s = time.monotonic()
    n_edits = asyncio.run(check_sequences(FAKE_COMMAND, given.seed, given.n_sequences, given.transport))
    seconds = round(time.monotonic() - began_s)
    print(json.dumps({"sequences": given.n_sequences, "edits": n_edits, "all_the_same": True, "seconds": seconds}))


if __name__ == "__main__":
    main()
