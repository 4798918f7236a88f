"""What a backend has to tell a person between answers: that a server went away, and that it is back."""

from __future__ import annotations

from collections.abc import Callable


class Notices:
    """Passes on each text once; those that come before anybody listens are kept. Belongs to one event loop."""

    def __init__(self) -> None:
        self._told: dict[str, None] = {}
        self._listener: Callable[[str], None] | None = None

    def listen(self, listener: Callable[[str], None]) -> None:
        """Have all texts told, those of before too."""
        self._listener = listener
        for text in self._told:
            listener(text)

    def tell(self, text: str) -> None:
        """Tell a text, unless it was told before."""
        if text not in self._told:
            self._told[text] = None
            if self._listener is not None:
                self._listener(text)
