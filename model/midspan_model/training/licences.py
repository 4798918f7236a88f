"""Which licence a text is, as far as the permissive ones go. Pure."""

from __future__ import annotations

import re

LICENCE_FILE = re.compile(r"(?i)^(licen[cs]e|copying|unlicense)([-._].*)?$")
_MARKS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Apache-2.0", ("apache license", "version 2.0")),
    ("MPL-2.0", ("mozilla public license", "2.0")),
    ("ISC", ("permission to use, copy, modify, and/or distribute this software", "the above copyright notice")),
    ("MIT", ("permission is hereby granted, free of charge", "without restriction")),
    ("BSD", ("redistribution and use in source and binary forms", "with or without modification")),
)
_NOT_PERMISSIVE = re.compile(
    r"gnu (affero |lesser |library )?general public license|server side public license|commons clause|"
    r"business source license|non-?commercial"
)
_SPACE = re.compile(r"\s+")


def detect_licence(text: str) -> str | None:
    """The permissive licence whose own words a text has; None if it has none, or words of a licence that is not."""
    words = _SPACE.sub(" ", text.lower()).replace("and / or", "and/or")
    name = next((name for name, marks in _MARKS if all(mark in words for mark in marks)), None)
    # the MPL names the GNU licences as secondary ones
    return None if name != "MPL-2.0" and _NOT_PERMISSIVE.search(words) else name


def detect_all(texts: list[str]) -> str | None:
    """The licence of a repository with these licence files; None unless each one is permissive."""
    names = [detect_licence(text) for text in texts]
    return " OR ".join(sorted({name for name in names if name})) if names and all(names) else None
