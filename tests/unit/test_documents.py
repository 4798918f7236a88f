"""Positions and offsets, against Python's own encoders."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from midspan_lsp.documents import LineIndex, PositionEncoding, path_of

ENCODINGS: list[PositionEncoding] = ["utf-8", "utf-16", "utf-32"]
CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
# every kind of width, and the characters at which `str.splitlines` splits but an editor does not
texts = st.text(st.sampled_from("ab é\u2028\x0c\x0b\x85\x1c世😀\r\n\n\r"), max_size=40)


def width(text: str, encoding: PositionEncoding) -> int:
    codec, unit = CODECS[encoding]
    return len(text.encode(codec)) // unit


@given(texts, st.sampled_from(ENCODINGS), st.data())
def test_position_of_every_offset_leads_back(text: str, encoding: PositionEncoding, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(text)))
    index = LineIndex(text)
    line, column = index.position(offset, encoding)
    back = index.offset(line, column, encoding)
    inside_crlf = text[max(offset - 1, 0) : offset + 1] == "\r\n"
    assert back == (offset - 1 if inside_crlf else offset)


@given(texts, st.sampled_from(ENCODINGS))
def test_columns_agree_with_the_encoder(text: str, encoding: PositionEncoding) -> None:
    index = LineIndex(text)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert index.n_lines == len(lines)
    for number, line in enumerate(lines):
        start, end = index.line_span(number)
        assert text[start:end] == line
        assert index.position(end, encoding) == (number, width(line, encoding))
        assert index.offset(number, width(line, encoding), encoding) == end


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    ("text", "line", "column", "offset"),
    [
        ("", 0, 0, 0),
        ("", 5, 5, 0),
        ("abc", 0, 10, 3),
        ("abc\n", 0, 10, 3),
        ("abc\r\nde", 0, 10, 3),
        ("abc\r\nde", 1, 1, 6),
        ("abc\r\nde", 9, 0, 7),
        ("abc", -1, 0, 0),
        ("abc", 0, -3, 0),
        ("a\x0cb\nsecond\n", 1, 0, 4),
        ("a\u2028b\rc", 1, 1, 5),
    ],
)
def test_known_places(text: str, line: int, column: int, offset: int, encoding: PositionEncoding) -> None:
    assert LineIndex(text).offset(line, column, encoding) == offset


def test_a_column_within_a_character_is_its_start() -> None:
    assert LineIndex("a😀b").offset(0, 2, "utf-16") == 1
    assert LineIndex("a😀b").offset(0, 4, "utf-8") == 1
    assert LineIndex("a😀b").offset(0, 3, "utf-16") == 2


def test_a_line_of_megabytes_is_counted_at_once() -> None:
    text = "é😀ab" * 1_000_000
    index = LineIndex(text)
    began_s = time.perf_counter()
    assert index.offset(0, 2_500_003, "utf-16") == 2_000_002
    assert index.position(2_000_002, "utf-16") == (0, 2_500_003)
    assert time.perf_counter() - began_s < 1.0


@pytest.mark.parametrize(
    ("uri", "posix", "windows"),
    [
        ("file:///a/b.py", "/a/b.py", None),
        ("file:///a%20b/%C3%A9%23%3F.py", "/a b/é#?.py", None),
        ("file:///a/c#1?.py", "/a/c#1?.py", None),
        ("file:///a/100%25.py", "/a/100%.py", None),
        ("file:///a/100%.py", "/a/100%.py", None),
        ("FILE://localhost/a.py", "/a.py", None),
        ("file:/a.py", "/a.py", None),
        ("file:///c%3A/Users/x/a.py", "/c:/Users/x/a.py", "C:\\Users\\x\\a.py"),
        ("file:///C:/a.py", "/C:/a.py", "C:\\a.py"),
        ("file:///d:", "/d:", "D:\\"),
        ("file://server/share/a.py", None, "\\\\server\\share\\a.py"),
        ("file:///a%00b", None, None),
        ("file:///\ud800", None, None),
        ("file:a.py", None, None),
        ("file://", None, None),
        ("file://[/a", None, "\\\\[\\a"),
        ("untitled:Untitled-1", None, None),
        ("untitled:/a/b.py", None, None),
        ("vscode-notebook-cell:/a.ipynb#W0", None, None),
        ("git:/a/b.py?%7B%7D", None, None),
        ("/a/b.py", None, None),
        ("", None, None),
    ],
)
def test_the_path_of_a_uri(uri: str, posix: str | None, windows: str | None) -> None:
    assert path_of(uri, windows=False) == posix
    assert path_of(uri, windows=True) == windows


def test_a_name_that_is_no_utf_8_survives() -> None:
    assert os.fsencode(path_of("file:///a%FFb", windows=False) or "") == b"/a\xffb"
